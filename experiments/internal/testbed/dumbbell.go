package testbed

import (
	"fmt"
	"net/netip"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
)

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
