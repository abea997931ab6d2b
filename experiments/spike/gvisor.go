package spike

import (
	"errors"
	"fmt"
	"io"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// gvisor is gVisor's own TCP. Without a response it has neither SACK nor timestamps, and so no RACK and no probes; with all three it is
// as it comes: SACK, timestamps, RACK and probes.
const gvisor = "gVisor"

const (
	clientEnd = 0
	serverEnd = 1
	port      = 80
)

// stacks is gVisor's TCP, a server of this house, and the path between them.
type stacks struct {
	net   *virtual.Net
	links [2]*sim.Link
	rtt   func(now wheel.Time) time.Duration
	last  [2]wheel.Time // when the last packet of a direction arrives: nothing overtakes
	lost  uint64        // the place of a segment that is lost the first time
	conn  *sockets.Conn
	open  []io.Closer
	err   error

	iss    tcp.Seq
	next   uint64     // behind what was sent
	acked  uint64     // octets
	again  int        // segments sent again
	first  wheel.Time // when the segment that is lost left
	second wheel.Time // and when it left again
}

// newStacks connects the two, and then runs app as a task of the client.
func newStacks(p *Plan, response string, window int, app func(s *stacks)) (*stacks, error) {
	s := &stacks{lost: ^uint64(0), rtt: func(wheel.Time) time.Duration { return p.RTT }}
	for i := range s.links {
		var err error
		if s.links[i], err = sim.NewLink(sim.LinkConfig{Rate: uint64(p.Rate), Overhead: 38}, uint64(i)); err != nil {
			return nil, err
		}
	}
	_, server := config(&timers{lab: testbed.MustTimers("per-segment control=newreno")})
	apply(&server, response)
	var err error
	s.net, err = virtual.New(virtual.Config{Seed: 1, Wire: s, TCP: [2]virtual.TCP{
		{GVisor: true, NoSACK: response == none, Control: "newreno"},
		{Config: netstack.Config{Conn: server}, NoSACK: response == none, RecvBuffer: window},
	}})
	if err != nil {
		return nil, err
	}
	s.net.Tasks.Go(func() {
		l, err := s.net.Listen(serverEnd, port)
		if err != nil {
			s.err = err
			return
		}
		s.open = append(s.open, l)
		c, err := l.AcceptTCP()
		if err != nil {
			s.err = err
			return
		}
		s.open = append(s.open, c)
		_, _ = io.Copy(io.Discard, c) // it ends when the connection is reset
	})
	s.net.Tasks.Go(func() {
		var err error
		if s.conn, err = s.net.Dial(clientEnd, 0, port); err != nil {
			s.err = err
			return
		}
		s.open = append(s.open, s.conn)
		app(s)
	})
	return s, nil
}

func (s *stacks) run(until wheel.Time) {
	s.net.Run(until.Sub(s.net.Now()), func() bool { return s.err != nil })
}

// shut ends all tasks.
func (s *stacks) shut() error {
	for _, c := range s.open {
		if conn, ok := c.(*sockets.Conn); ok {
			_ = conn.SetLinger(0)
		}
		_ = c.Close()
	}
	s.net.Run(time.Hour, func() bool { return s.net.Tasks.Unfinished() == 0 })
	defer s.net.Close()
	if s.net.Tasks.Unfinished() > 0 {
		return errors.Join(s.err, errors.New("tasks are left behind"))
	}
	return s.err
}

// Send implements virtual.Wire.
func (s *stacks) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	fate := s.links[from].Send(now, &sim.Packet{Start: p.Start, End: p.End, Attempt: 1, Size: p.Size})
	if from == clientEnd && p.Header.Flags.Has(tcp.SYN) {
		s.iss = p.Header.Seq
	}
	drop := fate.Outcome != sim.Delivered
	if from == clientEnd && p.End > p.Start {
		if p.Start < s.next {
			s.again++
		}
		s.next = max(s.next, p.End)
		if p.Start == s.lost {
			switch {
			case s.first == 0:
				s.first, drop = now, true
			case s.second == 0:
				s.second = now
			}
		}
	}
	s.last[from] = max(s.last[from], fate.At.Add(s.rtt(fate.At)/2))
	return s.last[from].Sub(now), !drop
}

// Arrive implements virtual.Wire.
func (s *stacks) Arrive(_ wheel.Time, from int, p *virtual.Packet) bool {
	if from == serverEnd && p.Segment && p.Header.Flags.Has(tcp.ACK) {
		s.acked += uint64(p.Header.Ack.Sub(s.iss.Add(uint32(s.acked) + 1)))
	}
	return true
}

// gvisorSpike is spike with gVisor's TCP. Of its window nothing is told.
func gvisorSpike(p *Plan, seed int, k *Spike) error {
	const mss = 1448
	s, err := newStacks(p, k.Response, p.Window*mss, func(s *stacks) {
		for b := make([]byte, 64*mss); ; {
			if _, err := s.conn.Write(b); err != nil {
				return // the run is over
			}
		}
	})
	if err != nil {
		return err
	}
	begin := wheel.Time(p.Warm) + wheel.Time(testbed.Uniform(uint64(seed), 0xe23)*float64(tcptimers.SlowTick))
	s.rtt = func(now wheel.Time) time.Duration {
		if now >= begin && now < begin.Add(p.Lasts) {
			return k.Peak
		}
		return p.RTT
	}
	s.run(begin)
	again, acked, timeouts := s.again, s.acked, s.net.Counts(clientEnd).Timeouts
	s.run(begin.Add(p.Watch))
	k.Again, k.Octets, k.Timeouts = s.again-again, s.acked-acked, int(s.net.Counts(clientEnd).Timeouts-timeouts)
	if acked == 0 && s.err == nil {
		s.err = errors.New("nothing has arrived before the spike")
	}
	return s.shut()
}

// gvisorWaits is waits with gVisor's TCP.
func gvisorWaits(p *Plan, seed int) (all []int64, err error) {
	const size = 1000
	wrote, done := uint64(0), false
	write := func(s *stacks) {
		wrote += size
		if _, err := s.conn.Write(make([]byte, size)); err != nil {
			s.err = err
		}
	}
	s, err := newStacks(p, every, 0, func(s *stacks) {
		s.net.Tasks.Sleep(2 * p.RTT)
		for i := range p.Losses {
			for j := range p.Exchanges {
				s.net.Tasks.Sleep(2*p.RTT + time.Duration(testbed.Uniform(uint64(seed), 0xe23, uint64(i), uint64(j))*float64(tcptimers.SlowTick)))
				write(s)
			}
			s.net.Tasks.Sleep(20 * time.Second)
			s.lost, s.first, s.second = wrote, 0, 0
			write(s)
			s.net.Tasks.Sleep(time.Minute)
			if s.second == 0 || s.acked != wrote {
				s.err = fmt.Errorf("loss %d was not repaired within a minute", i)
			}
			if s.err != nil {
				return
			}
			all = append(all, s.second.Sub(s.first).Microseconds())
		}
		done = true
	})
	if err != nil {
		return nil, err
	}
	s.net.Run(24*time.Hour, func() bool { return done || s.err != nil })
	return all, s.shut()
}
