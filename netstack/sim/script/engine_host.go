package script

import (
	"fmt"
	"net/netip"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// engineHost is the simulator's host: tcp.Engine with sockets.
type engineHost struct {
	engine  *tcp.Engine
	now     wheel.Time
	ends    map[ends]*tcp.Socket // the latest connection between two addresses
	sockets map[*tcp.Socket]*engineSocket
	opened  []*tcp.Listener
	sent    []tcp.Packet
	first   map[*tcp.Socket]tcp.Seq // sequence number of the first byte
	fault   error                   // the first wrong packet or disposition
}

// ends are the addresses of a connection.
type ends struct{ local, remote netip.AddrPort }

// NewEngineHost makes the simulator's host.
func NewEngineHost(cfg HostConfig) (Host, error) {
	e, err := tcp.NewEngine(cfg.Now, cfg.Engine)
	if err != nil {
		return nil, err
	}
	return &engineHost{
		engine: e, now: cfg.Now,
		ends: map[ends]*tcp.Socket{}, sockets: map[*tcp.Socket]*engineSocket{}, first: map[*tcp.Socket]tcp.Seq{},
	}, nil
}

// settle takes the engine's output.
func (h *engineHost) settle() {
	for i := range h.engine.Packets() {
		p := h.engine.Packets()[i]
		h.check(&p)
		h.sent = append(h.sent, p)
	}
	for _, n := range h.engine.Notices() {
		h.socket(n.Socket).record(n.Events)
	}
	h.engine.Reset()
}

// check checks that a packet has the bytes of its sequence number, and only written ones.
func (h *engineHost) check(p *tcp.Packet) {
	if p.Socket == nil {
		return
	}
	h.ends[ends{p.Src, p.Dst}] = p.Socket
	if p.Header.Flags.Has(tcp.SYN) {
		h.first[p.Socket] = p.Header.Seq + 1
	}
	if p.Len == 0 || h.fault != nil {
		return
	}
	if s := h.socket(p.Socket); p.Offset+uint64(p.Len) > s.written {
		h.fault = fmt.Errorf("a packet carries bytes %d to %d of %d written", p.Offset, p.Offset+uint64(p.Len), s.written)
	} else if first, ok := h.first[p.Socket]; ok && p.Header.Seq != first.Add(uint32(p.Offset)) {
		h.fault = fmt.Errorf("a packet carries bytes from %d on at byte %d of the stream", p.Offset, p.Header.Seq.Sub(first))
	}
}

// socket returns the socket of a connection.
func (h *engineHost) socket(c *tcp.Socket) *engineSocket {
	s := h.sockets[c]
	if s == nil {
		s = &engineSocket{host: h, conn: c}
		h.sockets[c] = s
	}
	return s
}

func (h *engineHost) Advance(now wheel.Time) {
	h.now = now
	h.engine.Advance(now)
	h.settle()
}

func (h *engineHost) NextTimeout() (wheel.Time, bool) { return h.engine.NextTimeout() }

func (h *engineHost) Input(a *Arrival) {
	header, _, err := tcp.ParseHeader(a.Header)
	if err != nil {
		return // a host drops a malformed packet
	}
	s, d := h.engine.Input(h.now, &tcp.Packet{Src: a.Src, Dst: a.Dst, Header: header, Len: a.Len, CE: a.CE})
	if s != nil {
		h.ends[ends{a.Dst, a.Src}] = s
		if err := h.socket(s).arrived(d, a.Len); err != nil && h.fault == nil {
			h.fault = err
		}
	}
	h.settle()
}

func (h *engineHost) ICMP(local, remote netip.AddrPort, m tcp.ICMPError) {
	h.engine.ICMP(h.now, local, remote, m)
	h.settle()
}

func (h *engineHost) Packets() []tcp.Packet {
	sent := h.sent
	h.sent = nil
	return sent
}

func (h *engineHost) Info(local, remote netip.AddrPort) (tcp.Info, bool) {
	s := h.ends[ends{local, remote}]
	if s == nil {
		return tcp.Info{}, false
	}
	return s.Conn().Info(h.now), true
}

func (h *engineHost) Connections() (n int) {
	h.engine.Sockets(func(*tcp.Socket) { n++ })
	return n
}

func (h *engineHost) Counters() tcp.Counters { return h.engine.Counters() }

func (h *engineHost) Check() error {
	if h.fault != nil {
		return h.fault
	}
	return h.engine.Check()
}

func (h *engineHost) Close() error {
	var all []*tcp.Socket
	h.engine.Sockets(func(s *tcp.Socket) { all = append(all, s) })
	for _, s := range all {
		h.engine.Abort(h.now, s)
		h.settle()
	}
	for _, l := range h.opened {
		l.Close(h.now)
		h.settle()
	}
	if at, ok := h.engine.NextTimeout(); ok {
		return fmt.Errorf("all connections are aborted, and a timer remains at %v", at)
	}
	return h.Check()
}
