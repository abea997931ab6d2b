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
