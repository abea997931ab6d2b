package track

import (
	"net/netip"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// lab builds a capture by hand, made at host a, of connections with b.
type lab struct {
	t     *testing.T
	cfg   Config
	tr    *Tracker
	conns []*Conn
	n     int64
	a, b  netip.AddrPort
	isn   [2]tcp.Seq
}

func newLab(t *testing.T, cfg Config) *lab {
	l := &lab{t: t, cfg: cfg, a: netip.MustParseAddrPort("192.0.2.1:4000"), b: netip.MustParseAddrPort("198.51.100.1:80"), isn: [2]tcp.Seq{1 << 31, 7}}
	cfg.Done = func(c *Conn) { l.conns = append(l.conns, c) }
	l.tr = New(cfg)
	return l
}

// option changes a packet.
type option func(p *capture.Packet)

func withFlags(f tcp.Flags) option      { return func(p *capture.Packet) { p.Header.Flags = f } }
func withWindow(n uint16) option        { return func(p *capture.Packet) { p.Header.Window = n } }
func withID(id uint32) option           { return func(p *capture.Packet) { p.HasID, p.ID = true, id } }
func withStamps(val, ecr uint32) option { return func(p *capture.Packet) { setStamps(p, val, ecr) } }
func withPath(n uint64) option          { return func(p *capture.Packet) { p.Path = n } }
func withPort(n uint16) option          { return func(p *capture.Packet) { setPort(p, n) } }
func sacks(ranges ...[2]tcp.Seq) option {
	return func(p *capture.Packet) {
		for _, r := range ranges {
			o := &p.Header.Options
			o.SACK[o.NumSACK] = tcp.SeqRange{Start: p.Header.Ack - tcp.Seq(0) + r[0], End: p.Header.Ack + r[1]}
			o.NumSACK++
		}
	}
}

func setStamps(p *capture.Packet, val, ecr uint32) {
	p.Header.Options.HasTimestamps, p.Header.Options.TSVal, p.Header.Options.TSEcr = true, val, ecr
}

// setPort changes the client's port.
func setPort(p *capture.Packet, n uint16) {
	if p.Src.Port() != 80 {
		p.Src = netip.AddrPortFrom(p.Src.Addr(), n)
	} else {
		p.Dst = netip.AddrPortFrom(p.Dst.Addr(), n)
	}
}

// send adds a packet of a or b at a time in ms. Numbers count from the ISN.
func (l *lab) send(at float64, fromA bool, seq, length, ack int, options ...option) {
	l.t.Helper()
	l.n++
	from, to, dir := l.a, l.b, 0
	if !fromA {
		from, to, dir = to, from, 1
	}
	p := capture.Packet{
		Number: l.n, Time: wheel.Time(time.Hour).Add(time.Duration(at * float64(time.Millisecond))), Src: from, Dst: to, TTL: 64, Len: uint32(length),
		Header: tcp.Header{Seq: l.isn[dir] + tcp.Seq(seq), Ack: l.isn[1-dir] + tcp.Seq(ack), Flags: tcp.ACK, Window: 1000},
	}
	if !fromA {
		p.TTL = 57
	}
	for _, o := range options {
		o(&p)
	}
	l.tr.Add(&p)
}

// open adds a handshake with an RTT of 50 ms.
func (l *lab) open(at float64, options ...option) {
	syn := func(p *capture.Packet) {
		o := &p.Header.Options
		o.HasMSS, o.MSS, o.SACKPermitted = true, 1460, true
	}
	l.send(at, true, 0, 0, 0, append([]option{withFlags(tcp.SYN), syn}, options...)...)
	l.send(at+50, false, 0, 0, 1, append([]option{withFlags(tcp.SYN | tcp.ACK), syn}, options...)...)
	l.send(at+50, true, 1, 0, 1, options...)
}

// done ends the capture and returns its connections.
func (l *lab) done(want int) []*Conn {
	l.t.Helper()
	l.tr.Close()
	if len(l.conns) != want {
		l.t.Fatalf("%d connections, want %d", len(l.conns), want)
	}
	return l.conns
}

// only returns the only episode of the first flow.
func (l *lab) only() *Episode {
	l.t.Helper()
	f := &l.done(1)[0].Flows[0]
	if len(f.Episodes) != 1 {
		l.t.Fatalf("%d episodes, want 1", len(f.Episodes))
	}
	return f.Episodes[0]
}

// wantClean fails on any retransmission.
func (l *lab) wantClean(conns int) []*Conn {
	l.t.Helper()
	for _, c := range l.done(conns) {
		for i := range c.Flows {
			if f := &c.Flows[i]; len(f.Episodes) > 0 || f.Retransmissions > 0 {
				l.t.Errorf("%v: %d episodes and %d retransmissions, want none", f.Src, len(f.Episodes), f.Retransmissions)
			}
		}
	}
	return l.conns
}
