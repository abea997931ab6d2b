package replay

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
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
// Each number is a packet, and random numbers of that seed are up to 31 more. Its input is numbers,
// as go test would spend most of its time on making bytes fewer.
func FuzzCapturedConn(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(uint64(0x200), 0x0100000000001201+seed<<32, uint64(0x0000000100011000), uint64(0x0000014001001800), seed*0x0101, uint64(0x0a03000000401001),
			uint64(0x0903100100401000), uint64(0x0803f00200411000), uint64(0x2803000000471001), uint64(0x0001e00301001800), seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g, h, i, j, k, l, m uint64) {
		packets := []uint64{a, b, c, d, e, g, h, i, j, k, l, m}
		r := rand.New(rand.NewPCG(a, m))
		for range m % 32 {
			packets = append(packets, r.Uint64())
		}
		var data []byte
		for _, p := range packets {
			data = binary.LittleEndian.AppendUint64(data, p)
		}
		connOf(t, data)
	})
}

// TestCapturedConnFound has inputs that FuzzCapturedConn once failed on.
func TestCapturedConnFound(t *testing.T) {
	names, err := filepath.Glob("testdata/conns/*")
	if err != nil || len(names) != 5 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		connOf(t, data)
	}
}

// connOf makes a connection of packets of eight bytes each, and runs it.
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
