package replay

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// FuzzCapturedConn makes connections of packets that come from nowhere, and runs them: nothing
// panics, nothing goes on for ever, ranges lie in order, and the same connection gives the same
// outcome.
//
// With -fuzzminimizetime 1x it makes some hundreds of connections a second: without, go test spends
// its time on making each input that reached something new smaller, which it does not count.
func FuzzCapturedConn(f *testing.F) {
	for seed := range 3 {
		var b []byte
		for i := range 60 {
			b = append(b, byte(i*37+seed), byte(i%7*40), byte(i*seed), byte(i>>2), byte(seed), byte(i*11), 3, byte(i))
		}
		f.Add(b)
	}
	f.Add([]byte("\x00\x02\x00\x00\x00\x00\x00\x00\x01\x12\x00\x00\x00\x01\x00\x00\x00\x10\x00\x01\x00\x01\x00\x00\x00\x18\x00\x01\x40\x01\x00\x00"))
	f.Fuzz(connOf)
}

// connOf is what FuzzCapturedConn does with its data.
func connOf(t *testing.T, data []byte) {
	r := NewRecorder(Config{All: true, Done: func(c *track.Conn, s *CapturedConn, err error) {
		if s == nil {
			return
		}
		for d := range s.Paths {
			at := uint64(0)
			for _, x := range s.Paths[d].Ranges {
				if x.Start < at || x.End <= x.Start || len(x.Tries) == 0 {
					t.Fatalf("range %d to %d behind %d, with %d tries", x.Start, x.End, at, len(x.Tries))
				}
				at = x.End
			}
		}
		for k := range Keys {
			o := Options{Policy: tcptimers.MustPolicy("linux"), Key: Key(k), log: true}
			a, err := s.Run(o)
			if err != nil {
				t.Fatal(err)
			}
			b, err := s.Run(o)
			if err != nil {
				t.Fatal(err)
			}
			if d := diverge(a.log, b.log); d != nil {
				t.Fatalf("not the same again: %v", d)
			}
		}
		for end := range s.Ends {
			_, _ = s.Wire(end, Options{Policy: tcptimers.MustPolicy("per-segment")})
		}
	}})
	at := epoch
	for n := int64(1); len(data) >= 8 && n < 300; n, data = n+1, data[8:] {
		at = at.Add(time.Duration(int8(data[7])) * 3 * time.Millisecond)
		p := capture.Packet{Number: n, Time: max(at, wheel.Time(1)), TTL: 64, HasID: true, ID: uint32(n)}
		ends := [2]netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.2:2")}
		if data[0]&1 != 0 {
			ends[0], ends[1] = ends[1], ends[0]
		}
		p.Src, p.Dst = ends[0], ends[1]
		h := &p.Header
		h.SrcPort, h.DstPort = p.Src.Port(), p.Dst.Port()
		h.Flags = tcp.Flags(data[1]) & (tcp.SYN | tcp.ACK | tcp.FIN | tcp.PSH | tcp.RST)
		if data[1]&0xe0 != 0 {
			h.Flags &^= tcp.SYN | tcp.RST
		}
		h.Seq = tcp.Seq(uint32(data[2]) * 700)
		h.Ack = tcp.Seq(uint32(data[3]) * 700)
		p.Len = uint32(binary.LittleEndian.Uint16(data[4:])) % 4000
		h.Window = 4000
		if data[6]&1 != 0 {
			h.Options.HasTimestamps, h.Options.TSVal, h.Options.TSEcr = true, uint32(n), uint32(data[6])
		}
		if data[6]&2 != 0 {
			h.Options.NumSACK = 1
			h.Options.SACK[0] = tcp.SeqRange{Start: h.Ack.Add(uint32(data[5])), End: h.Ack.Add(uint32(data[5]) + 700)}
		}
		r.Add(&p)
	}
	r.Close()
}
