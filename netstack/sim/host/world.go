package host

import (
	"fmt"
	"net/netip"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
)

// World is a virtual network with hosts.
type World struct {
	Net *sim.Network[Body]

	// Verify makes each host check that every byte becomes readable once and in order. It takes
	// some time. Set it before anything runs.
	Verify bool

	addrs  []netip.Addr // by node
	nodes  map[netip.Addr]sim.NodeID
	faults []error
}

// maxFaults bounds the kept faults.
const maxFaults = 16

// NewWorld makes a network without hosts.
func NewWorld(cfg sim.Config) (*World, error) {
	net, err := sim.NewNetwork[Body](cfg)
	if err != nil {
		return nil, err
	}
	return &World{Net: net, nodes: map[netip.Addr]sim.NodeID{}}, nil
}

// NewHost makes a host that is not attached yet. Its engine starts at the network's time.
func (w *World) NewHost(addr netip.Addr, cfg tcp.EngineConfig) (*Host, error) {
	if !addr.IsValid() || addr.IsUnspecified() || addr.Is4In6() {
		return nil, fmt.Errorf("host: address %v, want one of a host", addr)
	}
	engine, err := tcp.NewEngine(w.Net.Now(), cfg)
	if err != nil {
		return nil, err
	}
	h := &Host{
		world: w, engine: engine, addr: addr, ipLen: ipv4Len,
		listeners: map[uint16]*listener{}, ephemeral: firstEphemeral,
	}
	if addr.Is6() {
		h.ipLen = ipv6Len
	}
	h.timer = w.Net.NewTimer(h)
	return h, nil
}

// Attach makes h the node of that number, with the link out for sending. It fails if the address is
// taken.
func (w *World) Attach(h *Host, id sim.NodeID, out sim.LinkID) error {
	if other, taken := w.nodes[h.addr]; taken && other != id {
		return fmt.Errorf("host: address %v is that of node %d already", h.addr, other)
	}
	for int(id) >= len(w.addrs) {
		w.addrs = append(w.addrs, netip.Addr{})
	}
	w.addrs[id] = h.addr
	w.nodes[h.addr] = id
	h.id, h.out = id, out
	return nil
}

// Join adds two hosts as nodes with these names and links them.
func (w *World) Join(aName string, a *Host, bName string, b *Host, there, back sim.LinkConfig) (ab, ba sim.LinkID, err error) {
	aID, err := w.Net.AddNode(aName, a)
	if err != nil {
		return 0, 0, err
	}
	bID, err := w.Net.AddNode(bName, b)
	if err != nil {
		return 0, 0, err
	}
	if ab, ba, err = w.Net.Connect(aID, bID, there, back); err != nil {
		return 0, 0, err
	}
	if err = w.Attach(a, aID, ab); err == nil {
		err = w.Attach(b, bID, ba)
	}
	return ab, ba, err
}

// Addr returns the address of a node, or the zero Addr if it is no host.
func (w *World) Addr(id sim.NodeID) netip.Addr {
	if int(id) >= len(w.addrs) {
		return netip.Addr{}
	}
	return w.addrs[id]
}

// Faults returns the first 16 violations of what must always hold, such as bytes at a wrong
// position.
func (w *World) Faults() []error { return w.faults }

// fault records a fault of a host.
func (w *World) fault(h *Host, format string, args ...any) {
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, fmt.Errorf("host %v at %d ns: %w", h.addr, int64(w.Net.Now()), fmt.Errorf(format, args...)))
	}
}
