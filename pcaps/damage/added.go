package damage

import (
	"encoding/binary"
	"net/netip"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// guests are connections that a damage adds. They look like the first plain packet of the capture,
// and go to where it went.
type guests struct {
	like   *Packet
	packet int64
	n      int
}

// guest is an added connection.
type guest struct {
	*job
	like           *Packet
	client, server netip.AddrPort
	seq            [2]tcp.Seq // of the client and the server
	id             uint16
	start          wheel.Time
}

// addGuest passes the packet, and calls f for a new connection each so many packets.
func (j *job) addGuest(p *Packet, f func(g *guest)) error {
	s, _ := j.state.(*guests)
	if s == nil {
		s = &guests{}
		j.state = s
	}
	if s.like == nil && p.plain() {
		s.like = p
	}
	if err := j.pass(p); err != nil {
		return err
	}
	if s.packet++; s.like == nil || s.packet%j.value.n != 0 {
		return nil
	}
	from := []byte{198, 19, byte(s.n >> 8), byte(s.n)}
	if s.like.at.v6 {
		from = append(append([]byte{0x20, 0x01, 0, 2}, make([]byte, 10)...), byte(s.n>>8), byte(s.n))
	}
	client, _ := netip.AddrFromSlice(from)
	f(&guest{
		job: j, like: s.like, id: uint16(j.rng.Uint32()), start: p.Time,
		client: netip.AddrPortFrom(client, 20_000+uint16(s.n%40_000)),
		server: netip.AddrPortFrom(s.like.Segment.Dst.Addr(), 9), // discard
		seq:    [2]tcp.Seq{tcp.Seq(j.rng.Uint32()), tcp.Seq(j.rng.Uint32())},
	})
	s.n++
	return nil
}

// send adds a segment of the client (0) or the server (1), so long after the start. Sequence
// numbers count from the SYN, which is 0.
func (g *guest) send(after time.Duration, end int, flags tcp.Flags, seq, ack, size uint32) []byte {
	src, dst := g.client, g.server
	if end == 1 {
		src, dst = dst, src
	}
	h := tcp.Header{SrcPort: src.Port(), DstPort: dst.Port(), Seq: g.seq[end].Add(seq), Flags: flags, Window: 65_000}
	if flags.Has(tcp.ACK) {
		h.Ack = g.seq[1-end].Add(ack)
	}
	if flags.Has(tcp.SYN) {
		h.Options = tcp.Options{HasMSS: true, MSS: 1400}
	}
	b := append(h.AppendTo(nil), make([]byte, size)...)
	tcp.SetChecksum(src.Addr(), dst.Addr(), b)
	return g.ip(after, src.Addr(), dst.Addr(), protoTCP, b)
}

// ip adds an IP packet and returns it.
func (g *guest) ip(after time.Duration, src, dst netip.Addr, protocol byte, payload []byte) []byte {
	if src.Is4() {
		g.id++
	}
	b := append(ipHeader(src, dst, protocol, g.id, len(payload)), payload...)
	data := append(append([]byte(nil), g.like.Data[:g.like.at.ip]...), b...)
	g.add(&Packet{Added: true, Frame: capture.Frame{
		Time: g.start.Add(after), Data: data, Length: uint32(len(data)), LinkType: g.like.LinkType, Interface: g.like.Interface,
		Device: g.like.Device,
	}})
	return b
}

// synTimes are when Linux sends a SYN: after 1 s, and twice as long each time.
var synTimes = []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}

// addUnanswered adds SYNs.
func addUnanswered(j *job, p *Packet) error {
	return j.addGuest(p, func(g *guest) {
		for _, at := range synTimes {
			g.send(at, 0, tcp.SYN, 0, 0, 0)
		}
	})
}

// addRefused adds SYNs with a RST each.
func addRefused(j *job, p *Packet) error {
	return j.addGuest(p, func(g *guest) {
		for i := range time.Duration(3) { // as Windows does
			at := i * 500 * time.Millisecond
			g.send(at, 0, tcp.SYN, 0, 0, 0)
			g.send(at+100*time.Microsecond, 1, tcp.RST|tcp.ACK, 0, 1, 0)
		}
	})
}

// addUnreachable adds SYNs with an ICMP error each: the host is unreachable (RFC 792), or there is
// no route (RFC 4443 §3.1).
func addUnreachable(j *job, p *Packet) error {
	return j.addGuest(p, func(g *guest) {
		for _, at := range synTimes {
			quoted := g.send(at, 0, tcp.SYN, 0, 0, 0)
			src, dst := g.server.Addr(), g.client.Addr()
			b, protocol := append([]byte{3, 1, 0, 0, 0, 0, 0, 0}, quoted[:28]...), byte(1)
			sum := tcp.Sum{}
			if !src.Is4() {
				protocol = 58
				b = append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, quoted...)
				sum = sum.Add(src.AsSlice()).Add(dst.AsSlice()).Add([]byte{0, 0, 0, byte(len(b)), 0, 0, 0, protocol})
			}
			binary.BigEndian.PutUint16(b[2:], sum.Add(b).Checksum())
			g.ip(at+time.Millisecond, src, dst, protocol, b)
		}
	})
}

// addFINs adds connections with a request and an answer, whose client then repeats its FIN.
func addFINs(j *job, p *Packet) error {
	const ms = time.Millisecond
	return j.addGuest(p, func(g *guest) {
		g.send(0, 0, tcp.SYN, 0, 0, 0)
		g.send(10*ms, 1, tcp.SYN|tcp.ACK, 0, 1, 0)
		g.send(10*ms, 0, tcp.ACK, 1, 1, 0)
		g.send(11*ms, 0, tcp.ACK|tcp.PSH, 1, 1, 100)
		g.send(21*ms, 1, tcp.ACK|tcp.PSH, 1, 101, 200)
		g.send(21*ms, 0, tcp.ACK, 101, 201, 0)
		for _, at := range []time.Duration{100, 310, 720, 1550, 3200} {
			g.send(at*ms, 0, tcp.ACK|tcp.FIN, 101, 201, 0)
		}
	})
}
