package vegas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// gvisor stands for gVisor's own TCP where timers have their text. Its floor is on the timeout, over a clock of nanoseconds.
const (
	gvisor      = "gVisor"
	gvisorFloor = 200 * time.Millisecond // MinRTO
)

func gvisorCells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, rtt := range p.RTTs {
		for seed := 1; seed <= p.GVisorSeeds; seed++ {
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("gvisor rtt=%v seed=%d", rtt, seed),
				Cost: 8e-4 * float64(p.Losses*(p.Between+1)),
				Run: func(context.Context) (Cell, error) {
					c := Cell{Timers: gvisor, RTT: rtt, Seed: seed}
					for i := range kinds {
						f, err := flow{plan: p, timers: p.Fine, rtt: rtt, kind: i, key: flowKey(seed, rtt, i)}.gvisor()
						if err != nil {
							return c, err
						}
						c.Flows = append(c.Flows, f)
					}
					return c, nil
				},
			})
		}
	}
	return all
}

// stacks is a flow from gVisor's TCP to a server with the flow's timers, over the same links as between two engines.
type stacks struct {
	*flow
	net      *virtual.Net
	links    [2]*sim.Link // from the client to the server, and back
	octets   uint64       // of an exchange
	n        int          // exchanges that were begun
	running  bool
	done     bool
	conn     *sockets.Conn
	iss      tcp.Seq // of the client
	attempts map[uint64]int
	timeouts uint64 // until the last packet
	resends  []testbed.Resend
	err      error
}

const (
	clientEnd = 0
	serverEnd = 1
	port      = 80
)

// gvisor runs the flow to its end with gVisor's TCP in place of the client's engine. SACK is off, and so is what gVisor has of
// RACK and probes, which needs it.
func (f flow) gvisor() (out Flow, err error) {
	out.Waits = []float64{}
	losses := watch{}
	up, down := f.links(&losses)
	s := &stacks{flow: &f, octets: uint64(kinds[f.kind].flight * mss), attempts: map[uint64]int{}}
	for i, cfg := range []sim.LinkConfig{up, down} {
		// The names are those of the links of a lab.Pair, so that the delays are the same.
		if s.links[i], err = sim.NewLink(cfg, sim.LinkKey(f.key, []string{"client>server", "server>client"}[i])); err != nil {
			return out, err
		}
	}
	server := netstack.Config{Conn: f.timers.Config()}
	s.net, err = virtual.New(virtual.Config{Seed: f.key, Wire: s, TCP: [2]virtual.TCP{{GVisor: true, NoSACK: true, Control: "newreno"}, {Config: server, NoSACK: true}}})
	if err != nil {
		return out, err
	}
	defer s.net.Close()
	var open []io.Closer
	s.net.Tasks.Go(func() {
		l, err := s.net.Listen(serverEnd, port)
		if err != nil {
			s.err = err
			return
		}
		open = append(open, l)
		c, err := l.AcceptTCP()
		if err != nil {
			s.err = err
			return
		}
		open = append(open, c)
		_, _ = io.Copy(io.Discard, c) // it ends when the connection is reset
	})
	s.net.Tasks.Go(func() {
		if s.conn, err = s.net.Dial(clientEnd, 0, port); err != nil {
			s.err = err
			return
		}
		open = append(open, s.conn)
		s.next(s.net.Now())
	})
	s.net.Run(100*time.Hour, func() bool { return s.done || s.err != nil })
	finished, failed := s.done, s.err
	for _, c := range open {
		if conn, ok := c.(*sockets.Conn); ok {
			_ = conn.SetLinger(0)
		}
		_ = c.Close()
	}
	s.net.Run(time.Hour, func() bool { return s.net.Tasks.Unfinished() == 0 })
	switch {
	case failed != nil:
		return out, failed
	case !finished:
		return out, fmt.Errorf("%d exchanges, and then none", s.n)
	case s.net.Tasks.Unfinished() > 0:
		return out, errors.New("tasks are left behind")
	}
	return out, losses.waits(s.resends, f.losses(), &out)
}

// next begins the next exchange when it is its turn.
func (s *stacks) next(now wheel.Time) {
	at := s.begins(s.n, now)
	s.net.Clock.AfterFunc(max(1, at.Sub(now)), func() {
		s.n++
		s.running = true
		s.net.Tasks.Go(func() {
			if _, err := s.conn.Write(make([]byte, s.octets)); err != nil {
				s.err = err
			}
		})
	})
}

// Send implements virtual.Wire. The first segment that is sent again since the counter of timeouts has moved is caused by one.
func (s *stacks) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	packet := sim.Packet{Start: p.Start, End: p.End, Attempt: 1, Size: p.Size}
	if from == clientEnd && p.Header.Flags.Has(tcp.SYN) {
		s.iss = p.Header.Seq
	}
	if from == clientEnd && p.End > p.Start {
		s.attempts[p.Start]++
		n := s.attempts[p.Start]
		packet.Attempt = uint32(n)
		timeouts := s.net.Counts(clientEnd).Timeouts
		if n > 1 {
			s.resends = append(s.resends, testbed.Resend{At: now, Attempt: n, Timed: timeouts > s.timeouts, Timer: tcptimers.Rexmit})
		}
		s.timeouts = timeouts
	}
	fate := s.links[from].Send(now, &packet)
	return fate.At.Sub(now), fate.Outcome == sim.Delivered
}

// Arrive implements virtual.Wire: the ACK of the last octet ends an exchange.
func (s *stacks) Arrive(now wheel.Time, from int, p *virtual.Packet) bool {
	if from == serverEnd && s.running && uint64(p.Header.Ack.Sub(s.iss.Add(1))) == uint64(s.n)*s.octets {
		if s.running = false; s.n == s.losses()*(s.between()+1) {
			s.done = true
			return true
		}
		s.next(now)
	}
	return true
}
