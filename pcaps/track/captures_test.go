package track

import (
	"encoding/csv"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"tcpwheel/pcaps/capture"
)

// captures is the directory of public captures, none of them made by this project.
const captures = "../../../shared/captures"

// followFile returns the connections of a file in order.
func followFile(t *testing.T, name string) []*Conn {
	t.Helper()
	path := filepath.Join(captures, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no public captures: %v", err)
	}
	r, err := capture.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	byID := map[int]*Conn{}
	tr := New(Config{Done: func(c *Conn) { byID[c.ID] = c }})
	for {
		p, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Logf("%s: %v", name, err)
			}
			break
		}
		tr.Add(p)
	}
	tr.Close()
	conns := make([]*Conn, len(byID))
	for id, c := range byID {
		conns[id] = c
	}
	return conns
}

// TestSecondOpinion compares the episodes with the ones that others found in the same captures.
// Each of theirs begins here with the same packet, except those explained here.
func TestSecondOpinion(t *testing.T) {
	in, err := os.Open(filepath.Join(captures, "recovery_events.tsv"))
	if err != nil {
		t.Skipf("no public captures: %v", err)
	}
	defer in.Close()
	r := csv.NewReader(in)
	r.Comma = '\t'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	type place struct {
		file   string
		packet int64
	}
	found := map[place]*Episode{}
	seen := map[string]bool{}
	for _, row := range rows[1:] {
		file := row[column["file"]]
		if !seen[file] {
			seen[file] = true
			for _, c := range followFile(t, file) {
				for i := range c.Flows {
					for _, e := range c.Flows[i].Episodes {
						found[place{file, e.DetectedPacket}] = e
					}
				}
			}
		}
		number := func(name string) int64 {
			n, _ := strconv.ParseInt(row[column[name]], 10, 64)
			return n
		}
		seconds := func(name string) float64 {
			x, _ := strconv.ParseFloat(row[column[name]], 64)
			return x
		}
		packet := number("start_frame")
		e := found[place{file, packet}]
		if e == nil {
			t.Errorf("%s: no episode starts with packet %d (%s)", file, packet, row[column["trigger"]])
			continue
		}
		t.Logf("%s %d: %s; here %v, spurious %v by %q, D %v, T_rec %v, whole %v", file, packet, row[column["trigger"]], e.Kind, e.Spurious, e.Evidence,
			e.D, e.TRec, e.Length)
		if got := float64(e.Detected) / 1e9; math.Abs(got-seconds("start_epoch")) > 2e-6 {
			t.Errorf("%s: packet %d was sent at %f, want %f", file, packet, got, seconds("start_epoch"))
		}
		if row[column["trigger"]] == "timer" && (!e.Retransmissions[0].ByTimer || e.Kind != RTO && e.Kind != TLP) {
			t.Errorf("%s: packet %d is %v, want one of a timer", file, packet, e.Kind)
		}
		// If both count from the same first transmission, the time to the end agrees, except for
		// the delay between the host and the point of capture.
		if number("first_tx_frame") != e.FirstPacket || e.FirstSent != e.PrevSent || row[column["view"]] == "at_peer" || row[column["closed"]] != "1" || !e.Closed {
			continue
		}
		if math.Abs(e.D.Seconds()-seconds("first_tx_age_s")) > 2e-6 {
			t.Errorf("%s: packet %d was sent %v after its first transmission, want %vs", file, packet, e.D, seconds("first_tx_age_s"))
		}
		if math.Abs(e.Length.Seconds()-seconds("recovery_from_first_tx_s")) > 0.0025 {
			t.Errorf("%s: the episode from packet %d took %v, want %vs", file, packet, e.Length, seconds("recovery_from_first_tx_s"))
		}
	}
}

// TestCleanCaptures finds no loss in captures without loss, and classifies what looks like one.
func TestCleanCaptures(t *testing.T) {
	type want struct{ conns, copies, keepalives, zeroWindows int }
	for name, want := range map[string]want{
		"cut-short-ipv6.pcap":           {conns: 1},
		"docker-http-keepalive.pcap":    {conns: 3, keepalives: 6},
		"http-range-null-loopback.pcap": {conns: 41, copies: 2}, // FINs resent in a simultaneous close
		"ndt-client-upload-clean.pcap":  {conns: 1},
		"ndt-ipv6-zero-window.pcap.gz":  {conns: 1, zeroWindows: 122},
		"pptp-big-endian.pcap":          {conns: 1, copies: 8},
		"redis-linux-sll.pcap":          {conns: 18},
		"ssh-duplicated-frames.pcap":    {conns: 1, copies: 280},
		"tls-linux-sll2.pcap":           {conns: 1},
	} {
		t.Run(name, func(t *testing.T) {
			conns := followFile(t, name)
			got := want
			got.conns, got.copies, got.keepalives, got.zeroWindows = len(conns), 0, 0, 0
			for _, c := range conns {
				got.copies += int(c.Copies)
				for i := range c.Flows {
					f := &c.Flows[i]
					got.keepalives += int(f.Keepalives)
					got.zeroWindows += int(f.ZeroWindows)
					if len(f.Episodes) > 0 || f.Retransmissions > 0 {
						t.Errorf("connection %d: %d retransmissions in %d episodes, the first in packet %d, want none", c.ID, f.Retransmissions, len(f.Episodes),
							f.Episodes[0].DetectedPacket)
					}
				}
			}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
