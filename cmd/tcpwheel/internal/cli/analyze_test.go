package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/wheel"
)

// writeCapture is the scripts' command that captures a simulated sender. Its arguments are the
// file, the losses of the link as in plans, and the number of bytes.
func writeCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture file losses")
	}
	losses, err := sim.ParseLosses(args[1])
	ts.Check(err)
	b, err := captured(losses)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o666))
}

// captured returns the capture of 200 kB over a link with these losses and 20 ms in each direction.
func captured(losses sim.Losses) ([]byte, error) { return capturedFlows(1, 1, 200_000, losses) }

// capturedFlows is captured with so many connections that send so many bytes each.
func capturedFlows(seed uint64, flows int, bytesEach uint64, losses sim.Losses) ([]byte, error) {
	link := sim.LinkConfig{Rate: 10_000_000 * uint64(flows), Delay: 20 * time.Millisecond, Loss: losses}
	f, err := host.NewFlows(host.Plan{Seed: seed, Flows: flows, Bytes: bytesEach, Duration: time.Hour, Link: link, Policy: "linux"})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	out, err := sim.NewPcapng(&b, "")
	if err != nil {
		return nil, err
	}
	epoch := wheel.Time(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	for name, point := range map[string]sim.CapturePoint{"s1>r1": sim.AtSender, "r1>s1": sim.AtReceiver} {
		via, _ := f.World.Net.LinkNamed(name)
		tap, err := sim.NewCapture(out, "s1", sim.LinkTypeRaw, f.World.Serializer(), point, epoch)
		if err != nil {
			return nil, err
		}
		f.World.Net.Tap(via, tap)
	}
	for f.Run(f.World.Net.Now().Add(time.Second)) {
	}
	return b.Bytes(), f.Err()
}

// TestSummaryFitsAScreen checks that tables fit 80 columns and 24 lines, whatever their numbers.
func TestSummaryFitsAScreen(t *testing.T) {
	b, err := captured(sim.Losses{sim.Bernoulli{P: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if status := run([]string{"analyze", "-"}, bytes.NewReader(b), &out, &out); status != exitOK {
		t.Fatalf("exit status %d: %s", status, &out)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("%d lines, want at most 24:\n%s", len(lines), &out)
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
