package tcp

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// hostile is a peer that sends arbitrary segments to a live engine, and checks the replies and what
// is taken.
type hostile struct {
	e    *Engine
	cfg  Config
	now  wheel.Time
	ends map[*Socket]*hostileEnd
	last *hostileEnd // the connection under attack

	sent    []Packet    // of the last call
	took    Disposition // of the last input
	takenBy *Socket
	events  Events // since the last look
}

// hostileEnd is what the peer knows about a connection from its segments.
type hostileEnd struct {
	s        *Socket
	iss      Seq
	nxt      Seq // the highest sent
	ack      Seq // and acknowledged
	edge     Seq // right edge of the window that it advertised
	wnd      uint32
	scale    uint8
	acks     bool   // ack and edge are valid
	readable uint64 // unread bytes
	tsval    uint32 // the last
}

var (
	hostileLocal  = netip.MustParseAddrPort("10.0.0.1:80")
	hostileRemote = netip.MustParseAddrPort("10.0.0.2:4000")
)

const hostileISS = Seq(1<<32 - 1000) // the peer's, so that its numbers wrap

// newHostile makes an engine that listens.
func newHostile(tb testing.TB, cfg Config, ecfg EngineConfig) *hostile {
	tb.Helper()
	if err := cfg.Check(); err != nil {
		tb.Fatal(err)
	}
	ecfg.Conn = cfg
	e, err := NewEngine(0, ecfg)
	if err != nil {
		tb.Fatal(err)
	}
	return &hostile{e: e, cfg: cfg, ends: map[*Socket]*hostileEnd{}}
}

// hostileConfig is the configuration of most tests here.
func hostileConfig() Config {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	cfg.RecvBuffer, cfg.RecvBufferMax = 100_000, 0
	return cfg
}

// collect processes the results of a call.
func (h *hostile) collect() {
	h.sent = append(h.sent[:0], h.e.Packets()...)
	for i := range h.sent {
		h.look(&h.sent[i])
	}
	for _, n := range h.e.Notices() {
		h.events |= n.Events
		if n.Events.Has(EventClosed) {
			delete(h.ends, n.Socket)
			if h.last != nil && h.last.s == n.Socket {
				h.last = nil
			}
		}
	}
	h.e.Reset()
}

func (h *hostile) end(s *Socket) *hostileEnd {
	if s == nil {
		return nil
	}
	if h.ends[s] == nil {
		h.ends[s] = &hostileEnd{s: s}
		h.last = h.ends[s]
	}
	return h.ends[s]
}

// look updates the peer's knowledge from a packet.
func (h *hostile) look(p *Packet) {
	x := h.end(p.Socket)
	if x == nil || p.Header.Flags.Has(RST) {
		return
	}
	end := p.Header.Seq.Add(p.Len)
	if p.Header.Flags.Has(SYN) {
		end = end.Add(1)
		x.iss, x.nxt = p.Header.Seq, end
		x.scale = p.Header.Options.WScale
	}
	if p.Header.Flags.Has(FIN) {
		end = end.Add(1)
	}
	x.nxt = MaxSeq(x.nxt, end)
	x.tsval = p.Header.Options.TSVal
	if !p.Header.Flags.Has(ACK) {
		return
	}
	x.wnd = uint32(p.Header.Window) << x.scale
	if p.Header.Flags.Has(SYN) {
		x.wnd = uint32(p.Header.Window)
	}
	x.ack = p.Header.Ack
	if edge := x.ack.Add(x.wnd); !x.acks || edge.After(x.edge) {
		x.edge = edge
	}
	x.acks = true
}

// input sends a segment to the engine.
func (h *hostile) input(hd Header, n uint32) {
	before := map[*Socket]hostileEnd{}
	for s, x := range h.ends {
		before[s] = *x
	}
	s, v := h.e.Input(h.now, &Packet{Src: hostileRemote, Dst: hostileLocal, Header: hd, Len: n})
	h.took, h.takenBy = v, s
	if s != nil {
		h.end(s).readable += uint64(v.InOrder)
	}
	h.collect()
	if err := h.checkDisposition(before[s], s, hd, n, v); err != nil {
		panic(err)
	}
}

// checkDisposition returns what is wrong with a disposition, given what the engine had told the
// peer before.
func (h *hostile) checkDisposition(x hostileEnd, s *Socket, hd Header, n uint32, v Disposition) error {
	most := max(h.cfg.RecvBuffer, h.cfg.RecvBufferMax)
	switch {
	case s == nil && v != (Disposition{}):
		return fmt.Errorf("disposition %+v without a connection", v)
	case v.Offset+v.Len > n:
		return fmt.Errorf("disposition %+v on %d bytes", v, n)
	case v.InOrder > most:
		return fmt.Errorf("disposition %+v with a buffer of %d", v, most)
	case v.Len == 0:
		return nil
	}
	from := hd.Seq.Add(v.Offset)
	if hd.Flags.Has(SYN) {
		from = from.Add(1)
	}
	if x.acks && from.Add(v.Len).After(x.edge) {
		return fmt.Errorf("bytes up to %d were taken, %d after the window", from.Add(v.Len), from.Add(v.Len).Sub(x.edge))
	}
	if e := h.ends[s]; e != nil && e.readable > uint64(most) {
		return fmt.Errorf("%d bytes are readable, with a buffer of %d", e.readable, most)
	}
	return nil
}

// advance advances time, by at most so many wake-ups.
func (h *hostile) advance(d time.Duration, wakeups int) {
	until := h.now.Add(d)
	for range wakeups {
		at, ok := h.e.NextTimeout()
		if !ok || at > until {
			break
		}
		h.now = max(h.now, at)
		h.e.Advance(h.now)
		h.collect()
	}
	if at, ok := h.e.NextTimeout(); !ok || at > until {
		h.now = until
	}
}

// connect opens a proper connection from the peer, with a window of wnd bytes.
func (h *hostile) connect(tb testing.TB, wnd uint16, opts Options) *hostileEnd {
	tb.Helper()
	l, err := h.e.Listen(hostileLocal, ListenConfig{Backlog: 4})
	if err != nil {
		tb.Fatal(err)
	}
	h.input(Header{SrcPort: 4000, DstPort: 80, Seq: hostileISS, Flags: SYN, Window: wnd, Options: opts}, 0)
	if len(h.sent) != 1 || !h.sent[0].Header.Flags.Has(SYN|ACK) {
		tb.Fatalf("the SYN is answered by %+v, want a SYN-ACK", h.sent)
	}
	p := h.sent[0]
	ack := Header{SrcPort: 4000, DstPort: 80, Seq: hostileISS.Add(1), Ack: p.Header.Seq.Add(1), Flags: ACK, Window: wnd}
	if opts.HasTimestamps && p.Header.Options.HasTimestamps {
		ack.Options = Options{HasTimestamps: true, TSVal: opts.TSVal, TSEcr: p.Header.Options.TSVal}
	}
	h.input(ack, 0)
	s, ok := l.Accept()
	if !ok {
		tb.Fatal("nothing to accept after the handshake")
	}
	if s.Conn().State() != StateEstablished {
		tb.Fatalf("state %v, want ESTABLISHED", s.Conn().State())
	}
	h.events = 0
	return h.end(s)
}

// ack sends an ACK.
func (h *hostile) ack(x *hostileEnd, ack Seq, wnd uint16, blocks ...SeqRange) {
	hd := Header{SrcPort: 4000, DstPort: 80, Seq: hostileISS.Add(1), Ack: ack, Flags: ACK, Window: wnd}
	for _, b := range blocks {
		hd.Options.SACK[hd.Options.NumSACK] = b
		hd.Options.NumSACK++
	}
	h.input(hd, 0)
}
