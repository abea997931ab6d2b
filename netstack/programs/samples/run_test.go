//go:build linux

package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun/netns"
)

// runTest runs a scenario. It skips the test without root or tracefs.
func runTest(t *testing.T, s scenario) string {
	t.Helper()
	dir := t.TempDir()
	netns.Must(t, run(s, dir))
	return dir
}

// lines returns the JSON objects with that record from a compressed file.
func lines(t *testing.T, dir, name, record string) (all []map[string]any) {
	t.Helper()
	in, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(z); ; {
		var line map[string]any
		if err := d.Decode(&line); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if line["record"] == record {
			all = append(all, line)
		}
	}
}

// TestKernelTellsWhy loses a segment in the middle and one at the tail, behind a router and without
// one. Recovery by ACKs and a probe must retransmit them. On a busy machine the retransmission
// timer may come first; then the test tries again.
func TestKernelTellsWhy(t *testing.T) {
	const mss4, mss6 = 1448, 1428
	for _, test := range []struct {
		name string
		ipv6 bool
		far  bool
		mss  uint64
	}{{"IPv4", false, false, mss4}, {"IPv6, router", true, true, mss6}} {
		t.Run(test.name, func(t *testing.T) {
			mss := test.mss
			lossy := sim.LinkConfig{Delay: 5 * time.Millisecond, Loss: sim.Losses{
				sim.LostRanges{{From: 4 * mss, To: 5 * mss, Attempt: 1}, {From: 18 * mss, To: 20 * mss, Attempt: 1}},
			}}
			plain := sim.LinkConfig{Delay: 5 * time.Millisecond}
			s := scenario{Name: test.name, IPv6: test.ipv6, Near: path{lossy, plain}, Turns: []turn{
				{From: "a", Bytes: int(10 * mss)}, {From: "b", Bytes: 1}, {From: "a", Bytes: int(10 * mss), Pause: duration{50 * time.Millisecond}}, {From: "b", Bytes: 1},
			}}
			if test.far {
				s.Near.AToB, s.Far = plain, &path{lossy, plain}
			}
			const tries, heldUp = 20, 5 * time.Millisecond // half a round trip
			for try := 1; ; try++ {
				late := netns.Lateness(t)
				dir := runTest(t, s)
				held := late()
				var causes []string
				for _, r := range lines(t, dir, "kernel.jsonl.gz", "retransmission") {
					causes = append(causes, r["cause"].(string))
				}
				if got := strings.Join(causes, " "); strings.HasPrefix(got, "fast tlp") {
					checkLosses(t, dir, test.far)
					return
				} else if held < heldUp {
					t.Fatalf("the kernel retransmitted for %s, want fast tlp at first", got)
				} else if try == tries {
					t.Skipf("the kernel retransmitted for %s, and we were held up by %v: others are busy, too", got, held)
				}
			}
		})
	}
}

// checkLosses checks the three losses in the log, the probe in the counters, and the captures.
func checkLosses(t *testing.T, dir string, far bool) {
	t.Helper()
	log := "fates.jsonl.gz"
	if far {
		log = "far-fates.jsonl.gz"
	}
	lost := 0
	for _, e := range lines(t, dir, log, "packet") {
		if e["fate"] == "lost" {
			lost++
		}
	}
	if lost != 3 {
		t.Errorf("%d packets were lost, want 3", lost)
	}
	for _, c := range lines(t, dir, "kernel.jsonl.gz", "counters") {
		if n, _ := c["counters"].(map[string]any)["TCPLossProbes"].(float64); c["side"] == "a" && n < 1 {
			t.Errorf("the kernel of a has counted %v probes, want one at least", n)
		}
	}
	for _, name := range []string{"a", "b", "middle"} {
		if _, err := os.Stat(filepath.Join(dir, name+".pcapng.gz")); (err != nil) != (name == "middle" && !far) {
			t.Errorf("capture %s: %v", name, err)
		}
	}
}
