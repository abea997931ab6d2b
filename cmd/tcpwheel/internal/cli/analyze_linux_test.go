package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tcpwheel/pcaps/track"
)

// trafficRole is the environment variable that makes the test binary an end of TestAnalyzeKernels.
const trafficRole = "TCPWHEEL_TRAFFIC"

// TestTrafficHelper is the ends of TestAnalyzeKernels: a sink, and a source of long and short
// streams.
func TestTrafficHelper(t *testing.T) {
	switch os.Getenv(trafficRole) {
	case "sink":
		l, err := net.Listen("tcp", "10.9.0.2:5000")
		if err != nil {
			t.Fatal(err)
		}
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(io.Discard, c) // the source reports broken streams
			}()
		}
	case "source":
		end := time.Now().Add(4 * time.Second)
		var all sync.WaitGroup
		for _, s := range []struct {
			bytes int
			pause time.Duration
		}{{300_000, 0}, {900, 260 * time.Millisecond}, {900, 270 * time.Millisecond}, {5000, 400 * time.Millisecond}, {20_000, 500 * time.Millisecond}} {
			all.Go(func() {
				for time.Now().Before(end) {
					if err := stream(s.bytes, s.pause, end); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	default:
		t.Skip("it is only for TestAnalyzeKernels")
	}
}

// stream writes over a connection: once, or repeatedly with pauses until the end.
func stream(bytes int, pause time.Duration, end time.Time) error {
	var c net.Conn
	var err error
	for range 50 { // the sink may not listen yet
		if c, err = net.Dial("tcp", "10.9.0.2:5000"); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		if _, err := c.Write(make([]byte, bytes)); err != nil {
			return err
		}
		if pause == 0 || !time.Now().Add(pause).Before(end) {
			break
		}
		time.Sleep(pause)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// fate is a link log's entry for a packet with data from a.
type fate struct {
	Record    string  `json:"record"`
	Epoch     int64   `json:"epoch_ns"`
	Direction string  `json:"direction"`
	Sent      int64   `json:"sent_ns"`
	Fate      string  `json:"fate"`
	Arrived   []int64 `json:"arrived_ns"`
	Src       string  `json:"src"`
	TCP       struct {
		Flags string `json:"flags"`
		Seq   uint32 `json:"seq"`
		Len   uint32 `json:"len"`
		TSVal uint32 `json:"tsval"`
	} `json:"tcp"`

	end uint32
}

// readFates returns the packets with data from a, by their ends, and the epoch of their times.
func readFates(t *testing.T, name string) (map[string][]fate, int64) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	epoch, all := int64(0), map[string][]fate{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r fate
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		if r.Record == "plan" {
			epoch = r.Epoch
		}
		r.end = r.TCP.Seq + r.TCP.Len
		if strings.ContainsAny(r.TCP.Flags, "SF") {
			r.end++
		}
		if r.Record == "packet" && r.Direction == "a-to-b" && r.end != r.TCP.Seq {
			all[r.Src] = append(all[r.Src], r)
		}
	}
	return all, epoch
}

// unnecessary reports whether earlier transmissions had delivered all bytes of transmission i. sure
// is false if the receiver may have refused one of them for its timestamp, because a later one
// overtook it.
func unnecessary(all []fate, i int) (is, sure bool) {
	newest, have, sure := uint32(0), []fate{}, true
	for _, f := range all[:i] {
		if f.Fate != "delivered" || len(f.Arrived) == 0 {
			continue
		}
		if f.TCP.TSVal != 0 && int32(f.TCP.TSVal-newest) < 0 && newest != 0 {
			sure = sure && !overlaps(f, all[i])
		}
		have = append(have, f)
		newest = max(newest, f.TCP.TSVal)
	}
	// Overtaken packets arrived after a later timestamp.
	for _, f := range have {
		for _, g := range have {
			if overlaps(f, all[i]) && g.Arrived[0] < f.Arrived[0] && int32(g.TCP.TSVal-f.TCP.TSVal) > 0 {
				sure = false
			}
		}
	}
	place := all[i].TCP.Seq
	for again := true; again && int32(place-all[i].end) < 0; {
		again = false
		for _, f := range have {
			if int32(f.TCP.Seq-place) <= 0 && int32(f.end-place) > 0 {
				place, again = f.end, true
			}
		}
	}
	return int32(place-all[i].end) >= 0, sure
}

func overlaps(f, g fate) bool { return int32(f.TCP.Seq-g.end) < 0 && int32(g.TCP.Seq-f.end) < 0 }

// TestAnalyzeKernels compares the analysis of two kernels with the log of the link between them,
// which has the fate of each packet. At the sender all retransmissions are found and D is right; at
// both ends the verdicts are right.
func TestAnalyzeKernels(t *testing.T) {
	if os.Getenv("TCPWHEEL_LONG") == "" {
		t.Skip("long: set TCPWHEEL_LONG=1")
	}
	dir := t.TempDir()
	log, a, b := filepath.Join(dir, "log"), filepath.Join(dir, "a.pcapng"), filepath.Join(dir, "b.pcapng")
	helper := fmt.Sprintf("exec %s -test.run '^TestTrafficHelper$'", os.Args[0])
	var out, talk bytes.Buffer
	if status := run(linkArgs(t,
		"--delay", "15ms", "--rate", "20e6", "--queue", "200", "--a-to-b", "loss=0.05", "--a-to-b", "reorder=0.01",
		"--seed", "7", "--log", log, "--pcap-a", a, "--pcap-b", b,
		"--b-run", trafficRole+"=sink "+helper, "--", "/bin/sh", "-c", trafficRole+"=source "+helper,
	), strings.NewReader(""), &out, &talk); status != exitOK {
		t.Fatalf("status %d: %s%s", status, &out, &talk)
	}
	fates, epoch := readFates(t, log)
	sentAgain := 0
	for _, all := range fates {
		for i := range all {
			if slices.ContainsFunc(all[:i], func(f fate) bool { return overlaps(f, all[i]) }) {
				sentAgain++
			}
		}
	}
	for _, file := range []string{a, b} {
		var objects bytes.Buffer
		if status := run([]string{"analyze", "--json", file}, nil, &objects, &talk); status != exitOK {
			t.Fatalf("status %d: %s", status, &talk)
		}
		var (
			verdicts           [2][3]int // needed and spurious ones, by unknown, no and yes
			again, episodes    int
			wrongD, unexpected int
			kinds              = map[string]int{}
		)
		for dec := json.NewDecoder(&objects); ; {
			var line json.RawMessage
			if err := dec.Decode(&line); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if bytes.HasPrefix(line, []byte(`{"type":"connection"`)) {
				var c track.ConnRecord
				if err := json.Unmarshal(line, &c); err != nil {
					t.Fatal(err)
				}
				for _, f := range c.Flows {
					if len(fates[f.Src]) > 0 {
						again += int(f.Retransmissions)
					}
				}
				continue
			}
			var r track.EpisodeRecord
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			all := fates[r.Src]
			if r.Type != "episode" || len(all) == 0 {
				continue
			}
			episodes++
			kinds[r.Kind]++
			at, err := time.Parse(time.RFC3339Nano, r.Retransmission)
			if err != nil {
				t.Fatal(err)
			}
			best, off := -1, time.Hour
			for i, f := range all {
				ref := f.Sent
				if file == b {
					if len(f.Arrived) == 0 {
						continue
					}
					ref = f.Arrived[0]
				}
				if d := time.Duration(at.UnixNano() - epoch - ref).Abs(); f.TCP.Seq == r.Seq && d < off {
					best, off = i, d
				}
			}
			if best < 0 || off > 5*time.Millisecond {
				unexpected++
				continue
			}
			is, sure := unnecessary(all, best)
			if sure && len(all[best].Arrived) > 0 {
				truly := 0
				if is {
					truly = 1
				}
				verdicts[truly][slices.Index([]string{"unknown", "no", "yes"}, r.Spurious)]++
			}
			for i := best - 1; i >= 0 && file == a; i-- {
				if overlaps(all[i], all[best]) {
					if d := time.Duration(all[best].Sent-all[i].Sent).Seconds() - r.D; max(d, -d) > 0.001 {
						wrongD++
					}
					break
				}
			}
		}
		t.Logf("%s: %d episodes, %v; packets retransmitted %d of %d; needed: unknown, no, yes %v, spurious %v; D wrong in %d, not in the log %d",
			filepath.Base(file), episodes, kinds, again, sentAgain, verdicts[0], verdicts[1], wrongD, unexpected)
		if episodes < 10 || unexpected > 0 {
			t.Errorf("%d episodes, %d of them unknown to the log", episodes, unexpected)
		}
		if wrong := verdicts[0][2] + verdicts[1][1]; 50*wrong > episodes {
			t.Errorf("%d wrong verdicts in %d episodes", wrong, episodes)
		}
		if file == a && (again != sentAgain || 20*wrongD > episodes) {
			t.Errorf("%d packets retransmitted, want %d; D is wrong in %d of %d episodes", again, sentAgain, wrongD, episodes)
		}
	}
}
