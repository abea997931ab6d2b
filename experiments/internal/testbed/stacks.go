package testbed

import (
	"cmp"
	"errors"
	"io"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Stacks is two gVisor stacks with a wire between them, in virtual time. The first end dials with
// the TCP of a Subject, and the second listens with that of this project. Their programs are tasks
// of package sockets.
type Stacks struct {
	Net   *virtual.Net
	*Wire // nil if the plan has another

	open []io.Closer
	over bool // later failures are no errors
	err  error
}

// The ends of Stacks.
const (
	DialEnd   = 0
	ListenEnd = 1
)

// ServePort is where servers listen.
const ServePort = 80

// StacksPlan configures Stacks.
type StacksPlan struct {
	Seed           uint64
	Client         Subject
	Change         func(client *tcp.Config) // changes the client, unless it is gVisor's; may be nil
	Server         tcp.Config
	NoSACK         bool           // of the server
	ServerBuffer   int            // of a socket of the server for received data; 0 is gVisor's own
	Up, Down       sim.LinkConfig // of the Wire, from the client to the server and back
	UpKey, DownKey uint64         // seed their random numbers; the default is 0 and 1
	Trace          bool           // fill in the Wire's Acked and Retransmissions
	Wire           virtual.Wire   // in the place of Up and Down, if not nil
}

// NewStacks makes the stacks. The caller must Close or Finish them.
func NewStacks(p StacksPlan) (*Stacks, error) {
	s := &Stacks{}
	if p.Wire == nil {
		var err error
		if s.Wire, err = newWire(&p); err != nil {
			return nil, err
		}
		p.Wire = s.Wire
	}
	client := p.Client.Stack()
	if p.Change != nil && !client.GVisor {
		p.Change(&client.Config.Conn)
	}
	return s, s.make(virtual.Config{Seed: p.Seed, Wire: p.Wire, TCP: [2]virtual.TCP{
		DialEnd:   client,
		ListenEnd: {Config: netstack.Config{Conn: p.Server}, NoSACK: p.NoSACK, RecvBuffer: p.ServerBuffer},
	}}, p.Trace)
}

func (s *Stacks) make(cfg virtual.Config, trace bool) (err error) {
	if s.Net, err = virtual.New(cfg); err == nil && trace {
		s.Wire.stacks = s
		_, s.Wire.ours = netstack.Counters(s.Net.Stack(DialEnd))
	}
	return err
}

// Serve lets the second end listen, and starts a task for each connection.
func (s *Stacks) Serve(serve func(c *sockets.Conn) error) { s.ServeAt(ListenEnd, serve) }

// ServeAt is Serve at either end.
func (s *Stacks) ServeAt(end int, serve func(c *sockets.Conn) error) {
	s.Go(func() error {
		l, err := s.Net.Listen(end, ServePort)
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
	c, err := s.Net.Dial(end, port, ServePort)
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

// Finish closes the stacks after a run. It returns the first error of both.
func (s *Stacks) Finish(err error) error {
	left := s.Close()
	if err != nil {
		return err
	}
	return left
}

// Write starts a task that writes so many bytes.
func (s *Stacks) Write(c *sockets.Conn, bytes int) {
	s.Go(func() error {
		_, err := c.Write(make([]byte, bytes))
		return err
	})
}

// Sink reads a connection until it ends.
func Sink(c *sockets.Conn) error { return Discard(c, func(int) {}) }

// Discard is Sink, and passes the size of each read to count.
func Discard(c *sockets.Conn, count func(n int)) error {
	for b := make([]byte, 64<<10); ; {
		n, err := c.Read(b)
		count(n)
		if err != nil {
			return err
		}
	}
}

// Wire is the virtual.Wire of Stacks, a link in each direction. What a study adds to the path are
// its hooks.
type Wire struct {
	// Before is called before a packet enters the link of an end.
	Before func(now wheel.Time, from int)
	// Sent is called after that. The packet's Tag says which transmission of its data it is, from 1.
	// It may change the fate.
	Sent func(now wheel.Time, from int, p *virtual.Packet, fate *sim.Fate)
	// Arrived is called when a packet arrives.
	Arrived func(now wheel.Time, from int, p *virtual.Packet)

	// With StacksPlan.Trace, if there is one connection: the bytes that the server has acknowledged,
	// and the retransmissions of the client. A timeout has caused the first of them after the counter
	// of timeouts moved.
	Acked           uint64
	Retransmissions []Retransmission

	links    [2]*sim.Link
	sent     [2]transmissions // by the end that dials' port
	stacks   *Stacks          // nil traces nothing
	iss      tcp.Seq          // of the first end
	timeouts uint64           // of the first end, until its last packet
	ours     bool             // the first end has this module's TCP, which counts after it has sent
}

func newWire(p *StacksPlan) (w *Wire, err error) {
	w = &Wire{sent: [2]transmissions{newTransmissions(), newTransmissions()}}
	if w.links[DialEnd], err = sim.NewLink(p.Up, p.UpKey); err != nil {
		return nil, err
	}
	w.links[ListenEnd], err = sim.NewLink(p.Down, cmp.Or(p.DownKey, 1))
	return w, err
}

// Link returns the link from an end.
func (w *Wire) Link(from int) *sim.Link { return w.links[from] }

// dialPort returns the port of the end that dials.
func dialPort(from int, p *virtual.Packet) uint16 {
	if from == DialEnd {
		return p.Header.SrcPort
	}
	return p.Header.DstPort
}

// Send implements virtual.Wire.
func (w *Wire) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if w.Before != nil {
		w.Before(now, from)
	}
	attempt := uint32(1)
	if p.End > p.Start {
		attempt = w.sent[from].send(now, dialPort(from, p), p.Start, p.End)
	}
	fate := w.links[from].Send(now, &sim.Packet{Start: p.Start, End: p.End, Attempt: attempt, Size: p.Size})
	p.Tag = int64(attempt)
	if w.stacks != nil && from == DialEnd {
		w.follow(now, p)
	}
	if w.Sent != nil {
		w.Sent(now, from, p, &fate)
	}
	return transit(now, fate)
}

// follow notes a packet of the first end.
func (w *Wire) follow(now wheel.Time, p *virtual.Packet) {
	if p.Header.Flags.Has(tcp.SYN) {
		w.iss = p.Header.Seq
	}
	if p.End == p.Start {
		return
	}
	if p.Tag > 1 {
		first, last := w.sent[DialEnd].times(p.Header.SrcPort, p.Start)
		w.Retransmissions = append(w.Retransmissions, Retransmission{At: now, Attempt: int(p.Tag),
			First: first, Last: last, Timed: !w.ours && w.timed() > 0, Timer: tcptimers.Rexmit})
	}
	if !w.ours {
		w.timeouts = w.stacks.Net.Counts(DialEnd).Timeouts
	}
}

// timed returns the timeouts since the last look.
func (w *Wire) timed() int { return int(w.stacks.Net.Counts(DialEnd).Timeouts - w.timeouts) }

// settle notes which of the last retransmissions were timeouts, once the sender has counted them.
func (w *Wire) settle() {
	n := w.timed()
	w.timeouts += uint64(n)
	for i := max(0, len(w.Retransmissions)-n); i < len(w.Retransmissions); i++ {
		w.Retransmissions[i].Timed = true
	}
}

// Arrive implements virtual.Wire.
func (w *Wire) Arrive(now wheel.Time, from int, p *virtual.Packet) bool {
	if w.ours && from == ListenEnd {
		w.settle()
	}
	if w.stacks != nil && from == ListenEnd && p.Segment && p.Header.Flags.Has(tcp.ACK) {
		w.Acked += uint64(p.Header.Ack.Sub(w.iss.Add(uint32(w.Acked) + 1)))
	}
	if w.Arrived != nil {
		w.Arrived(now, from, p)
	}
	return true
}

// transit returns a fate as virtual.Wire's Send does.
func transit(now wheel.Time, fate sim.Fate) (took time.Duration, ok bool) {
	return fate.At.Sub(now), fate.Outcome == sim.Delivered
}

// pass is virtual.Wire's Send over a link whose losses do not depend on the attempt.
func pass(now wheel.Time, l *sim.Link, p *virtual.Packet) (took time.Duration, ok bool) {
	return transit(now, l.Send(now, &sim.Packet{Start: p.Start, End: p.End, Attempt: 1, Size: p.Size}))
}
