package testbed

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Star is one client and many servers around a switch. The servers share the switch's port to the
// client.
type Star struct {
	World   *host.World
	Client  *host.Host
	Servers []*host.Host
	Links   *sim.Topology
}

// StarPlan configures a Star.
type StarPlan struct {
	Seed           uint64
	Client, Server tcp.Config
	Servers        int
	Access         sim.LinkConfig // between a server and the switch, in both directions
	Port           sim.LinkConfig // from the switch to the client, with the shared buffer
	Back           sim.LinkConfig // from the client to the switch
	Trace          tcp.Tracer     // of the servers; nil is none
}

// NewStar makes a Star at time 0.
func NewStar(p StarPlan) (*Star, error) {
	w, err := host.NewWorld(sim.Config{Seed: p.Seed})
	if err != nil {
		return nil, err
	}
	make := func(i int, cfg tcp.Config, trace tcp.Tracer) (*host.Host, error) {
		return w.NewHost(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), tcp.EngineConfig{
			Conn: cfg, Seed: Key(p.Seed, 0x5eed, uint64(i)), Trace: trace,
			Key: [16]byte{0: byte(i), 1: byte(i >> 8), 2: byte(p.Seed), 3: byte(p.Seed >> 8), 4: 1},
		})
	}
	s := &Star{World: w}
	if s.Client, err = make(1, p.Client, nil); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	var nodes []sim.Node[host.Body]
	for i := range p.Servers {
		h, err := make(i+2, p.Server, p.Trace)
		if err != nil {
			return nil, fmt.Errorf("server %d: %w", i+1, err)
		}
		s.Servers, nodes = append(s.Servers, h), append(nodes, h)
	}
	plan := sim.TopologyConfig{Kind: "star", Senders: p.Servers, Access: []sim.LinkConfig{p.Access}, Bottleneck: p.Port,
		Return: &p.Back}
	if s.Links, err = sim.Build(w.Net, plan, nodes, []sim.Node[host.Body]{s.Client}); err != nil {
		return nil, err
	}
	if err := w.Attach(s.Client, s.Links.Receivers[0], s.Links.ReceiverOut[0]); err != nil {
		return nil, err
	}
	for i, h := range s.Servers {
		if err := w.Attach(h, s.Links.Senders[i], s.Links.SenderOut[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Counters returns the sum of the counters of all servers.
func (s *Star) Counters() (sum tcp.Counters) {
	for _, h := range s.Servers {
		c := h.Counters()
		sum.Add(&c)
	}
	return sum
}

// Dumbbell is pairs of a sender and a receiver whose packets share a bottleneck.
type Dumbbell struct {
	World              *host.World
	Senders, Receivers []*host.Host
	Links              *sim.Topology
}

// DumbbellPlan configures a Dumbbell.
type DumbbellPlan struct {
	Seed  uint64
	Pairs int
	// Host returns the address and engine of a host. Side 0 sends.
	Host func(side, pair int) (netip.Addr, tcp.EngineConfig)
	// Access has a link for each pair, or one for all. Return is the bottleneck's way back, nil for
	// the same. See sim.TopologyConfig.
	Access     []sim.LinkConfig
	Bottleneck sim.LinkConfig
	Return     *sim.LinkConfig
	Serve      func() host.App // a receiver's program of a connection to ServePort
	Verify     bool            // check that each byte arrives once and in order
	// Source and Sink, if not nil, are a further pair without TCP.
	Source, Sink sim.Node[host.Body]
}

// NewDumbbell makes a Dumbbell at time 0.
func NewDumbbell(p DumbbellPlan) (*Dumbbell, error) {
	w, err := host.NewWorld(sim.Config{Seed: p.Seed})
	if err != nil {
		return nil, err
	}
	w.Verify = p.Verify
	d := &Dumbbell{World: w}
	var nodes [2][]sim.Node[host.Body]
	for pair := range p.Pairs {
		for side, hosts := range []*[]*host.Host{&d.Senders, &d.Receivers} {
			h, err := w.NewHost(p.Host(side, pair))
			if err != nil {
				return nil, fmt.Errorf("pair %d, side %d: %w", pair, side, err)
			}
			*hosts, nodes[side] = append(*hosts, h), append(nodes[side], h)
		}
	}
	if p.Source != nil {
		nodes[0], nodes[1] = append(nodes[0], p.Source), append(nodes[1], p.Sink)
	}
	if d.Links, err = sim.Build(w.Net, sim.TopologyConfig{Kind: "dumbbell", Senders: len(nodes[0]), Access: p.Access,
		Bottleneck: p.Bottleneck, Return: p.Return}, nodes[0], nodes[1]); err != nil {
		return nil, err
	}
	for i, sender := range d.Senders {
		if err := w.Attach(sender, d.Links.Senders[i], d.Links.SenderOut[i]); err != nil {
			return nil, err
		}
		if err := w.Attach(d.Receivers[i], d.Links.Receivers[i], d.Links.ReceiverOut[i]); err != nil {
			return nil, err
		}
		if err := d.Receivers[i].Listen(ServePort, tcp.ListenConfig{Backlog: 1024}, p.Serve); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Pair is two hosts with a link between them.
type Pair struct {
	World          *host.World
	Client, Server *host.Host
	Records        [2]Record // of the client and the server
}

// PairPlan configures a Pair.
type PairPlan struct {
	Seed           uint64
	Client, Server tcp.Config
	Scheme         string         // of the engines' wheels; "" is the default
	Up, Down       sim.LinkConfig // from the client to the server, and back
	MTU            int            // 0 is 1500
	Count          bool           // count the operations of the engines' wheels
	Trace          bool           // fill Records
	Tracers        [2]tcp.Tracer  // of the client and the server, in the place of Records
	Verify         bool           // check that each byte arrives once and in order
}

// NewPair sets up a pair at time 0.
func NewPair(p PairPlan) (*Pair, error) {
	w, err := host.NewWorld(sim.Config{Seed: p.Seed})
	if err != nil {
		return nil, err
	}
	w.Verify = p.Verify
	pair := &Pair{World: w}
	for side, cfg := range []tcp.Config{p.Client, p.Server} {
		engine := tcp.EngineConfig{
			Conn: cfg, Scheme: p.Scheme, MTU: p.MTU, Seed: Key(p.Seed, 0x5eed, uint64(side)),
			Key: [16]byte{0: byte(side + 1), 1: byte(p.Seed), 2: byte(p.Seed >> 8)},
		}
		engine.Count = p.Count
		if p.Tracers[side] != nil {
			engine.Trace = p.Tracers[side]
		} else if p.Trace {
			engine.Trace = &pair.Records[side]
		}
		h, err := w.NewHost(netip.AddrFrom4([4]byte{10, 0, 0, byte(side + 1)}), engine)
		if err != nil {
			return nil, fmt.Errorf("side %d: %w", side, err)
		}
		if side == 0 {
			pair.Client = h
		} else {
			pair.Server = h
		}
	}
	if _, _, err := w.Join("client", pair.Client, "server", pair.Server, p.Up, p.Down); err != nil {
		return nil, err
	}
	return pair, nil
}

// Run advances the clock to an instant.
func (p *Pair) Run(until wheel.Time) { p.World.Net.Run(until) }

// RunFor advances the clock by a span.
func (p *Pair) RunFor(d time.Duration) { p.Run(p.World.Net.Now().Add(d)) }

// Connect opens a connection to a server that reads all data. The caller writes through the
// session.
func (p *Pair) Connect() (*host.Session, error) {
	if err := p.Server.Listen(80, tcp.ListenConfig{Backlog: 1}, func() host.App { return &host.Sink{} }); err != nil {
		return nil, err
	}
	return p.Client.Dial(p.Server, 80, nil, host.AppFunc(func(wheel.Time, *host.Session, tcp.Events) {}))
}
