package spike

import (
	"errors"
	"fmt"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// gvisor is the name of gVisor's own TCP with NewReno. Without a response a subject in a gVisor
// stack has neither SACK nor timestamps, and gVisor's neither RACK nor probes; with all three
// responses it has all that it has.
const gvisor = "gVisor"

var newReno = testbed.Subject{Kind: testbed.GVisor, Control: "newreno"}

// stackPath is a subject in a gVisor stack, a server with this project's TCP, and the path between
// them.
type stackPath struct {
	*testbed.Stacks
	*testbed.Wire
	rtt  func(now wheel.Time) time.Duration
	last [2]wheel.Time // when the last packet of a direction arrives: packets keep their order

	lost          uint64     // the place in the stream of a segment that is lost the first time
	first, second wheel.Time // its transmissions
}

// newStackPath connects the two, and runs app as a task of the client.
func newStackPath(p *Plan, subject testbed.Subject, response string, window int,
	app func(g *stackPath, c *sockets.Conn) error) (g *stackPath, err error) {
	g = &stackPath{lost: ^uint64(0), rtt: func(wheel.Time) time.Duration { return p.RTT }}
	link := sim.LinkConfig{Rate: uint64(p.Rate), Overhead: 38}
	if g.Wire, err = testbed.NewWire(link, link, [2]uint64{0, 1}); err != nil {
		return nil, err
	}
	g.Sent = g.sent
	_, server := config(&timers{lab: testbed.MustTimers("per-segment control=newreno")})
	apply(&server, response)
	subject.NoSACK = subject.NoSACK || response == none
	client := subject.Stack()
	if subject.Kind != testbed.GVisor { // which has no such settings
		apply(&client.Config.Conn, response)
	}
	g.Stacks, err = testbed.NewStacks(virtual.Config{Seed: 1, Wire: g.Wire, TCP: [2]virtual.TCP{
		testbed.DialEnd:   client,
		testbed.ListenEnd: {Config: netstack.Config{Conn: server}, NoSACK: response == none, RecvBuffer: window},
	}})
	if err != nil {
		return nil, err
	}
	g.Follow(g.Stacks)
	g.Serve(func(c *sockets.Conn) error { return testbed.Discard(c, func(int) {}) })
	g.Dial(0, func(c *sockets.Conn) error { return app(g, c) })
	return g, nil
}

// sent adds the round trip of the moment, and loses the segment.
func (g *stackPath) sent(now wheel.Time, from int, p *virtual.Packet, fate *sim.Fate) {
	g.last[from] = max(g.last[from], fate.At.Add(g.rtt(fate.At)/2))
	fate.At = g.last[from]
	if from != testbed.DialEnd || p.End == p.Start || p.Start != g.lost {
		return
	}
	switch p.Tag {
	case 1:
		g.first, fate.Outcome = now, sim.Lost
	case 2:
		g.second = now
	}
}

// stackSpike is spike with a subject in a gVisor stack, which does not report its window.
func stackSpike(p *Plan, subject testbed.Subject, seed int, s *Spike) error {
	const mss = 1448
	g, err := newStackPath(p, subject, s.Response, p.Window*mss, func(_ *stackPath, c *sockets.Conn) error {
		for b := make([]byte, 64*mss); ; {
			if _, err := c.Write(b); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	begin := wheel.Time(p.Warm) + wheel.Time(testbed.Uniform(uint64(seed), 0xe23)*float64(tcptimers.SlowTick))
	g.rtt = func(now wheel.Time) time.Duration {
		if now >= begin && now < begin.Add(p.Lasts) {
			return s.Peak
		}
		return p.RTT
	}
	err = g.Run(begin, nil)
	again, acked, timeouts := len(g.Retransmissions), g.Acked, g.Net.Counts(testbed.DialEnd).Timeouts
	if err == nil {
		err = g.Run(begin.Add(p.Watch), nil)
	}
	s.Retransmissions, s.Bytes = len(g.Retransmissions)-again, g.Acked-acked
	s.Timeouts = int(g.Net.Counts(testbed.DialEnd).Timeouts - timeouts)
	if err == nil && acked == 0 {
		err = errors.New("nothing has arrived before the spike")
	}
	return errors.Join(err, g.Close())
}

// stackWaits is waits with a subject in a gVisor stack.
func stackWaits(p *Plan, subject testbed.Subject, seed int) (all []int64, err error) {
	const size = 1000
	done := false
	g, err := newStackPath(p, subject, every, 0, func(g *stackPath, c *sockets.Conn) error {
		wrote, sleep := uint64(0), g.Net.Tasks.Sleep
		write := func() error {
			wrote += size
			_, err := c.Write(make([]byte, size))
			return err
		}
		sleep(2 * p.RTT)
		for i := range p.Losses {
			for j := range p.Exchanges {
				phase := testbed.Uniform(uint64(seed), 0xe23, uint64(i), uint64(j))
				sleep(2*p.RTT + time.Duration(phase*float64(tcptimers.SlowTick)))
				if err := write(); err != nil {
					return err
				}
			}
			sleep(20 * time.Second)
			g.lost, g.first, g.second = wrote, 0, 0
			if err := write(); err != nil {
				return err
			}
			sleep(time.Minute)
			if g.second == 0 || g.Acked != wrote {
				return fmt.Errorf("loss %d was not repaired within a minute", i)
			}
			all = append(all, g.second.Sub(g.first).Microseconds())
		}
		done = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = g.Run(wheel.Time(24*time.Hour), func() bool { return done })
	return all, errors.Join(err, g.Close())
}
