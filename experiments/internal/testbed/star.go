package testbed

import (
	"fmt"
	"net/netip"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
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
