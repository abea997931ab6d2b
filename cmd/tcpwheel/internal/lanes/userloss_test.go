package lanes

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/tcp/events"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// TestUserLossIsTheSameInAllLanes loses the ends of responses. Each lane drops packets with the
// same bytes, and each repairs them by its own timers.
func TestUserLossIsTheSameInAllLanes(t *testing.T) {
	c := DefaultConditions()
	c.Loss = 0
	actions, err := ParseActions("2s:tail=1,2.01s:drop=1,4s:tail=2")
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRun(5, []string{"per-segment", "linux", "bsd", gvisorLane}, c, actions)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var dropped []map[uint64]bool
	for _, l := range r.Lanes {
		all := map[uint64]bool{}
		dropped = append(dropped, all)
		l.onPacket = func(x *Transmission, _ *virtual.Packet) {
			if x.Lost == events.FateByHand {
				all[uint64(x.Conn)<<32|x.Start] = true
			}
		}
	}
	advance(t, r, wheel.Time(12*time.Second))
	if len(dropped[0]) != 4 {
		t.Errorf("%d packets were dropped, want 4", len(dropped[0]))
	}
	for i, all := range dropped[1:3] { // gVisor's segments begin at other bytes
		for k := range dropped[0] {
			if !all[k] {
				t.Errorf("lane %s did not drop %#x", r.Lanes[i+1].Name, k)
			}
		}
	}
	tail := r.losses[0]
	for i, want := range []string{"tail loss probe", "tail loss probe", "retransmission timer", ""} {
		o := tail.lanes[i]
		if o.Repaired == 0 || !strings.HasPrefix(o.By, want) {
			t.Errorf("%s: %+v, want a repair by %s", r.Lanes[i].Name, o, want)
		}
	}
	if fine, bsd := tail.lanes[0], tail.lanes[2]; bsd.Repaired.since(bsd.Lost) < 4*fine.Repaired.since(fine.Lost) {
		t.Errorf("4.4BSD %+v, fine timers %+v, want a tail that waits for 4.4BSD's ticks", bsd, fine)
	}
	if text := r.LossText(); !strings.Contains(text, "the last 2 of") || strings.Count(text, "repaired in") != 4 {
		t.Errorf("LossText() = %s", text)
	}
}

// TestUserLossWaitsForATimer loses the ends of responses next to random losses: each time timers
// repair them, in all lanes.
func TestUserLossWaitsForATimer(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		r := newRun(t, seed, "1s:tail=1,3s:tail=1,5s:tail=1,7s:tail=1", "per-segment", "linux", "bsd")
		advance(t, r, ten)
		for _, l := range r.losses {
			for i, o := range l.lanes {
				if o.Repaired != 0 && o.Span == 0 {
					t.Errorf("seed %d: %s in %s is repaired by %s, want a timer", seed, l.what, r.Lanes[i].Name, o.By)
				}
			}
		}
		if len(r.losses) != 4 || r.losses[0].lanes[0].Repaired == 0 || r.losses[0].lanes[2].Repaired == 0 {
			t.Errorf("seed %d: %d losses, the first is %+v", seed, len(r.losses), r.losses[0].lanes)
		}
	}
}

// TestUserLossInSmallSteps repeats a run with losses by the user in other steps.
func TestUserLossInSmallSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("TestSameSeedSameResults has the same goroutines: runs without -short")
	}
	const actions = "1s:tail=1,1s:tail=2,3s:drop=3,5.5s:tail=1"
	a, b := newRun(t, 7, actions), newRun(t, 7, actions)
	advance(t, a, ten)
	for b.Now() < ten {
		advance(t, b, min(ten, b.Now().Add(7*time.Millisecond)))
	}
	if got, want := b.LossText(), a.LossText(); got != want || got == "" {
		t.Errorf("in small steps:\n%s\nwant\n%s", got, want)
	}
	x, err := json.Marshal(a.lossViews())
	if err != nil {
		t.Fatal(err)
	}
	if y, err := json.Marshal(b.lossViews()); err != nil || string(x) != string(y) {
		t.Errorf("in small steps %s (%v), want %s", y, err, x)
	}
}
