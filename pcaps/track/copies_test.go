package track

import (
	"math/rand/v2"
	"os"
	"testing"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// TestCopyMarks: two headers that differ by little never have one mark. A neighbour's fields differ
// as those of packets in a row do: a bare ACK and the data before or behind it, windows and
// timestamps one apart, another SACK block.
func TestCopyMarks(t *testing.T) {
	pairs := 4_000_000
	if os.Getenv("TCPWHEEL_LONG") != "" {
		pairs = 100_000_000
	}
	rng := rand.New(rand.NewPCG(1, 1))
	near := [...]uint32{1, 2, 3, 4, 8, 12, 16, 100, 536, 1000, 1024, 1200, 1428, 1440, 1448, 1460, 2896, 4096, 8192, 1 << 14, 1 << 16, 1 << 20, 1 << 31}
	step := func() uint32 { return near[rng.IntN(len(near))] }
	changes := [...]func(p *capture.Packet){
		func(p *capture.Packet) { n := step(); p.Header.Seq, p.Len = p.Header.Seq+tcp.Seq(n), p.Len+n }, // data behind an ACK
		func(p *capture.Packet) { n := step(); p.Header.Seq, p.Len = p.Header.Seq-tcp.Seq(n), p.Len+n },
		func(p *capture.Packet) { p.Header.Seq += tcp.Seq(step()) },
		func(p *capture.Packet) { p.Header.Ack += tcp.Seq(step()) },
		func(p *capture.Packet) {
			n := step()
			p.Header.Seq, p.Header.Ack = p.Header.Seq^tcp.Seq(n), p.Header.Ack^tcp.Seq(n)
		},
		func(p *capture.Packet) { p.Len ^= step() },
		func(p *capture.Packet) { p.Header.Window += uint16(step()) | 1 },
		func(p *capture.Packet) {
			n := step()
			p.Header.Seq, p.Header.Window = p.Header.Seq+tcp.Seq(n), p.Header.Window-uint16(n)
		},
		func(p *capture.Packet) { p.Header.Flags ^= tcp.PSH },
		func(p *capture.Packet) { p.Header.Options.TSVal += step() },
		func(p *capture.Packet) {
			n := step()
			p.Header.Options.TSVal, p.Header.Seq = p.Header.Options.TSVal+n, p.Header.Seq+tcp.Seq(n)
		},
		func(p *capture.Packet) { p.Header.Options.TSEcr += step() },
		func(p *capture.Packet) {
			n := step()
			p.Header.Options.TSVal, p.Header.Options.TSEcr = p.Header.Options.TSVal+n, p.Header.Options.TSEcr+n
		},
		func(p *capture.Packet) { p.Header.Options.SACK[0].End += tcp.Seq(step()); p.Header.Options.NumSACK = 1 },
	}
	for i := range pairs {
		p := capture.Packet{Header: tcp.Header{Seq: tcp.Seq(rng.Uint32()), Ack: tcp.Seq(rng.Uint32()), Flags: tcp.ACK, Window: uint16(rng.Uint32())}}
		if i%2 == 0 { // numbers near each other, with few bits
			p.Header.Seq, p.Header.Ack = p.Header.Seq&0xffff, p.Header.Ack&0xffff
		}
		o := &p.Header.Options
		o.HasTimestamps, o.TSVal, o.TSEcr = true, rng.Uint32(), rng.Uint32()
		q := p
		changes[i%len(changes)](&q)
		if p.Header == q.Header && p.Len == q.Len {
			continue
		}
		if a, b := newCopyMark(&p), newCopyMark(&q); a.isOne(&b) {
			t.Fatalf("pair %d has one mark:\n%+v\n%+v", i, p.Header, q.Header)
		}
	}
}

// TestDataBehindACK: a bare ACK at S and L bytes of data at S+L are two packets, whatever bits S and
// L share.
func TestDataBehindACK(t *testing.T) {
	l := newLab(t, Config{})
	l.isn = [2]tcp.Seq{0x1000, 7}
	l.open(0)
	for i := range 8 {
		at, seq := 100+float64(i)*10, 1+1024*i
		l.send(at, true, seq, 0, 1)
		l.send(at+0.1, true, seq, 512, 1)
		l.send(at+0.2, true, seq+512, 512, 1)
	}
	c := l.wantClean(1)[0]
	if f := &c.Flows[0]; c.Copies != 0 || f.Bytes != 8*1024 || f.Lacking() != 0 {
		t.Errorf("%d copies, %d bytes, %d packets lacking; want none, 8192, none", c.Copies, f.Bytes, f.Lacking())
	}
}

// TestFreshSegments: segments that earlier versions took for copies of the ACK before them.
func TestFreshSegments(t *testing.T) {
	for name, packets := range map[string][]int64{
		"../tls-browsing-ipv6-spurious.pcap": {3377, 4677},
		"h22-teams-reorder.pcap":             {1269},
	} {
		f := followSecond(t, name)
		if f.kinds == nil {
			t.Skip("no public captures")
		}
		for _, n := range packets {
			if kind, any := f.kinds[n]; !any || kind != SentNew {
				t.Errorf("%s: packet %d is %v, want new data", name, n, kind)
			}
		}
	}
}
