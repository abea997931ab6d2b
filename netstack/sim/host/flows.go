package host

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// flowPort is the port of the receivers.
const flowPort = 5001

// Flows is a running FlowsConfig.
type Flows struct {
	World              *World
	Senders, Receivers []*Host

	plan      FlowsConfig
	dialled   int
	connected int
	completed int // flows with all bytes and the FIN acknowledged, and the peer's FIN received
	failed    int
	alarm     wheel.Timer
	dialErr   error
}

// NewFlows sets up the scenario at time 0.
func NewFlows(p FlowsConfig) (*Flows, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	w, err := NewWorld(sim.Config{Seed: p.Seed})
	if err != nil {
		return nil, err
	}
	w.Verify = p.Verify
	f := &Flows{World: w, plan: p}
	for i := range max(p.Pairs, 1) {
		for side := range 2 {
			cfg, err := p.engine()
			if err != nil {
				return nil, err
			}
			cfg.Seed += uint64(2*i+side) * 0x9e3779b97f4a7c15
			cfg.Key[0], cfg.Key[1], cfg.Key[2] = byte(side), byte(i), byte(i>>8)
			h, err := w.NewHost(p.hostAddr(side, i), cfg)
			if err != nil {
				return nil, err
			}
			if side == 0 {
				f.Senders = append(f.Senders, h)
			} else {
				f.Receivers = append(f.Receivers, h)
			}
		}
	}
	if err := f.connect(); err != nil {
		return nil, err
	}
	for _, r := range f.Receivers {
		err := r.Listen(flowPort, tcp.ListenConfig{Backlog: p.Flows}, func() App {
			return &drain{}
		})
		if err != nil {
			return nil, err
		}
	}
	f.alarm = w.Net.NewTimer(f)
	w.Net.StartTimer(f.alarm, 0)
	return f, nil
}

// hostAddr returns the address of sender (side 0) or receiver (side 1) number i.
func (p *FlowsConfig) hostAddr(side, i int) netip.Addr {
	i++
	if p.IPv6 {
		return netip.AddrFrom16([16]byte{0: 0xfd, 7: byte(side + 1), 14: byte(i >> 8), 15: byte(i)})
	}
	return netip.AddrFrom4([4]byte{10, byte(side + 1), byte(i >> 8), byte(i)})
}

// connect adds the links.
func (f *Flows) connect() error {
	p, w := &f.plan, f.World
	if p.Pairs <= 1 {
		_, _, err := w.Join("s1", f.Senders[0], "r1", f.Receivers[0], p.Link, p.returnLink())
		return err
	}
	back := p.returnLink()
	topology := sim.TopologyConfig{
		Kind: "dumbbell", Senders: p.Pairs, Access: []sim.LinkConfig{p.Access}, Bottleneck: p.Link, Return: &back,
	}
	nodes := func(hosts []*Host) (nodes []sim.Node[Body]) {
		for _, h := range hosts {
			nodes = append(nodes, h)
		}
		return nodes
	}
	built, err := sim.Build(w.Net, topology, nodes(f.Senders), nodes(f.Receivers))
	if err != nil {
		return err
	}
	for i := range f.Senders {
		if err := w.Attach(f.Senders[i], built.Senders[i], built.SenderOut[i]); err != nil {
			return err
		}
		if err := w.Attach(f.Receivers[i], built.Receivers[i], built.ReceiverOut[i]); err != nil {
			return err
		}
	}
	return nil
}

// Expire implements sim.Handler. It dials the flows that are due.
func (f *Flows) Expire(now wheel.Time) {
	for f.dialled < f.plan.Flows {
		at := wheel.Time(f.plan.Stagger / time.Duration(f.plan.Flows) * time.Duration(f.dialled))
		if at > now {
			f.World.Net.StartTimer(f.alarm, at)
			return
		}
		i := f.dialled % len(f.Senders)
		f.dialled++
		if _, err := f.Senders[i].Dial(f.Receivers[i], flowPort, nil, &flowApp{flows: f, bulk: Bulk{Bytes: f.plan.Bytes, Finish: true}}); err != nil {
			f.failed++
			f.dialErr = err
		}
	}
}

// flowApp is the sender's application.
type flowApp struct {
	flows *Flows
	bulk  Bulk
}

// OnEvents implements App.
func (a *flowApp) OnEvents(now wheel.Time, s *Session, ev tcp.Events) {
	if ev.Has(tcp.EventConnected) {
		a.flows.connected++
	}
	a.bulk.OnEvents(now, s, ev)
	switch {
	case ev.Has(tcp.EventFailed):
		a.flows.failed++
	case ev.Has(tcp.EventPeerClosed):
		a.flows.completed++
		s.Close(tcp.NoLinger)
	}
}

// drain is the receiver's application. Its parts are one object, because each is out of the cache
// when a segment arrives.
type drain struct {
	sink   Sink
	closer Closer
}

// OnEvents implements App.
func (a *drain) OnEvents(now wheel.Time, s *Session, ev tcp.Events) {
	a.sink.OnEvents(now, s, ev)
	a.closer.OnEvents(now, s, ev)
}

// Run advances virtual time to until, or to the plan's Duration if that is earlier. It returns true
// while time and flows remain.
func (f *Flows) Run(until wheel.Time) bool {
	until = min(until, wheel.Time(f.plan.Duration))
	f.World.Net.Run(until)
	return until < wheel.Time(f.plan.Duration) && f.completed+f.failed < f.plan.Flows
}

// Segments returns the number of data segments received so far.
func (f *Flows) Segments() (n uint64) {
	for _, h := range f.Receivers {
		n += h.counts.DataSegments
	}
	return n
}

// Result is the outcome of Flows.
type Result struct {
	Flows     int
	Connected int
	Completed int
	Failed    int

	Seconds  float64
	Segments uint64  // with data, received
	Bytes    uint64  // readable
	Goodput  float64 // bit/s of virtual time, all flows together

	Retransmissions  uint64 // segments
	Timeouts         uint64
	LossProbes       uint64 // tail loss probes
	SpuriousTimeouts uint64
	Events           uint64 // arrivals and expiries in the network

	Sender   tcp.Counters // of all senders
	Receiver tcp.Counters
}

// Result returns the outcome so far.
func (f *Flows) Result() Result {
	r := Result{
		Flows: f.plan.Flows, Connected: f.connected, Completed: f.completed, Failed: f.failed,
		Seconds: time.Duration(f.World.Net.Now()).Seconds(), Events: f.World.Net.Events(),
	}
	for _, h := range f.Senders {
		c := h.Counters()
		r.Sender.Add(&c)
	}
	for _, h := range f.Receivers {
		c := h.Counters()
		r.Receiver.Add(&c)
		r.Segments += h.counts.DataSegments
		r.Bytes += h.counts.Readable
	}
	if r.Seconds > 0 {
		r.Goodput = 8 * float64(r.Bytes) / r.Seconds
	}
	r.Retransmissions = r.Sender.RetransSegs
	r.Timeouts = r.Sender.TCPTimeouts
	r.LossProbes = r.Sender.TCPLossProbes
	r.SpuriousTimeouts = r.Sender.TCPSpuriousRTOs
	return r
}

// Err returns the first error: a flow that could not be opened, or a fault of the world.
func (f *Flows) Err() error {
	if f.dialErr != nil {
		return fmt.Errorf("host: flow %d: %w", f.dialled, f.dialErr)
	}
	if faults := f.World.Faults(); len(faults) > 0 {
		return faults[0]
	}
	return nil
}
