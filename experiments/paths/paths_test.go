package paths

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// TestPaths: over the relay of OpenFlux ours is three times as fast as gVisor's TCP, and with the
// clock of Windows gVisor's has spurious retransmissions and ours has none.
func TestPaths(t *testing.T) {
	rows, out := studytest.RunAltered[Row](t, Study, "paths: ["+
		"\"p1neappleXpress/OpenFlux#71 bytes=2MB delay=65ms rate=50Mbit hold=1s hold.least=300ms hold.every=1s\", "+
		"\"google/gvisor#10343 bytes=4MB delay=150us rate=3Gbit queue=1000 clock=500us | gvisor -sack\"]\n", nil)
	studytest.Want(t, out, experiments.TooFew, "relay", "sack", "default", "linux")
	by := map[string]Row{}
	for _, r := range rows {
		by[r.Path+" "+r.Sender] = r
	}
	const relay, lan = "p1neappleXpress/OpenFlux#71 ", "google/gvisor#10343 "
	if ours, theirs := by[relay+"ours per-segment control=cubic"], by[relay+gvisor]; ours.Time == 0 ||
		3*ours.Time > theirs.Time {
		t.Errorf("over a relay ours takes %v, gVisor's %v", ours.Time, theirs.Time)
	}
	if ours, theirs := by[lan+linux], by[lan+gvisor]; ours.Spurious > 0 || theirs.Spurious < 100 || theirs.Lost > 0 {
		t.Errorf("with Windows's clock: ours %+v, gVisor's %+v", ours, theirs)
	}
}

// TestPolice: a bucket of 3000 bytes lets two packets of 1500 pass at once, and then one for each
// 12 ms of 1 Mbit/s.
func TestPolice(t *testing.T) {
	var p Path
	if err := p.UnmarshalText([]byte("a/b#1 bytes=1MB police=1Mbit/3000")); err != nil {
		t.Fatal(err)
	}
	d := police{1_000_000, 3000}.Start(0)
	for i, test := range []struct {
		at   time.Duration
		lost bool
	}{{0, false}, {0, false}, {0, true}, {11 * time.Millisecond, true}, {12 * time.Millisecond, false},
		{13 * time.Millisecond, true}, {time.Hour, false}, {time.Hour, false}, {time.Hour, true}} {
		if lost := d.Lost(wheel.Time(test.at), uint64(i), &sim.Packet{Size: 1500}); lost != test.lost {
			t.Errorf("packet %d at %v: lost %v", i, test.at, lost)
		}
	}
}

func TestPlanIsChecked(t *testing.T) {
	studytest.WantRefused(t, Study, map[string]string{
		"paths: [a]":                             "a: no bytes, want NAME bytes=10MB",
		"paths: [a bytes=1MB police=1Mbit/1]":    "police 1000000 bit/s, 1 bytes, want a rate, and 1500 bytes or more",
		"paths: [a bytes=1MB clock=2s]":          "a: clock: 2s, want more than 0s and up to 1s",
		"paths: [a bytes=1MB | linux]":           "want gvisor and its settings",
		"paths: [a bytes=1MB speed=1]":           `setting "speed", want one of`,
		"paths: [a bytes=1MB | gvisor sndbuf=1]": "sndbuf 1, want 4096 to 2^30 bytes",
	})
}
