package testbed

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// engineRun is a run in the simulated network.
//
//	sender ══ Data, Acks ══ edge ─┬─ Fates ─ client0
//	                              └─ Fates ─ client1 …
type engineRun struct {
	*run
	world   *host.World
	sender  *host.Host
	clients []*host.Host
	pushing map[uint16]*push
	failed  error
}

// after is a function that a timer of the network calls once.
type after struct {
	run   *engineRun
	timer wheel.Timer
	f     func(now wheel.Time)
}

// Expire implements sim.Handler.
func (a *after) Expire(now wheel.Time) {
	a.run.world.Net.FreeTimer(a.timer)
	a.f(now)
}

func (r *engineRun) at(at wheel.Time, f func(now wheel.Time)) {
	a := &after{run: r, f: f}
	a.timer = r.world.Net.NewTimer(a)
	r.world.Net.StartTimer(a.timer, at)
}

func runEngine(ctx context.Context, s *Spec) (Result, error) {
	r := &engineRun{run: newRun(s), pushing: map[uint16]*push{}}
	if err := r.build(); err != nil {
		return Result{}, s.fault(err)
	}
	for _, f := range r.flows {
		r.at(f.begins(), func(now wheel.Time) { r.dial(f, now) })
	}
	limit := wheel.Time(s.Limit)
	most := maxEvents(s)
	for n := uint64(0); r.left > 0 && r.failed == nil; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		if n > most {
			return Result{}, s.fault(fmt.Errorf("%d events by %v, more than such work may need", n, r.world.Net.Now()))
		}
		if !r.world.Net.Step() || r.world.Net.Now() > limit {
			break
		}
	}
	if err := errors.Join(append(r.world.Faults(), r.failed)...); err != nil {
		return Result{}, s.fault(err)
	}
	res := r.result(min(r.world.Net.Now(), limit))
	c, w := r.sender.Counters(), r.sender.Engine().Wheel()
	res.Timeouts, res.Probes = c.TCPTimeouts, c.TCPLossProbes
	res.Wheel = &Wheel{Starts: w.Starts, Stops: w.Stops, Expiries: w.Expiries, Visits: w.Visits(), Wakeups: w.Wakeups}
	return res, nil
}

// maxEvents bounds the events of a run.
func maxEvents(s *Spec) uint64 { return 10_000_000 + uint64(200*s.Segments()) }

// build makes the hosts and the links.
func (r *engineRun) build() (err error) {
	s := r.spec
	if r.world, err = host.NewWorld(sim.Config{Seed: s.Seed}); err != nil {
		return err
	}
	net := r.world.Net
	add := func(name string, addr netip.Addr, c tcp.Config, n uint64) (*host.Host, sim.NodeID, error) {
		h, err := r.world.NewHost(addr, tcp.EngineConfig{
			Conn: c, Scheme: s.Scheme, Count: true, MTU: s.mtu(), Seed: Key(s.Seed, 0x5eed, n),
			Key: [16]byte{0: byte(n), 1: byte(n >> 8), 2: byte(s.Seed), 3: byte(s.Seed >> 8)},
		})
		if err != nil {
			return nil, 0, err
		}
		id, err := net.AddNode(name, h)
		return h, id, err
	}
	var id sim.NodeID
	if r.sender, id, err = add("sender", netip.AddrFrom4([4]byte{10, 1, 0, 1}), s.sender(), 0); err != nil {
		return err
	}
	edge := sim.NewRouter(net)
	edgeID, err := net.AddNode("edge", edge)
	if err != nil {
		return err
	}
	out, back, err := net.Connect(id, edgeID, s.Path.Data, s.Path.Acks)
	if err != nil {
		return err
	}
	if err := r.world.Attach(r.sender, id, out); err != nil {
		return err
	}
	edge.Route(id, back)
	net.Tap(out, shared{r})
	if s.Path.Spikes != (Spikes{}) {
		r.spike(net.Link(out), 0)
	}
	for i, f := range r.flows {
		client, clientID, err := add(clientName(i), netip.AddrFrom4([4]byte{10, 2, byte(i >> 8), byte(i)}), s.peer(),
			uint64(i+1))
		if err != nil {
			return err
		}
		there, back, err := net.Connect(edgeID, clientID, sim.LinkConfig{Loss: s.Path.Fates.losses(f)},
			sim.LinkConfig{Loss: s.Path.AckFates.losses(f)})
		if err != nil {
			return err
		}
		if err := r.world.Attach(client, clientID, back); err != nil {
			return err
		}
		edge.Route(clientID, there)
		net.Tap(there, last{r})
		r.clients = append(r.clients, client)
	}
	return r.sender.Listen(ServePort, tcp.ListenConfig{Backlog: max(16, s.Flows)},
		func() host.App { return host.AppFunc(r.serve) })
}

// spike schedules the n-th rise of the delay of a link, and then the next one.
func (r *engineRun) spike(l *sim.Link, n uint64) {
	s, data := r.spec.Path.Spikes, r.spec.Path.Data
	free := float64(s.Every - s.Lasts)
	begin := wheel.Time(n * uint64(s.Every)).Add(time.Duration(Uniform(r.spec.Seed, 0x591ce, n) * free))
	set := func(delay time.Duration) {
		if err := l.SetRate(sim.LinkRate{Fixed: quantity.Rate(data.Rate), Trace: data.Trace}, delay); err != nil {
			r.failed = err
		}
	}
	r.at(begin, func(now wheel.Time) {
		set(data.Delay + s.Rise)
		r.at(now.Add(s.Lasts), func(wheel.Time) {
			set(data.Delay)
			r.spike(l, n+1)
		})
	})
}

func clientName(flow int) string { return fmt.Sprintf("client%d", flow) }

// shared is the tap on the link that all flows share, and last the tap on the link of one flow.
type (
	shared struct{ *engineRun }
	last   struct{ *engineRun }
)

// Sent implements sim.Tap.
func (t shared) Sent(now wheel.Time, d *host.Datagram, f sim.Fate) {
	if d.Body.Len == 0 {
		return
	}
	attempt := t.sent.send(now, d.Body.Header.DstPort, d.Start, d.End)
	if f.Outcome != sim.Delivered {
		t.sent.lose(d.Body.Header.DstPort, d.Start, attempt)
	}
}

// Arrived implements sim.Tap.
func (shared) Arrived(wheel.Time, *host.Datagram) {}

// Sent implements sim.Tap.
func (t last) Sent(_ wheel.Time, d *host.Datagram, f sim.Fate) {
	if d.Body.Len > 0 && f.Outcome != sim.Delivered {
		t.sent.lose(d.Body.Header.DstPort, d.Start, d.Attempt)
	}
}

// Arrived implements sim.Tap.
func (last) Arrived(wheel.Time, *host.Datagram) {}

// dial opens the current connection of a flow.
func (r *engineRun) dial(f *flow, now wheel.Time) {
	s := r.spec
	if s.Work.Shape == Web {
		f.start(f.arrived, now)
	}
	app := &client{engineRun: r, flow: f, conn: int(f.conn.Load())}
	if _, err := r.clients[f.index].DialFrom(s.port(f.index, int(f.conn.Load())), r.sender, ServePort, nil,
		app); err != nil {
		r.failed = err
	}
}

// client is the receiver of a connection.
type client struct {
	*engineRun
	flow *flow
	conn int
	got  uint64 // bytes
}

// OnEvents implements host.App.
func (c *client) OnEvents(now wheel.Time, s *host.Session, ev tcp.Events) {
	asks := c.spec.Work.Shape == Answers || c.spec.Work.Shape == Web
	if ev.Has(tcp.EventConnected) && asks {
		c.flow.start(c.flow.arrived, now)
		s.Write(c.spec.request(), 0)
	}
	if ev.Has(tcp.EventFailed) && c.conn == int(c.flow.conn.Load()) && c.flow.arrived < len(c.flow.objects) {
		c.left-- // the rest of the flow stays unfinished
	}
	n := s.Readable()
	if n == 0 || ev.Has(tcp.EventClosed) {
		return
	}
	s.Consume(uint32(n))
	c.got += n
	for c.got >= c.spec.Work.Bytes {
		c.got -= c.spec.Work.Bytes
		if c.spec.Work.Shape != StopAndWait {
			c.complete(now, s)
		}
	}
}

// complete ends an object, and starts the next.
func (c *client) complete(now wheel.Time, s *host.Session) {
	f := c.flow
	more := f.end(now)
	if c.spec.Work.Shape == Web {
		s.Close(tcp.NoLinger)
	}
	if !more {
		return
	}
	next := now.Add(f.pause(f.arrived))
	switch c.spec.Work.Shape {
	case Answers:
		c.at(next, func(now wheel.Time) {
			if s.Conn().CanWrite() {
				f.start(f.arrived, now)
				s.Write(c.spec.request(), 0)
			}
		})
	case Web:
		c.at(next, func(now wheel.Time) {
			f.conn.Add(1)
			c.dial(f, now)
		})
	case Tail:
		p := c.pushing[c.spec.port(f.index, 0)]
		c.at(next, func(now wheel.Time) { p.push(now) })
	}
}

// push is the sender's side of a connection without requests.
type push struct {
	*engineRun
	flow    *flow
	session *host.Session
	next    int
}

// push writes the next object.
func (p *push) push(now wheel.Time) {
	if !p.session.Conn().CanWrite() {
		return
	}
	p.flow.start(p.next, now)
	p.next++
	p.session.Write(uint32(p.spec.Work.Bytes), 0)
	if p.spec.Work.Shape == Stream && p.next < len(p.flow.objects) {
		p.at(now.Add(p.flow.pause(p.next)), p.push)
	}
}

// serve is the sender's application.
func (r *engineRun) serve(now wheel.Time, s *host.Session, ev tcp.Events) {
	port := s.Socket().Remote().Port()
	index, _, ok := r.spec.of(port)
	if !ok {
		return
	}
	switch r.spec.Work.Shape {
	case Answers, Web:
		r.answer(s, ev)
		return
	}
	p := r.pushing[port]
	if p == nil {
		p = &push{engineRun: r, flow: r.flows[index], session: s}
		r.pushing[port] = p
	}
	switch {
	case ev.Has(tcp.EventConnected):
		p.push(now)
	case r.spec.Work.Shape == StopAndWait && ev.Has(tcp.EventSent) && p.flow.arrived < p.next:
		if p.flow.end(now) {
			if d := p.flow.pause(p.next); d > 0 {
				r.at(now.Add(d), p.push)
			} else {
				p.push(now)
			}
		}
	}
}

// answer answers the requests so far.
func (r *engineRun) answer(s *host.Session, ev tcp.Events) {
	for s.Readable() >= uint64(r.spec.request()) && !ev.Has(tcp.EventClosed) {
		s.Consume(r.spec.request())
		if s.Conn().CanWrite() {
			s.Write(uint32(r.spec.Work.Bytes), 0)
			if r.spec.Work.Shape == Web {
				s.Shutdown()
			}
		}
	}
}
