package host

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// flowPort is where the receivers of a Plan listen.
const flowPort = 5001

// Flows is a Plan at work.
type Flows struct {
	World              *World
	Senders, Receivers []*Host

	plan      Plan
	dialled   int
	connected int
	completed int // flows whose octets and FIN were acknowledged, and whose peer has closed too
	failed    int
	alarm     wheel.Timer
	dialErr   error
}

// NewFlows sets the scenario up at time 0.
func NewFlows(p Plan) (*Flows, error) {
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
			h, err := w.NewHost(p.addr(side, i), cfg)
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
			return Apps{&Sink{}, &Closer{}}
		})
		if err != nil {
			return nil, err
		}
	}
	f.alarm = w.Net.NewTimer(f)
	w.Net.StartTimer(f.alarm, 0)
	return f, nil
}

// addr returns the address of host i, of the senders or of the receivers.
func (p *Plan) addr(side, i int) netip.Addr {
	i++
	if p.IPv6 {
		return netip.AddrFrom16([16]byte{0: 0xfd, 7: byte(side + 1), 14: byte(i >> 8), 15: byte(i)})
	}
	return netip.AddrFrom4([4]byte{10, byte(side + 1), byte(i >> 8), byte(i)})
}

// connect lays the links.
func (f *Flows) connect() error {
	p, w := &f.plan, f.World
	if p.Pairs <= 1 {
		_, _, err := w.Join("s1", f.Senders[0], "r1", f.Receivers[0], p.Link, p.back())
		return err
	}
	back := p.back()
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

// Expire implements sim.Handler: it is time for the next flow.
func (f *Flows) Expire(now wheel.Time) {
	for f.dialled < f.plan.Flows {
		at := wheel.Time(f.plan.Stagger / time.Duration(f.plan.Flows) * time.Duration(f.dialled))
		if at > now {
			f.World.Net.StartTimer(f.alarm, at)
			return
		}
		i := f.dialled % len(f.Senders)
		f.dialled++
		if _, err := f.Senders[i].Dial(f.Receivers[i], flowPort, nil, &flow{flows: f, bulk: Bulk{Octets: f.plan.Octets, Finish: true}}); err != nil {
			f.failed++
			f.dialErr = err
		}
	}
}

// flow is the sender's application.
type flow struct {
	flows *Flows
	bulk  Bulk
}

// OnEvents implements App.
func (a *flow) OnEvents(now wheel.Time, s *Session, ev tcp.Events) {
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

// Run lets virtual time pass up to that instant, or up to the plan's Duration if that is earlier, and reports whether
// there is more to run: the time is not over, and not all flows have ended.
func (f *Flows) Run(until wheel.Time) bool {
	until = min(until, wheel.Time(f.plan.Duration))
	f.World.Net.Run(until)
	return until < wheel.Time(f.plan.Duration) && f.completed+f.failed < f.plan.Flows
}

// Segments returns how many segments with data have arrived so far.
func (f *Flows) Segments() (n uint64) {
	for _, h := range f.Receivers {
		n += h.counts.DataSegments
	}
	return n
}

// Result is what came of a Plan.
type Result struct {
	Flows     int `json:"flows"`
	Connected int `json:"connected"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`

	Seconds  float64 `json:"virtual_seconds"`
	Segments uint64  `json:"segments"` // with data, received
	Octets   uint64  `json:"octets"`   // that became readable
	Goodput  float64 `json:"goodput"`  // bit/s of virtual time, all flows together

	Retransmits uint64 `json:"retransmits"` // segments
	Timeouts    uint64 `json:"timeouts"`
	Probes      uint64 `json:"probes"` // for lost tails
	Spurious    uint64 `json:"spurious_timeouts"`
	Events      uint64 `json:"events"` // arrivals and expiries of the network

	Sender   tcp.Counters `json:"sender"` // of all senders
	Receiver tcp.Counters `json:"receiver"`
}

// Result returns what has come of it so far.
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
		r.Octets += h.counts.Readable
	}
	if r.Seconds > 0 {
		r.Goodput = 8 * float64(r.Octets) / r.Seconds
	}
	r.Retransmits = r.Sender.RetransSegs
	r.Timeouts = r.Sender.TCPTimeouts
	r.Probes = r.Sender.TCPLossProbes
	r.Spurious = r.Sender.TCPSpuriousRTOs
	return r
}

// Err returns what went wrong: a flow that could not be opened, or a fault of the world.
func (f *Flows) Err() error {
	if f.dialErr != nil {
		return fmt.Errorf("host: flow %d: %w", f.dialled, f.dialErr)
	}
	if faults := f.World.Faults(); len(faults) > 0 {
		return faults[0]
	}
	return nil
}
