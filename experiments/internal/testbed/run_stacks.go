package testbed

import (
	"context"
	"errors"
	"net"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// The ends of the stacks: all receivers share one.
const (
	senderEnd = 0
	clientEnd = 1
)

// stacksRun is a run of a sender in one gVisor stack and its receivers in another.
type stacksRun struct {
	*run
	*Stacks
	shared  [2]*sim.Link   // by direction
	own     [2][]*sim.Link // by direction and flow
	senders map[uint16]*sockets.Conn
}

func runStacks(ctx context.Context, s *Spec) (Result, error) {
	r := &stacksRun{run: newRun(s), senders: map[uint16]*sockets.Conn{}}
	if err := r.build(); err != nil {
		return Result{}, s.fault(err)
	}
	r.ServeAt(senderEnd, r.serve)
	for _, f := range r.flows {
		r.Go(func() error {
			r.pause(time.Duration(f.begins()))
			if err := r.receive(f, r); err != nil && r.left > 0 {
				r.left-- // the rest of the flow stays unfinished
			}
			return nil
		})
	}
	most, events := maxEvents(s), uint64(0)
	err := r.Run(wheel.Time(s.Limit), func() bool {
		events++
		return r.left <= 0 || events > most || events%1024 == 0 && ctx.Err() != nil
	})
	res := r.result(min(r.Net.Now(), wheel.Time(s.Limit)))
	c := r.Net.Counts(senderEnd)
	res.Timeouts, res.Probes = c.Timeouts, c.Probes
	r.left = 0 // receivers that pause stop
	err = errors.Join(err, r.Close())
	if events > most {
		err = errors.Join(err, errors.New("more events than such work may need"))
	}
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err != nil {
		return Result{}, s.fault(err)
	}
	return res, nil
}

// build makes the links and the stacks.
func (r *stacksRun) build() (err error) {
	s := r.spec
	for i, l := range []*sim.LinkConfig{&s.Path.Data, &s.Path.Acks} {
		if r.shared[i], err = sim.NewLink(*l, sim.LinkKey(s.Seed, []string{"sender>edge", "edge>sender"}[i])); err != nil {
			return err
		}
	}
	for i, f := range r.flows {
		names := [2]string{"edge>" + clientName(i), clientName(i) + ">edge"}
		for d, fates := range []*Fates{&s.Path.Fates, &s.Path.AckFates} {
			l, err := sim.NewLink(sim.LinkConfig{Loss: fates.losses(f)}, sim.LinkKey(s.Seed, names[d]))
			if err != nil {
				return err
			}
			r.own[d] = append(r.own[d], l)
		}
	}
	cfg := virtual.Config{Seed: s.Seed, MTU: uint32(s.mtu()), Wire: r, TCP: [2]virtual.TCP{
		{GVisor: s.Kind == GVisor, Config: netstack.Config{Conn: s.sender()}, NoSACK: s.SACK != nil && !*s.SACK,
			Control: s.Control},
		{Config: netstack.Config{Conn: s.peer()}},
	}}
	if s.Kind == Binding && s.SACK == nil {
		cfg.TCP[senderEnd].NoSACK = !s.Timers.Config().SACK
	}
	if s.Stack != nil {
		s.Stack(&cfg.TCP[senderEnd])
	}
	r.Stacks = &Stacks{}
	return r.make(cfg, false)
}

// Send implements virtual.Wire: the packet enters the link that all flows share.
func (r *stacksRun) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	fate := r.shared[from].Send(now, &sim.Packet{Start: p.Start, End: p.End, Attempt: 1, Size: p.Size})
	if from == senderEnd && p.End > p.Start {
		attempt := r.sent.send(now, p.Header.DstPort, p.Start, p.End)
		p.Tag = int64(attempt)
		if fate.Outcome != sim.Delivered {
			r.sent.lose(p.Header.DstPort, p.Start, attempt)
		}
	}
	return transit(now, fate)
}

// Arrive implements virtual.Wire: the packet enters the link of its flow.
func (r *stacksRun) Arrive(now wheel.Time, from int, p *virtual.Packet) bool {
	port := p.Header.DstPort
	if from == clientEnd {
		port = p.Header.SrcPort
	}
	flow, _, ok := r.spec.of(port)
	if !ok {
		return true
	}
	packet := sim.Packet{Start: p.Start, End: p.End, Attempt: max(1, uint32(p.Tag)), Size: p.Size}
	if r.own[from][flow].Send(now, &packet).Outcome == sim.Delivered {
		return true
	}
	if p.Tag > 0 {
		r.sent.lose(port, p.Start, packet.Attempt)
	}
	return false
}

// serve is the sender's task of a connection.
func (r *stacksRun) serve(c *sockets.Conn) error {
	port := c.RemoteAddrPort().Port()
	r.senders[port] = c
	if r.spec.Work.Shape == Answers || r.spec.Work.Shape == Web {
		r.spec.answer(c)
		return nil
	}
	flow, _, _ := r.spec.of(port)
	if r.spec.Work.Shape == Stream {
		r.spec.writeStream(c, r.flows[flow], r)
		return nil
	}
	r.start(r.flows[flow], 0)
	r.spec.write(c)
	return nil
}

// What follows implements surroundings.

func (r *stacksRun) start(f *flow, object int) { f.start(object, r.Net.Now()) }
func (r *stacksRun) end(f *flow)               { f.end(r.Net.Now()) }
func (r *stacksRun) reading(net.Conn)          {}

func (r *stacksRun) dial(port uint16) (net.Conn, error) { return r.Connect(clientEnd, port) }

func (r *stacksRun) pause(d time.Duration) (more bool) {
	r.Net.Tasks.Sleep(max(1, d))
	return r.left > 0
}

func (r *stacksRun) push(f *flow, object int) {
	r.Go(func() error {
		r.start(f, object)
		r.spec.write(r.senders[r.spec.port(f.index, 0)])
		return nil
	})
}
