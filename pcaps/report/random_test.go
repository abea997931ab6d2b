package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// TestRandomPackets makes pages and comments of packets without sense, at times without sense:
// nothing panics, no number is none, and what is kept stays within its bounds.
func TestRandomPackets(t *testing.T) {
	for seed := range uint64(16) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := NewPage(Limits{Conns: 4, Marks: 100, Memory: 1500})
		s, n := p.Begin(fmt.Sprint(seed)), NewNotes()
		tracker := track.New(track.Config{
			MaxConns: 1 + rng.IntN(20),
			Event: func(ev *track.Event) {
				s.Event(ev)
				n.Event(ev)
				if s.marks > 1500+8 {
					t.Fatalf("seed %d: %d marks are kept, want 1500", seed, s.marks)
				}
			},
			Done: func(c *track.Conn) { s.Add(c, nil); n.Add(c, nil) },
		})
		at := wheel.Time(rng.Int64())
		for i := range 3000 {
			switch rng.IntN(60) {
			case 0:
				at = at.Add(-1_000_000)
			case 1:
				if seed%4 == 0 {
					at = wheel.Time(rng.Int64()) - math.MaxInt64/2
				}
			default:
				at += wheel.Time(rng.Int64N(20_000_000))
			}
			tracker.Add(randomPacket(rng, int64(i+1), at))
		}
		tracker.Close()
		s.End(Facts{First: at, Last: at, Packets: 3000, TCP: 3000})
		if len(s.traces) > 0 || n.held != 0 || len(n.conns) > 0 {
			t.Errorf("seed %d: something is kept of connections that are complete", seed)
		}
		wellFormed(t, svgs.FindAllString(written(t, p), -1))
	}
}

// randomPacket is of one of a few connections, and mostly near the others in its numbers.
func randomPacket(rng *rand.Rand, number int64, at wheel.Time) *capture.Packet {
	a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), uint16(1000+rng.IntN(12)))
	b := netip.MustParseAddrPort("198.51.100.1:80")
	if rng.IntN(2) == 0 {
		a, b = b, a
	}
	p := &capture.Packet{Number: number, Time: at, Src: a, Dst: b, TTL: 64, Len: uint32(rng.IntN(3) * rng.IntN(1460))}
	h := &p.Header
	h.Seq, h.Ack, h.Flags, h.Window = tcp.Seq(rng.IntN(60_000)), tcp.Seq(rng.IntN(60_000)), tcp.ACK, uint16(rng.IntN(3)*rng.IntN(60_000))
	switch rng.IntN(40) {
	case 0:
		h.Flags = tcp.SYN
	case 1:
		h.Flags = tcp.SYN | tcp.ACK
	case 2:
		h.Flags |= tcp.FIN
	case 3:
		h.Flags |= tcp.RST
	case 4:
		h.Seq = tcp.Seq(rng.Uint32())
	}
	if rng.IntN(3) == 0 {
		o := &h.Options
		for range 1 + rng.IntN(3) {
			start := tcp.Seq(rng.IntN(60_000))
			o.SACK[o.NumSACK] = tcp.SeqRange{Start: start, End: start + tcp.Seq(rng.IntN(3000))}
			o.NumSACK++
		}
	}
	return p
}
