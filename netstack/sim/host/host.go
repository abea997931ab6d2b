package host

import (
	"fmt"
	"net/netip"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Host is a node with a TCP engine.
type Host struct {
	world  *World
	engine *tcp.Engine
	id     sim.NodeID
	addr   netip.Addr
	ipLen  uint32

	out    sim.LinkID   // the route to all that routes does not name
	routes []sim.LinkID // link + 1 for each node; 0 is no route of its own

	listeners map[uint16]*listener
	ephemeral uint16

	// The network's timer runs at wakeAt if it is armed, which is not after the engine's next timeout. It is not put off when
	// that is: most calls put it off, and one wake-up too many costs less than that.
	timer  wheel.Timer
	wakeAt wheel.Time
	armed  bool

	notices []tcp.Notice // to be delivered
	busy    bool         // they are being delivered

	counts Counts
	in     tcp.Packet // scratch
	dg     Datagram   // scratch
}

// Counts are what a host has counted beside its engine.
type Counts struct {
	DataSegments uint64 `json:"data_segments"` // segments with payload that arrived whole
	IPErrors     uint64 `json:"ip_errors"`     // datagrams that IP dropped: corrupted, or for another host
	BadChecksums uint64 `json:"bad_checksums"` // and those that TCP's checksum told from others
	Unrouted     uint64 `json:"unrouted"`      // segments to addresses that no host has
	Readable     uint64 `json:"readable"`      // octets that became readable
}

// listener is a listening port, and who serves the connections to it.
type listener struct {
	tcp   *tcp.Listener
	serve func() App
}

const (
	firstEphemeral = 32768
	lastEphemeral  = 60999
)

// Engine returns the engine, to be asked. Who calls what changes it must call Flush after it.
func (h *Host) Engine() *tcp.Engine { return h.engine }

// World returns the world that the host is in.
func (h *Host) World() *World { return h.world }

// Addr returns the address.
func (h *Host) Addr() netip.Addr { return h.addr }

// ID returns the node that the host is.
func (h *Host) ID() sim.NodeID { return h.id }

// Counts returns what was counted.
func (h *Host) Counts() Counts { return h.counts }

// Counters returns the engine's counters, and with them the segments that never came to it because of their checksum.
func (h *Host) Counters() tcp.Counters {
	c := h.engine.Counters()
	c.InSegs += h.counts.BadChecksums
	c.InErrs += h.counts.BadChecksums
	c.InCsumErrors += h.counts.BadChecksums
	return c
}

// Route has datagrams for a node leave by that link.
func (h *Host) Route(to sim.NodeID, via sim.LinkID) {
	for int(to) >= len(h.routes) {
		h.routes = append(h.routes, 0)
	}
	h.routes[to] = via + 1
}

// Listen has connections to the port served by what serve returns, which is called for each.
func (h *Host) Listen(port uint16, cfg tcp.ListenConfig, serve func() App) error {
	l, err := h.engine.Listen(netip.AddrPortFrom(h.addr, port), cfg)
	if err != nil {
		return err
	}
	h.listeners[port] = &listener{l, serve}
	return nil
}

// Dial opens a connection to a port of another host, from a port of its own choice. cfg nil is the engine's.
func (h *Host) Dial(to *Host, port uint16, cfg *tcp.Config, app App) (*Session, error) {
	for range lastEphemeral - firstEphemeral {
		local := h.ephemeral
		if h.ephemeral++; h.ephemeral > lastEphemeral {
			h.ephemeral = firstEphemeral
		}
		if s, err := h.DialFrom(local, to, port, cfg, app); err == nil {
			return s, nil
		} else if local == lastEphemeral {
			return nil, err
		}
	}
	return nil, fmt.Errorf("host: no port left of %d to %d", firstEphemeral, lastEphemeral)
}

// DialFrom opens a connection from a port to a port of another host.
func (h *Host) DialFrom(local uint16, to *Host, port uint16, cfg *tcp.Config, app App) (*Session, error) {
	now := h.world.Net.Now()
	socket, err := h.engine.Dial(now, netip.AddrPortFrom(h.addr, local), netip.AddrPortFrom(to.addr, port), cfg)
	if err != nil {
		return nil, err
	}
	s := h.session(socket)
	s.App = app
	h.Flush()
	return s, nil
}

// Receive implements sim.Node.
func (h *Host) Receive(now wheel.Time, _ sim.LinkID, d *Datagram) {
	if d.To != h.id {
		h.counts.IPErrors++
		return
	}
	ecn := d.ECN
	if d.Corrupt {
		switch harmOf(h.ipLen == ipv6Len, d.Bit) {
		case harmsIP:
			h.counts.IPErrors++
			return
		case harmsTCP:
			h.counts.BadChecksums++
			return
		case harmsMarks:
			ecn ^= 1 << (11 - d.Bit)
		}
	}
	b := &d.Body
	if b.Len > 0 {
		h.counts.DataSegments++
	}
	in := &h.in
	in.Src = netip.AddrPortFrom(h.world.Addr(d.From), b.Header.SrcPort)
	in.Dst = netip.AddrPortFrom(h.addr, b.Header.DstPort)
	in.Header, in.Len, in.CE = b.Header, b.Len, ecn == sim.CE
	if socket, v := h.engine.Input(now, in); socket != nil && v.Len|v.InOrder != 0 {
		h.session(socket).take(b, v)
	}
	h.Flush()
}

// Expire implements sim.Handler: the network's timer has expired.
func (h *Host) Expire(now wheel.Time) {
	h.armed = false
	h.engine.Advance(now)
	h.Flush()
}

// Flush carries out what the engine left behind: it sends the packets, tells applications what has happened, and sets the
// timer. An application may call it through its session: what it causes is told after it has returned.
func (h *Host) Flush() {
	h.send()
	if h.busy {
		return
	}
	h.busy = true
	for i := 0; i < len(h.notices); i++ {
		n := h.notices[i]
		h.tell(n)
	}
	h.notices = h.notices[:0]
	h.busy = false
	if at, ok := h.engine.NextTimeout(); ok && (!h.armed || at < h.wakeAt) {
		h.armed, h.wakeAt = true, at
		h.world.Net.StartTimer(h.timer, at)
	}
}

// send takes packets and notices out of the engine.
func (h *Host) send() {
	packets := h.engine.Packets()
	for i := range packets {
		h.transmit(&packets[i])
	}
	h.notices = append(h.notices, h.engine.Notices()...)
	h.engine.Reset()
}

func (h *Host) transmit(p *tcp.Packet) {
	to, ok := sim.NodeID(0), false
	if p.Socket != nil {
		if s, has := p.Socket.User.(*Session); has {
			to, ok = s.peer, s.routed
		}
	}
	if !ok {
		if to, ok = h.world.nodes[p.Dst.Addr()]; !ok {
			h.counts.Unrouted++
			return
		}
	}
	d := &h.dg
	d.From, d.To = h.id, to
	d.Body.Header, d.Body.Offset, d.Body.Len = p.Header, p.Offset, p.Len
	d.Start, d.End, d.Attempt = p.Offset, p.Offset+uint64(p.Len), uint32(p.Rexmit)+1
	d.Size = h.ipLen + uint32(p.Header.HeaderLen()) + p.Len
	d.ECN = sim.NotECT
	if p.ECT {
		d.ECN = sim.ECT0
	}
	via := h.out
	if int(to) < len(h.routes) && h.routes[to] != 0 {
		via = h.routes[to] - 1
	}
	h.world.Net.Send(via, d)
}

// tell delivers a notice.
func (h *Host) tell(n tcp.Notice) {
	s, ok := n.Socket.User.(*Session)
	if !ok || s.App == nil && n.Events.Has(tcp.EventConnected) {
		if l := h.listeners[n.Socket.Local().Port()]; l != nil {
			for {
				socket, ok := l.tcp.Accept()
				if !ok {
					break
				}
				h.session(socket).App = l.serve()
			}
		}
		s = h.session(n.Socket)
	}
	s.tell(n.Events)
}
