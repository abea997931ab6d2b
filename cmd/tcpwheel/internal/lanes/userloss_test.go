package lanes

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack"
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
	if fine, bsd := tail.lanes[0], tail.lanes[2]; bsd.Repaired.Sub(bsd.Lost) < 4*fine.Repaired.Sub(fine.Lost) {
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

// TestNotesOnTimers compares what the recorder knows of timers with their events: each data packet
// of the lane with a timer per segment has one of its own, which an ACK, data or its expiry ends.
func TestNotesOnTimers(t *testing.T) {
	r := newRun(t, 1, "", "per-segment")
	rec := r.Lanes[0].watch()
	started := 0
	note := r.Lanes[0].onTimer
	r.Lanes[0].onTimer = func(ev netstack.TimerEvent) {
		note(ev)
		if ev.Segment > 0 && ev.Change == netstack.TimerStarted {
			started++
		}
	}
	packets := map[uint64]*Transmission{}
	first := wheel.Time(0)
	for at := wheel.Time(0); at < ten; at += wheel.Time(50 * time.Millisecond) {
		advance(t, r, at)
		for _, x := range rec.packets {
			packets[x.Seq] = x
		}
	}
	for _, x := range packets {
		if x.From == Server && x.End > x.Start {
			first++
		}
	}
	if started < 300 || first < 300 {
		t.Fatalf("%d timers started for %d packets, want 300 or more", started, first)
	}
	ends := map[ending]int{}
	for _, n := range rec.notes {
		x := packets[n.Packet]
		if x == nil || x.From != Server || x.End == x.Start {
			t.Fatalf("a note on packet %d, which is %+v", n.Packet, x)
		}
		if n.Ended == 0 {
			if n.Span < 20*time.Millisecond || n.Span > 5*time.Second {
				t.Errorf("packet %d: its timer was set for %v", n.Packet, n.Span)
			}
			continue
		}
		ends[n.How]++
		if n.Ended < x.At {
			t.Errorf("packet %d left at %v, its timer ended at %v", n.Packet, x.At, n.Ended)
		}
	}
	if ends[endedByACK] < 10*ends[endedUnknown] || ends[endedByACK] == 0 {
		t.Errorf("the ends of timers are %v, want nearly all by ACKs", ends)
	}
}
