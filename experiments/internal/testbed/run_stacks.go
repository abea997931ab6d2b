package testbed

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// The ends of the stacks.
const (
	senderEnd = 0
	clientEnd = 1
)

// stacksRun is a run with stacks, whose sender and whose receivers each have one in common.
type stacksRun struct {
	*run
	net     *virtual.Net
	shared  [2]*sim.Link   // by direction
	own     [2][]*sim.Link // and by flow
	senders map[uint16]*sockets.Conn
	open    []io.Closer
	errs    []error
}

func runStacks(ctx context.Context, s *Spec) (Result, error) {
	r := &stacksRun{run: newRun(s), senders: map[uint16]*sockets.Conn{}}
	for i, l := range []*sim.LinkConfig{&s.Path.Data, &s.Path.Acks} {
		var err error
		if r.shared[i], err = sim.NewLink(*l, sim.LinkKey(s.Seed, []string{"sender>edge", "edge>sender"}[i])); err != nil {
			return Result{}, err
		}
	}
	for i, f := range r.flows {
		names := [2]string{"edge>" + clientName(i), clientName(i) + ">edge"}
		for d, fates := range []*Fates{&s.Path.Fates, &s.Path.AckFates} {
			l, err := sim.NewLink(sim.LinkConfig{Loss: fates.losses(f)}, sim.LinkKey(s.Seed, names[d]))
			if err != nil {
				return Result{}, err
			}
			r.own[d] = append(r.own[d], l)
		}
	}
	cfg := virtual.Config{Seed: s.Seed, MTU: uint32(s.mtu()), Wire: r, TCP: [2]virtual.TCP{
		{Config: netstack.Config{Conn: s.sender()}, NoSACK: s.SACK != nil && !*s.SACK, Control: s.Control},
		{Config: netstack.Config{Conn: s.peer()}},
	}}
	cfg.TCP[0].GVisor = s.Kind == GVisor
	if s.Kind == Binding && s.SACK == nil {
		cfg.TCP[0].NoSACK = s.Timers.NoSACK
	}
	net, err := virtual.New(cfg)
	if err != nil {
		return Result{}, s.fault(err)
	}
	r.net = net
	defer net.Close()
	net.Tasks.Go(r.listen)
	for _, f := range r.flows {
		net.Tasks.Go(func() {
			net.Tasks.Sleep(max(1, time.Duration(f.begins())))
			r.receive(f)
		})
	}
	most, events := maxEvents(s), uint64(0)
	net.Run(s.Limit, func() bool {
		events++
		return r.left <= 0 || len(r.errs) > 0 || events > most || events%1024 == 0 && ctx.Err() != nil
	})
	res := r.result(min(net.Now(), wheel.Time(s.Limit)))
	c := net.Counts(senderEnd)
	res.Timeouts, res.Probes = c.Timeouts, c.Probes
	r.shut()
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case events > most:
		r.errs = append(r.errs, errors.New("more events than such work may need"))
	case net.Tasks.Unfinished() != 0:
		r.errs = append(r.errs, errors.New("tasks are left behind"))
	}
	if len(r.errs) > 0 {
		return Result{}, s.fault(errors.Join(r.errs...))
	}
	return res, nil
}

// shut ends all tasks.
func (r *stacksRun) shut() {
	r.left = math.MinInt32 // whatever fails from now on is no error
	for _, c := range r.open {
		if conn, ok := c.(*sockets.Conn); ok {
			_ = conn.SetLinger(0)
		}
		_ = c.Close()
	}
	r.net.Run(time.Hour, func() bool { return r.net.Tasks.Unfinished() == 0 })
}

// fail notes an error, unless all is over.
func (r *stacksRun) fail(err error) {
	if r.left > 0 {
		r.errs = append(r.errs, err)
	}
}

// Send implements virtual.Wire.
func (r *stacksRun) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	packet := sim.Packet{Start: p.Start, End: p.End, Attempt: 1, Size: p.Size}
	fate := r.shared[from].Send(now, &packet)
	p.Tag = -1
	if from == senderEnd && p.End > p.Start {
		id, attempt := r.ledger.sent(now, p.Header.DstPort, p.Start, p.End)
		p.Tag = int64(id)<<32 | int64(attempt)
		if fate.Outcome != sim.Delivered {
			r.ledger.settle(id, lost)
		}
	}
	return fate.At.Sub(now), fate.Outcome == sim.Delivered
}

// Arrive implements virtual.Wire: the packet has come to the way of its flow.
func (r *stacksRun) Arrive(now wheel.Time, from int, p *virtual.Packet) bool {
	port := p.Header.DstPort
	if from == clientEnd {
		port = p.Header.SrcPort
	}
	flow, _, ok := r.spec.of(port)
	if !ok {
		return true
	}
	packet := sim.Packet{Start: p.Start, End: p.End, Attempt: 1, Size: p.Size}
	if p.Tag >= 0 {
		packet.Attempt = uint32(p.Tag)
	}
	dropped := r.own[from][flow].Send(now, &packet).Outcome != sim.Delivered
	if p.Tag >= 0 {
		fate := arrived
		if dropped {
			fate = lost
		}
		r.ledger.settle(int32(p.Tag>>32), fate)
	}
	return !dropped
}

// listen is the sender's task.
func (r *stacksRun) listen() {
	l, err := r.net.Listen(senderEnd, servePort)
	if err != nil {
		r.fail(err)
		return
	}
	r.open = append(r.open, l)
	for r.left > 0 {
		c, err := l.AcceptTCP()
		if err != nil {
			r.fail(err)
			return
		}
		r.open = append(r.open, c)
		r.senders[c.RemoteAddrPort().Port()] = c
		if r.spec.Work.Shape == Answers || r.spec.Work.Shape == Web {
			r.net.Tasks.Go(func() { r.answer(c) })
		} else {
			flow, _, _ := r.spec.of(c.RemoteAddrPort().Port())
			r.net.Tasks.Go(func() { r.push(r.flows[flow], 0) })
		}
	}
}

// write writes an object.
func (r *stacksRun) write(c *sockets.Conn) bool {
	b := make([]byte, min(r.spec.Work.Octets, 1<<20))
	for left := r.spec.Work.Octets; left > 0; {
		n, err := c.Write(b[:min(left, uint64(len(b)))])
		if err != nil {
			return false // the receiver will tell, if it should not be
		}
		left -= uint64(n)
	}
	return true
}

// answer is the task of the sender on a connection on which it is asked.
func (r *stacksRun) answer(c *sockets.Conn) {
	request := make([]byte, r.spec.request())
	for {
		if _, err := io.ReadFull(c, request); err != nil {
			return
		}
		if !r.write(c) {
			return
		}
		if r.spec.Work.Shape == Web {
			_ = c.CloseWrite()
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
			return
		}
	}
}

// push writes an object without being asked.
func (r *stacksRun) push(f *flow, object int) {
	f.start(object, r.net.Now())
	r.write(r.senders[r.spec.port(f.index, 0)])
}

// receive is the task of the receiver of a flow.
func (r *stacksRun) receive(f *flow) {
	s := r.spec
	buf := make([]byte, 64<<10)
	request := make([]byte, s.request())
	var c *sockets.Conn
	for object := range f.objects {
		if object > 0 {
			r.net.Tasks.Sleep(max(1, f.pause(object)))
		}
		if r.left <= 0 {
			return
		}
		if c == nil || s.Work.Shape == Web {
			if s.Work.Shape == Web {
				f.conn.Store(int32(object))
				f.start(object, r.net.Now())
			}
			var err error
			if c, err = r.net.Dial(clientEnd, s.port(f.index, int(f.conn.Load())), servePort); err != nil {
				r.giveUp()
				return
			}
			r.open = append(r.open, c)
		}
		switch s.Work.Shape {
		case Answers, Web:
			f.start(object, r.net.Now())
			if _, err := c.Write(request); err != nil {
				r.giveUp()
				return
			}
		case Tail:
			if object > 0 {
				r.net.Tasks.Go(func() { r.push(f, object) })
			}
		}
		for left := s.Work.Octets; left > 0; {
			n, err := c.Read(buf[:min(left, uint64(len(buf)))])
			if err != nil {
				r.giveUp()
				return
			}
			left -= uint64(n)
		}
		f.end(r.net.Now())
		if s.Work.Shape == Web {
			_ = c.Close()
		}
	}
}

// giveUp counts a flow whose connection has failed among those that have ended; what it has left is unfinished.
func (r *stacksRun) giveUp() {
	if r.left > 0 {
		r.left--
	}
}
