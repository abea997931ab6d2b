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

// Stacks is two gVisor stacks with a wire between them, in virtual time. Either may run gVisor's
// own TCP. The first end dials, and the second listens. Their programs are tasks of package
// sockets.
type Stacks struct {
	Net *virtual.Net

	open []io.Closer
	over bool // later failures are no errors
	err  error
}

// The ends of Stacks.
const (
	DialEnd   = 0
	ListenEnd = 1
)

const servePort = 80

// NewStacks makes the stacks. The caller must Close them.
func NewStacks(cfg virtual.Config) (*Stacks, error) {
	net, err := virtual.New(cfg)
	if err != nil {
		return nil, err
	}
	return &Stacks{Net: net}, nil
}

// Serve lets the second end listen, and starts a task for each connection.
func (s *Stacks) Serve(serve func(c *sockets.Conn) error) { s.ServeAt(ListenEnd, serve) }

// ServeAt is Serve at either end.
func (s *Stacks) ServeAt(end int, serve func(c *sockets.Conn) error) {
	s.Go(func() error {
		l, err := s.Net.Listen(end, servePort)
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

// Dial starts a task that connects the first end, from a port or from any if it is 0, and then runs
// do.
func (s *Stacks) Dial(port uint16, do func(c *sockets.Conn) error) {
	s.Go(func() error {
		c, err := s.Connect(DialEnd, port)
		if err != nil {
			return err
		}
		return do(c)
	})
}

// Connect connects an end to the server at the other. Only a task may call it.
func (s *Stacks) Connect(end int, port uint16) (*sockets.Conn, error) {
	c, err := s.Net.Dial(end, port, servePort)
	if err == nil {
		s.open = append(s.open, c)
	}
	return c, err
}

// Go starts a task. The first error of a task ends the run.
func (s *Stacks) Go(do func() error) {
	s.Net.Tasks.Go(func() {
		if err := do(); err != nil && !s.over && s.err == nil {
			s.err = err
		}
	})
}

// Run lets time pass until an instant, or until done, if not nil, returns true. It returns the
// first error of a task.
func (s *Stacks) Run(until wheel.Time, done func() bool) error {
	s.Net.Run(until.Sub(s.Net.Now()), func() bool { return s.err != nil || done != nil && done() })
	return s.err
}

// Close resets all connections, and ends the tasks and the stacks. It returns an error if tasks
// remain.
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
		return errors.New("testbed: tasks are left behind")
	}
	return nil
}

// Discard reads a connection until it ends, and passes the size of each read to count.
func Discard(c *sockets.Conn, count func(n int)) error {
	for b := make([]byte, 64<<10); ; {
		n, err := c.Read(b)
		count(n)
		if err != nil {
			return err
		}
	}
}

// Wire is a virtual.Wire of a link in each direction. Programs that must see packets embed it.
type Wire struct {
	links    [2]*sim.Link
	attempts map[segment]uint32
}

// segment is the data segments that begin at a place in the stream of a connection.
type segment struct {
	end      int
	from, to uint16 // ports
	start    uint64
}

// NewWire makes a wire of the links from the first end and back. The keys seed their random
// numbers.
func NewWire(there, back sim.LinkConfig, keys [2]uint64) (w Wire, err error) {
	w.attempts = map[segment]uint32{}
	for i, cfg := range []sim.LinkConfig{there, back} {
		if w.links[i], err = sim.NewLink(cfg, keys[i]); err != nil {
			return w, err
		}
	}
	return w, nil
}

// Link returns the link from an end.
func (w *Wire) Link(from int) *sim.Link { return w.links[from] }

// Pass sends a packet over its link. It returns the fate, and which transmission of its data it is,
// from 1.
func (w *Wire) Pass(now wheel.Time, from int, p *virtual.Packet) (fate sim.Fate, attempt uint32) {
	attempt = 1
	if p.End > p.Start {
		k := segment{from, p.Header.SrcPort, p.Header.DstPort, p.Start}
		w.attempts[k]++
		attempt = w.attempts[k]
	}
	return w.links[from].Send(now, &sim.Packet{Start: p.Start, End: p.End, Attempt: attempt, Size: p.Size}), attempt
}

// Send implements virtual.Wire.
func (w *Wire) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	fate, _ := w.Pass(now, from, p)
	return Transit(now, fate)
}

// Arrive implements virtual.Wire.
func (w *Wire) Arrive(wheel.Time, int, *virtual.Packet) bool { return true }

// Transit returns a fate as virtual.Wire's Send does.
func Transit(now wheel.Time, fate sim.Fate) (took time.Duration, ok bool) {
	return fate.At.Sub(now), fate.Outcome == sim.Delivered
}

// Pass is virtual.Wire's Send over a link whose losses do not depend on the attempt.
func Pass(now wheel.Time, l *sim.Link, p *virtual.Packet) (took time.Duration, ok bool) {
	return Transit(now, l.Send(now, &sim.Packet{Start: p.Start, End: p.End, Attempt: 1, Size: p.Size}))
}
