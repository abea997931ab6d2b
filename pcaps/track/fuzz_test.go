package track

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// check verifies the invariants of an open connection.
func (c *Conn) check(t *testing.T) {
	t.Helper()
	if (c.syn != nil) != (c.Flows == nil) {
		t.Fatalf("connection %d holds a SYN: %t, has flows: %t", c.ID, c.syn != nil, c.Flows != nil)
	}
	if c.syn != nil {
		return
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		if n := f.board.len(); n > c.cfg.MaxSegments {
			t.Fatalf("%d segments, want at most %d", n, c.cfg.MaxSegments)
		}
		sacked := 0
		for k := range f.board.len() {
			s := f.board.at(k)
			if s.start >= s.end || k > 0 && f.board.at(k-1).end != s.start {
				t.Fatalf("segment %d is %d to %d, behind one that ends at %d", k, s.start, s.end, f.board.at(max(k-1, 0)).end)
			}
			if s.sacked {
				sacked++
			}
			if !s.missing && s.transmissions == 0 {
				t.Fatalf("segment %d of %d to %d was never sent, and is not missing", k, s.start, s.end)
			}
		}
		if n := f.board.len(); n > 0 && f.board.at(n-1).end != f.max {
			t.Fatalf("the segments end at %d, want %d", f.board.at(n-1).end, f.max)
		}
		if f.una > f.max || f.pending.n > maxPending {
			t.Fatalf("SND.UNA %d, SND.NXT %d, %d ACKs pending", f.una, f.max, f.pending.n)
		}
		if len(f.Episodes) > c.cfg.MaxEpisodes || len(f.recent) > maxRexmits {
			t.Fatalf("%d episodes, %d retransmissions", len(f.Episodes), len(f.recent))
		}
		if sacked != int(f.board.sacked) {
			t.Fatalf("%d segments are SACKed, and %d are counted", sacked, f.board.sacked)
		}
	}
}

// fuzzPackets turns each 14 bytes into a packet between few ends, near what both have sent, with
// all options.
func fuzzPackets(data []byte) (packets []capture.Packet) {
	now := wheel.Time(time.Hour)
	var next [2][2]tcp.Seq
	for number := int64(1); len(data) >= 14; data = data[14:] {
		b := data[:14]
		conn, dir := int(b[0]>>1&1), int(b[0]&1)
		ends := [2]netip.AddrPort{
			netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), 1000+uint16(conn)),
			netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 2}), 80),
		}
		step := time.Duration(binary.BigEndian.Uint16(b[1:])) << (b[0] >> 2 & 15)
		if b[0]>>6 == 3 {
			step = -step
		}
		now = max(now.Add(step), 0)
		p := capture.Packet{Number: number, Time: now, Src: ends[dir], Dst: ends[1-dir], HasID: b[3]&1 != 0, ID: uint32(b[3] >> 4), TTL: b[3]}
		if b[0]>>5 == 5 {
			p.Path = uint64(dir) + 1
		}
		h := &p.Header
		h.SrcPort, h.DstPort = p.Src.Port(), p.Dst.Port()
		h.Flags = tcp.Flags(b[4])
		place := func(base tcp.Seq, b byte) tcp.Seq {
			return base + tcp.Seq(int32(int8(b))*int32(1)<<(b&7))
		}
		h.Seq, h.Ack = place(next[conn][dir], b[5]), place(next[conn][1-dir], b[6])
		if b[7]&1 != 0 {
			h.Seq = next[conn][dir]
		}
		if b[7]&2 != 0 {
			h.Ack = next[conn][1-dir]
		}
		if b[7]&4 != 0 {
			h.Seq ^= 1 << 31
		}
		p.Len = uint32(b[8]) << (b[7] >> 4)
		h.Window = uint16(b[9]) << 4
		o := &h.Options
		if b[10]&1 != 0 {
			o.HasTimestamps, o.TSVal, o.TSEcr = true, uint32(number)+uint32(b[11]>>4), uint32(number)-uint32(b[11]&15)
		}
		o.SACKPermitted, o.HasMSS, o.MSS = b[10]&2 != 0, b[10]&4 != 0, uint16(b[12])<<3
		o.HasWScale, o.WScale = b[10]&8 != 0, b[12]&15
		o.NumSACK = b[10] >> 4 & 3
		for i := range o.NumSACK {
			start := h.Ack + tcp.Seq(int8(b[13])*int8(i+1))*7
			o.SACK[i] = tcp.SeqRange{Start: start, End: start.Add(uint32(b[12]) * uint32(i))}
		}
		if b[10]>>6 == 3 {
			p.Problems = capture.PartialChecksum
		}
		if end := h.Seq.Add(p.SegLen()); b[7]&4 == 0 && end.After(next[conn][dir]) {
			next[conn][dir] = end
		}
		packets = append(packets, p)
		number++
	}
	return packets
}

// FuzzTracker gives arbitrary packets to a tracker with small bounds. It must not panic, must keep
// its bounds, and must report each connection once.
func FuzzTracker(f *testing.F) {
	var calm []byte // a handshake, data, a loss and its repair
	for _, p := range [][14]byte{
		{0, 0, 0, 1, 2, 0, 0, 3, 0, 255, 7, 0, 180, 0},
		{1, 1, 0, 1, 18, 0, 0, 3, 0, 255, 7, 0, 180, 0},
		{0, 1, 0, 1, 16, 0, 0, 3, 0, 255, 1},
		{0, 1, 0, 1, 16, 0, 0, 0x33, 100, 255, 1},
		{0, 1, 0, 1, 16, 100, 0, 0x32, 100, 255, 1},
		{1, 1, 0, 1, 16, 0, 0x87, 1, 0, 255, 0x11, 0, 9, 3},
		{0, 1, 0, 1, 16, 0x81, 0, 0x32, 100, 255, 1},
		{1, 1, 0, 1, 16, 0, 0, 3, 0, 0, 1},
		{0, 1, 0, 1, 17, 0, 0, 3, 1, 255, 1},
	} {
		calm = append(calm, p[:]...)
	}
	f.Add(calm)
	wild := make([]byte, 14*300)
	x := uint64(1)
	for i := range wild {
		x = x*6364136223846793005 + 1442695040888963407
		wild[i] = byte(x >> 56)
	}
	f.Add(wild)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			t.Skip("more of the same")
		}
		done := map[int]bool{}
		tr := New(Config{MaxConns: 2, MaxSegments: 64, MaxEpisodes: 8, Done: func(c *Conn) {
			if done[c.ID] {
				t.Fatalf("connection %d was reported twice", c.ID)
			}
			done[c.ID] = true
			c.Record("fuzz")
			for i := range c.Flows {
				for _, e := range c.Flows[i].Episodes {
					if e.D < 0 || e.Repaired && (e.A < 0 || e.P < 0 || e.TRec != e.D+e.A+e.P) || len(e.Retransmissions) == 0 || e.Total < len(e.Retransmissions) {
						t.Fatalf("%+v", e)
					}
					if _, err := e.MarshalJSON(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}})
		packets := fuzzPackets(data)
		for i := range packets {
			tr.Add(&packets[i])
			distinct := map[*Conn]bool{}
			for _, c := range tr.conns.all() {
				distinct[c] = true
				c.check(t)
			}
			if len(distinct) > 2 || tr.open.n+tr.closed.n+tr.halfOpen.n != len(distinct) {
				t.Fatalf("%d connections, %d, %d and %d in lists", len(distinct), tr.open.n, tr.closed.n, tr.halfOpen.n)
			}
		}
		tr.Close()
		if len(done) != tr.made {
			t.Fatalf("%d connections were reported, want %d", len(done), tr.made)
		}
		sameWithHeldSYNs(t, Config{MaxConns: 2, MaxSegments: 64, MaxEpisodes: 8}, packets)
	})
}

// all returns all connections, some more than once.
func (d *directory) all() []*Conn {
	all := slices.Collect(maps.Values(d.others))
	for _, s := range d.slots {
		if s.c != nil {
			all = append(all, s.c)
		}
	}
	return all
}
