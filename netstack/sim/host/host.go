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

	out sim.LinkID

	listeners map[uint16]*listener
	ephemeral uint16

	// The network's timer, if armed, runs at wakeAt, at or before the engine's next timeout. It
	// stays when the timeout moves later, as most calls do: a useless wake-up costs less than
	// moving it each time.
	timer  wheel.Timer
	wakeAt wheel.Time
	armed  bool

	notices    []tcp.Notice // not delivered yet
	delivering bool         // notices are being delivered

	counts Counts
	in     tcp.Packet // scratch
	dg     Datagram   // scratch
}

// Counts are a host's own counters, in addition to its engine's.
type Counts struct {
	DataSegments uint64 // segments with payload that arrived intact
	IPErrors     uint64 // datagrams that IP dropped: corrupted, or for another host
	BadChecksums uint64 // segments that TCP's checksum dropped
	Unrouted     uint64 // segments to unknown addresses
	Readable     uint64 // bytes that became readable
}

// listener is a listening port. serve makes an application for each connection.
type listener struct {
	tcp   *tcp.Listener
	serve func() App
}

const (
	firstEphemeral = 32768
	lastEphemeral  = 60999
)

// Engine returns the engine. After changing it, call Flush.
func (h *Host) Engine() *tcp.Engine { return h.engine }

// ID returns the host's node.
func (h *Host) ID() sim.NodeID { return h.id }

// Counts returns the host's counters.
func (h *Host) Counts() Counts { return h.counts }

// Counters returns the engine's counters. They include segments dropped for a bad checksum, which
// the engine does not see.
func (h *Host) Counters() tcp.Counters {
	c := h.engine.Counters()
	c.InSegs += h.counts.BadChecksums
	c.InErrs += h.counts.BadChecksums
	c.InCsumErrors += h.counts.BadChecksums
	return c
}

// Listen accepts connections to the port. serve is called once for each and returns its
// application.
func (h *Host) Listen(port uint16, cfg tcp.ListenConfig, serve func() App) error {
	l, err := h.engine.Listen(netip.AddrPortFrom(h.addr, port), cfg)
	if err != nil {
		return err
	}
	h.listeners[port] = &listener{l, serve}
	return nil
}

// Dial opens a connection to a port of another host from an ephemeral port. A nil cfg is the
// engine's.
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
		switch effectOfFlip(h.ipLen == ipv6Len, d.Bit) {
		case droppedByIP:
			h.counts.IPErrors++
			return
		case droppedByTCP:
			h.counts.BadChecksums++
			return
		case changesECN:
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
	in.Header = b.Header
	in.Len, in.CE = b.Len, ecn == sim.CE
	if socket, v := h.engine.Input(now, in); socket != nil && v.Len|v.InOrder != 0 {
		h.session(socket).receive(b, v)
	}
	h.Flush()
}

// Expire implements sim.Handler: the host's timer has expired.
func (h *Host) Expire(now wheel.Time) {
	h.armed = false
	h.engine.Advance(now)
	h.Flush()
}

// Flush sends the engine's packets, reports events to applications, and sets the timer.
// Applications may call it through their sessions; the events that this causes are reported after
// they return.
func (h *Host) Flush() {
	h.send()
	if h.delivering {
		return
	}
	h.delivering = true
	for i := 0; i < len(h.notices); i++ {
		n := h.notices[i]
		h.deliver(n)
	}
	h.notices = h.notices[:0]
	h.delivering = false
	if at, ok := h.engine.NextTimeout(); ok && (!h.armed || at < h.wakeAt) {
		h.armed, h.wakeAt = true, at
		h.world.Net.StartTimer(h.timer, at)
	}
}

// send takes packets and notices from the engine.
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
	d.Body.Header = p.Header
	d.Body.Offset, d.Body.Len = p.Offset, p.Len
	d.Start, d.End, d.Attempt = p.Offset, p.Offset+uint64(p.Len), uint32(p.Rexmit)+1
	d.Size = h.ipLen + uint32(p.Header.HeaderLen()) + p.Len
	d.ECN = sim.NotECT
	if p.ECT {
		d.ECN = sim.ECT0
	}
	h.world.Net.Send(h.out, d)
}

// deliver passes a notice to its session, and accepts the session first if it is new.
func (h *Host) deliver(n tcp.Notice) {
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
	s.deliver(n.Events)
}
