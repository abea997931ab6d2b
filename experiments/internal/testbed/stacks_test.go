package testbed

import (
	"errors"
	"fmt"
	"strings"
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
		s, err := NewStacks(StacksPlan{Seed: 1, Client: Subject{Kind: GVisor, NoSACK: true, Floor: floor},
			Server: netstack.DefaultConfig().Conn, Wire: w})
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
	s, err := NewStacks(StacksPlan{Seed: 1, Client: Subject{Kind: Binding, Timers: MustTimers("linux")},
		Server: netstack.DefaultConfig().Conn, Wire: &lossyWire{}})
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

// TestParseSubject: a text names a TCP, its name in cells, and what it is in a stack.
func TestParseSubject(t *testing.T) {
	for text, want := range map[string]string{
		"linux":                          "engine linux",
		"engine bsd":                     "engine bsd",
		"binding rfc6298@exact floor=1s": "binding binding rfc6298@exact floor=1s",
		"gvisor":                         "gvisor gVisor's own TCP",
		"gvisor floor=1s -rack":          "gvisor gVisor's own TCP, floor=1s, no RACK",
		"gvisor -sack control=newreno":   "gvisor gVisor's own TCP, no SACK, newreno",
		"gvisor sndbuf=6MiB":             "gvisor gVisor's own TCP, sndbuf=6291456",
		"gvisor sndbuf=1":                "! sndbuf 1, want 4096 to 2^30 bytes",
		"gvisor floor=1us":               "! floor 1µs, want 1ms to 1m",
		"gvisor rack":                    `! "rack", want floor=1s, sndbuf=6MiB, `,
		"gvisor control=vegas":           `! "control=vegas", want floor=1s, sndbuf=6MiB, `,
		"kernel":                         "! the kernel's TCP runs in real time",
		"binding":                        "! tcptimers: ",
		"hurd":                           `! tcptimers: unknown policy "hurd"`,
	} {
		s, err := ParseSubject(text)
		got := fmt.Sprint(s.Kind, " ", s)
		if why, wrong := strings.CutPrefix(want, "! "); wrong {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%q: %v, want %s", text, err, why)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	g := Subject{Kind: GVisor, Floor: time.Second, NoRACK: true}
	b := Subject{Kind: Binding, Timers: MustTimers("bsd -sack")}
	if s := g.Stack(); !s.GVisor || s.MinRTO != time.Second || !s.NoRACK || s.NoSACK {
		t.Errorf("gVisor's is %+v", s)
	}
	if s := b.Stack(); s.GVisor || !s.NoSACK || s.Config.Conn.Policy.Tick != 500*time.Millisecond {
		t.Errorf("that of the binding has no SACK of 4.4BSD: %+v", s)
	}
}
