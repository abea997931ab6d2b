package testbed

import (
	"errors"
	"testing"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// lossyWire takes 10 ms, and loses the first data segment of the dialling end.
type lossyWire struct{ sent []wheel.Time }

func (w *lossyWire) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if from == DialEnd && p.End > p.Start {
		w.sent = append(w.sent, now)
		return 10 * time.Millisecond, len(w.sent) > 1
	}
	return 10 * time.Millisecond, true
}

func (w *lossyWire) Arrive(wheel.Time, int, *virtual.Packet) bool { return true }

// TestStacksLoseALoneSegment checks that gVisor's TCP retransmits it after the floor on the
// timeout.
func TestStacksLoseALoneSegment(t *testing.T) {
	for _, floor := range []time.Duration{0, time.Second} {
		w := &lossyWire{}
		s, err := NewStacks(virtual.Config{Seed: 1, TCP: [2]virtual.TCP{DialEnd: {GVisor: true, NoSACK: true, MinRTO: floor},
			ListenEnd: {Config: netstack.DefaultConfig()}}, Wire: w})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		s.Serve(func(c *sockets.Conn) error { return Discard(c, func(n int) { got += n }) })
		s.Dial(0, func(c *sockets.Conn) error {
			_, err := c.Write(make([]byte, 100))
			return err
		})
		if err := s.Run(wheel.Time(time.Minute), func() bool { return got == 100 }); err != nil || got != 100 {
			t.Fatalf("%d bytes arrived, want 100: %v", got, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		want := max(floor, 200*time.Millisecond)
		if len(w.sent) != 2 || (w.sent[1].Sub(w.sent[0])-want).Abs() > time.Microsecond {
			t.Errorf("floor %v: sent at %v, want a retransmission after %v", floor, w.sent, want)
		}
	}
}

// TestStacksFail checks that the error of a task ends the run.
func TestStacksFail(t *testing.T) {
	s, err := NewStacks(virtual.Config{Seed: 1, TCP: [2]virtual.TCP{{Config: netstack.DefaultConfig()},
		{Config: netstack.DefaultConfig()}}, Wire: &lossyWire{}})
	if err != nil {
		t.Fatal(err)
	}
	want := errors.New("enough")
	s.Serve(func(*sockets.Conn) error { return want })
	s.Dial(0, func(*sockets.Conn) error { return nil })
	if err := s.Run(wheel.Time(time.Minute), nil); !errors.Is(err, want) || s.Net.Now() >= wheel.Time(time.Minute) {
		t.Errorf("%v at %v, want %v at once", err, time.Duration(s.Net.Now()), want)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
