package testbed

import (
	"errors"
	"io"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// Stacks is two network stacks with a wire between them, in virtual time, for a study that has gVisor's own TCP as a further subject. The
// first end dials, and the second listens. What they do are tasks, as package sockets has them.
type Stacks struct {
	Net *virtual.Net

	open []io.Closer
	over bool // whatever fails from now on is no error
	err  error
}

// The ends of Stacks.
const (
	DialEnd   = 0
	ListenEnd = 1
)

const stacksPort = 80

// NewStacks makes the stacks. Close is to be called in the end.
func NewStacks(seed uint64, ends [2]virtual.TCP, wire virtual.Wire) (*Stacks, error) {
	net, err := virtual.New(virtual.Config{Seed: seed, TCP: ends, Wire: wire})
	if err != nil {
		return nil, err
	}
	return &Stacks{Net: net}, nil
}

// Serve has the second end listen, and each connection served by a task of its own.
func (s *Stacks) Serve(serve func(c *sockets.Conn) error) {
	s.Go(func() error {
		l, err := s.Net.Listen(ListenEnd, stacksPort)
		if err != nil {
			return err
		}
		s.open = append(s.open, l)
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return err
			}
			s.open = append(s.open, c)
			s.Go(func() error { return serve(c) })
		}
	})
}

// Dial has the first end connect, from a port or from any if it is 0, by a task, which goes on with do.
func (s *Stacks) Dial(port uint16, do func(c *sockets.Conn) error) {
	s.Go(func() error {
		c, err := s.Net.Dial(DialEnd, port, stacksPort)
		if err != nil {
			return err
		}
		s.open = append(s.open, c)
		return do(c)
	})
}

// Go begins a task. The first error of a task ends the run.
func (s *Stacks) Go(do func() error) {
	s.Net.Tasks.Go(func() {
		if err := do(); err != nil && !s.over && s.err == nil {
			s.err = err
		}
	})
}

// Run lets time pass until an instant, or until done, if it is not nil, returns true. It returns the first error.
func (s *Stacks) Run(until wheel.Time, done func() bool) error {
	s.Net.Run(until.Sub(s.Net.Now()), func() bool { return s.err != nil || done != nil && done() })
	return s.err
}

// Close resets all connections, and ends the tasks and the stacks. It returns an error if tasks are left.
func (s *Stacks) Close() error {
	s.over = true
	for _, c := range s.open {
		if conn, ok := c.(*sockets.Conn); ok {
			_ = conn.SetLinger(0)
		}
		_ = c.Close()
	}
	s.Net.Run(time.Hour, func() bool { return s.Net.Tasks.Unfinished() == 0 })
	defer s.Net.Close()
	if s.Net.Tasks.Unfinished() > 0 {
		return errors.New("lab: tasks are left behind")
	}
	return nil
}

// Pass is virtual.Wire's Send over a link whose losses do not depend on which attempt a segment is.
func Pass(now wheel.Time, l *sim.Link, p *virtual.Packet) (took time.Duration, ok bool) {
	fate := l.Send(now, &sim.Packet{Start: p.Start, End: p.End, Attempt: 1, Size: p.Size})
	return fate.At.Sub(now), fate.Outcome == sim.Delivered
}

// Discard reads a connection to its end, and tells count how much came each time.
func Discard(c *sockets.Conn, count func(n int)) error {
	for b := make([]byte, 64<<10); ; {
		n, err := c.Read(b)
		count(n)
		if err != nil {
			return err
		}
	}
}
