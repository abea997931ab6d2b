package host

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// FlowsConfig is a scenario of bulk flows between two hosts, s1 and r1. The zero value of a field is
// its default.
type FlowsConfig struct {
	Seed  uint64
	Flows int // 1 or more

	Bytes    uint64        // of each flow; 0 is no limit
	Stagger  time.Duration // the flows start evenly spaced over this time
	Duration time.Duration // limit of virtual time

	Link   sim.LinkConfig  // towards the receiver
	Return *sim.LinkConfig // and back; nil is Link without its loss

	Policy string // see tcp.ParseConfig; "" is tcptimers.DefaultPolicy
	Verify bool   // sets World.Verify
}

// Flows is a running FlowsConfig.
type Flows struct {
	World            *World
	Sender, Receiver *Host

	plan      FlowsConfig
	dialled   int
	completed int // flows with all bytes and the FIN acknowledged, and the peer's FIN received
	failed    int
	alarm     wheel.Timer
	dialErr   error
}

// The receiver's ports. Each serves this many flows, for which the sender has ports.
const (
	flowPort     = 5001
	flowsPerPort = 20_000
)

// NewFlows sets up the scenario at time 0. Receive buffers grow to 64 MiB.
func NewFlows(p FlowsConfig) (*Flows, error) {
	conn, err := tcp.ParseConfig(cmp.Or(p.Policy, tcptimers.DefaultPolicy))
	if err != nil {
		return nil, err
	}
	conn.RecvBufferMax = 64 << 20
	w, err := NewWorld(sim.Config{Seed: p.Seed})
	if err != nil {
		return nil, err
	}
	w.Verify = p.Verify
	f := &Flows{World: w, plan: p}
	for side, h := range []**Host{&f.Sender, &f.Receiver} {
		cfg := tcp.EngineConfig{Conn: conn, Seed: p.Seed + uint64(side)*0x9e3779b97f4a7c15}
		cfg.Key[0] = byte(side)
		if *h, err = w.NewHost(netip.AddrFrom4([4]byte{10, byte(side + 1), 0, 1}), cfg); err != nil {
			return nil, err
		}
	}
	back := p.Link
	back.Loss = nil
	if p.Return != nil {
		back = *p.Return
	}
	if _, _, err := w.Join("s1", f.Sender, "r1", f.Receiver, p.Link, back); err != nil {
		return nil, err
	}
	for i := 0; i < p.Flows; i += flowsPerPort {
		err := f.Receiver.Listen(uint16(flowPort+i/flowsPerPort), tcp.ListenConfig{Backlog: p.Flows}, func() App { return &drain{} })
		if err != nil {
			return nil, err
		}
	}
	f.alarm = w.Net.NewTimer(f)
	w.Net.StartTimer(f.alarm, 0)
	return f, nil
}

// Expire implements sim.Handler. It dials the flows that are due.
func (f *Flows) Expire(now wheel.Time) {
	for f.dialled < f.plan.Flows {
		at := wheel.Time(f.plan.Stagger / time.Duration(f.plan.Flows) * time.Duration(f.dialled))
		if at > now {
			f.World.Net.StartTimer(f.alarm, at)
			return
		}
		port := uint16(flowPort + f.dialled/flowsPerPort)
		f.dialled++
		if _, err := f.Sender.Dial(f.Receiver, port, nil, &flowApp{flows: f, bulk: Bulk{Bytes: f.plan.Bytes, Finish: true}}); err != nil {
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

// Completed returns the number of flows that have ended well.
func (f *Flows) Completed() int { return f.completed }

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
