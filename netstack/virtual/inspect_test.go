package virtual_test

import (
	"io"
	"testing"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
)

// timerName identifies a timer of a stack.
type timerName struct {
	e       *netstack.Endpoint
	kind    tcptimers.Kind
	segment int
}

// TestTimerEventsAgreeWithTheWheel keeps a set of running timers by their events, and compares it
// with a snapshot of the wheel after each event of a lossy transfer.
func TestTimerEventsAgreeWithTheWheel(t *testing.T) {
	running := map[timerName]bool{}
	changes := map[netstack.TimerChange]int{}
	cfg := netstack.DefaultConfig()
	cfg.TimerEvents = func(ev netstack.TimerEvent) {
		name := timerName{ev.Endpoint, ev.Kind, ev.Segment}
		changes[ev.Change]++
		if is, was := ev.Change == netstack.TimerStarted, running[name]; is == was {
			t.Errorf("%v: %v of a timer of kind %v, running %v", ev.Time, ev.Change, ev.Kind, was)
		}
		switch ev.Change {
		case netstack.TimerStarted:
			running[name] = true
		case netstack.TimerStopped, netstack.TimerExpired:
			delete(running, name)
		}
	}
	n, err := virtual.New(virtual.Config{
		Seed: 1, TCP: [2]virtual.TCP{{Config: cfg}, {}},
		Link: [2]sim.LinkConfig{
			{Delay: 20 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.1}}}, {Delay: 20 * time.Millisecond},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	talk(t, n, func(c *sockets.Conn) { c.Write(make([]byte, 300_000)) }, func(c *sockets.Conn) {
		if got, err := io.Copy(io.Discard, c); got != 300_000 || err != nil {
			t.Errorf("%d bytes arrived, %v", got, err)
		}
	}, func() {
		wheels, ok := netstack.Wheels(n.Stack(0))
		if !ok || len(wheels) != 1 {
			t.Fatalf("%d wheels, %v, want 1", len(wheels), ok)
		}
		seen := 0
		for _, x := range wheels[0].Timers {
			if x.Slot < 0 || x.Slot >= wheels[0].Slots {
				t.Fatalf("a timer in slot %d of %d", x.Slot, wheels[0].Slots)
			}
			if x.Running {
				seen++
				if !running[timerName{x.Endpoint, x.Kind, x.Segment}] {
					t.Fatalf("the wheel has a timer of kind %v that the events do not have", x.Kind)
				}
			}
		}
		if seen != len(running) {
			t.Fatalf("the wheel has %d running timers, the events %d", seen, len(running))
		}
	})
	for c, least := range map[netstack.TimerChange]int{
		netstack.TimerStarted: 200, netstack.TimerStopped: 200, netstack.TimerExpired: 1,
	} {
		if changes[c] < least {
			t.Errorf("%d events %v, want %d or more", changes[c], c, least)
		}
	}
	if _, ok := netstack.Wheels(n.Stack(1)); !ok {
		t.Error("end 1 has no wheels")
	}
}
