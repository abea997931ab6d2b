package tcp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHeaderLayout writes the segments that Linux sends most, byte by byte, and parses them.
func TestHeaderLayout(t *testing.T) {
	fixed := "c001 0050 01020304 0a0b0c0d %s 7210 beef 0007"
	for _, tt := range []struct {
		name, offset, options string
		flags                 Flags
		o                     Options
	}{
		{"none", "5010", "", ACK, Options{}},
		{"syn", "a002", "020405b4 0402 080a 00000001 00000000 01030307", SYN, Options{
			HasMSS: true, MSS: 1460, SACKPermitted: true, HasTimestamps: true, TSVal: 1, HasWScale: true, WScale: 7}},
		{"syn without timestamps", "8012", "020405b4 0101 0402 0103030e", SYN | ACK, Options{
			HasMSS: true, MSS: 1460, SACKPermitted: true, HasWScale: true, WScale: 14}},
		{"timestamps", "8018", "0101 080a 00000005 00000006", PSH | ACK, Options{HasTimestamps: true, TSVal: 5, TSEcr: 6}},
		{"sack", "8010", "0101 050a 00000010 00000020", ACK, Options{NumSACK: 1, SACK: [4]SeqRange{{16, 32}}}},
		{"timestamps and three blocks", "f010",
			"0101 080a 00000005 00000006 0101 051a 00000010 00000020 fffffff0 00000001 00000003 00000002", ACK,
			Options{HasTimestamps: true, TSVal: 5, TSEcr: 6, NumSACK: 3, SACK: [4]SeqRange{{16, 32}, {1<<32 - 16, 1}, {3, 2}}}},
		{"user timeout in seconds", "6010", "1c04 003c", ACK, Options{HasUserTimeout: true, UserTimeout: time.Minute}},
		{"user timeout in minutes", "6010", "1c04 ffff", ACK, Options{HasUserTimeout: true, UserTimeout: 32767 * time.Minute}},
	} {
		h := Header{SrcPort: 0xc001, DstPort: 80, Seq: 0x01020304, Ack: 0x0a0b0c0d, Flags: tt.flags,
			Window: 0x7210, Checksum: 0xbeef, Urgent: 7, Options: tt.o}
		want := unhex(t, strings.Replace(fixed, "%s", tt.offset, 1)+tt.options)
		got := h.AppendTo([]byte("front"))
		if !bytes.Equal(got[5:], want) || string(got[:5]) != "front" {
			t.Errorf("%s: AppendTo = %x, want %x", tt.name, got[5:], want)
		}
		if h.HeaderLen() != len(want) {
			t.Errorf("%s: HeaderLen() = %d, want %d", tt.name, h.HeaderLen(), len(want))
		}
		back, n, err := ParseHeader(append(want, "payload"...))
		if err != nil || n != len(want) || back != h {
			t.Errorf("%s: ParseHeader = %+v, %d, %v, want %+v, %d", tt.name, back, n, err, h, len(want))
		}
	}
}

func TestParseHeaderErrors(t *testing.T) {
	offset := func(words byte) []byte {
		b := make([]byte, 24)
		b[12] = words << 4
		return b
	}
	for _, tt := range []struct {
		b    []byte
		want string
	}{
		{nil, "tcp: segment of 0 bytes, want at least 20"},
		{make([]byte, 19), "tcp: segment of 19 bytes, want at least 20"},
		{offset(0), "tcp: data offset 0 words, want 5..15"},
		{offset(3), "tcp: data offset 3 words, want 5..15"},
		{offset(7), "tcp: data offset 7 words, want 5..6 in a segment of 24 bytes"},
	} {
		h, n, err := ParseHeader(tt.b)
		if err == nil || err.Error() != tt.want || n != 0 || h != (Header{}) {
			t.Errorf("ParseHeader(%x) = %+v, %d, %v, want error %q", tt.b, h, n, err, tt.want)
		}
	}
	// RFC 9293 §3.1: "TCP implementations MUST be prepared to handle an illegal option length
	// (e.g., zero)" (MUST-7).
	for _, tt := range []struct {
		options, want string
		mss           bool // whether an MSS of 1460 was still read
	}{
		{"020405b4 02000000", "tcp: option of kind 2 has length 0, want 2..4", true},
		{"fd01 0000 020405b4", "tcp: option of kind 253 has length 1, want 2..8", false},
		{"08090000 00000000 00 020405b4", "tcp: option of kind 8 has length 9, want 10", true},
		{"020405b4 080a0000", "tcp: option of kind 8 has length 10, want 2..4", true},
		{"020405b4 0502 0000", "tcp: option of kind 5 has length 2, want 10, 18, 26 or 34", true},
		{"050b000000010000000200 020405b4", "tcp: option of kind 5 has length 11, want 10, 18, 26 or 34", true},
		{"020405b4 010101 03", "tcp: option of kind 3 has no length: it is in the last byte of the header", true},
		{"0305000000 0403 00 020405b4", "tcp: option of kind 3 has length 5, want 3", true},
	} {
		b := segmentWith(unhex(t, tt.options))
		h, n, err := ParseHeader(b)
		var bad *OptionError
		if !errors.As(err, &bad) || err.Error() != tt.want {
			t.Errorf("options %s: error %v, want %s", tt.options, err, tt.want)
		}
		if n != len(b) || h.DstPort != 2 || h.Flags != ACK || h.Options.HasMSS != tt.mss {
			t.Errorf("options %s: header %+v of %d bytes: want the rest of it, %d bytes", tt.options, h, n, len(b))
		}
	}
}

func randomHeader(rng *rand.Rand) Header {
	h := Header{SrcPort: uint16(rng.Uint32()), DstPort: uint16(rng.Uint32()), Seq: Seq(rng.Uint32()), Ack: Seq(rng.Uint32()),
		Flags: Flags(rng.Uint32()), Window: uint16(rng.Uint32()), Checksum: uint16(rng.Uint32()), Urgent: uint16(rng.Uint32())}
	o := &h.Options
	coin := func() bool { return rng.IntN(2) == 0 }
	if o.HasMSS = coin(); o.HasMSS {
		o.MSS = uint16(rng.Uint32())
	}
	if o.HasWScale = coin(); o.HasWScale {
		o.WScale = uint8(rng.IntN(MaxWScale + 1))
	}
	if o.HasTimestamps = coin(); o.HasTimestamps {
		o.TSVal, o.TSEcr = rng.Uint32(), rng.Uint32()
	}
	if o.HasUserTimeout = coin(); o.HasUserTimeout {
		o.UserTimeout = time.Duration(1+rng.IntN(maxTimeout)) * []time.Duration{time.Second, time.Minute}[rng.IntN(2)]
	}
	o.SACKPermitted = coin()
	o.NumSACK = uint8(rng.IntN(min(MaxSACKBlocks, o.sackRoom()) + 1))
	for i := range o.NumSACK {
		o.SACK[i] = SeqRange{Seq(rng.Uint32()), Seq(rng.Uint32())}
	}
	return h
}

func TestHeaderRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 20000 {
		h := randomHeader(rng)
		b := h.AppendTo(nil)
		if len(b) != h.HeaderLen() || len(b)%4 != 0 || len(b) > MaxHeaderLen {
			t.Fatalf("%+v: %d bytes, HeaderLen() = %d", h, len(b), h.HeaderLen())
		}
		back, n, err := ParseHeader(b)
		if err != nil || n != len(b) || back != h {
			t.Fatalf("ParseHeader(%x) = %+v, %d, %v, want %+v", b, back, n, err, h)
		}
	}
}

func TestHeaderDoesNotAllocate(t *testing.T) {
	h := randomHeader(rand.New(rand.NewPCG(3, 3)))
	buf := make([]byte, 0, MaxHeaderLen)
	if n := testing.AllocsPerRun(100, func() {
		b := h.AppendTo(buf)
		if back, _, err := ParseHeader(b); err != nil || back != h {
			t.Errorf("ParseHeader = %+v, %v", back, err)
		}
	}); n != 0 {
		t.Errorf("writing and reading a header allocates %v times, want 0", n)
	}
}

// FuzzParseHeader checks that no segment makes the parser panic, and that a parsed header survives
// writing and parsing again, except SACK blocks that do not fit the aligned layout.
func FuzzParseHeader(f *testing.F) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 8 {
		h := randomHeader(rng)
		f.Add(append(h.AppendTo(nil), "payload"...))
	}
	f.Add(segmentWith([]byte{2, 0}))
	f.Add(segmentWith(unhex(f, "030307 080a0000000100000002 051a 000000010000000200000003000000040000000500000006")))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := ParseHeader(b)
		var bad *OptionError
		if err != nil && !errors.As(err, &bad) {
			if n != 0 || h != (Header{}) || err.Error() == "" {
				t.Fatalf("error %v with header %+v of %d bytes", err, h, n)
			}
			return
		}
		if n < HeaderLen || n > len(b) || n > MaxHeaderLen {
			t.Fatalf("header of %d bytes in a segment of %d", n, len(b))
		}
		wire := h.AppendTo(nil)
		back, m, err := ParseHeader(wire)
		if err != nil || m != len(wire) || m != h.HeaderLen() {
			t.Fatalf("written as %x: %d bytes, %v", wire, m, err)
		}
		if fit := h.Options.sackRoom(); int(h.Options.NumSACK) > fit {
			h.Options.NumSACK = uint8(fit)
			clear(h.Options.SACK[fit:])
		}
		if back != h {
			t.Fatalf("read %+v, written and read %+v", h, back)
		}
	})
}

func BenchmarkHeader(b *testing.B) {
	h := Header{Flags: ACK, Options: Options{HasTimestamps: true, NumSACK: 2, SACK: [4]SeqRange{{1, 2}, {3, 4}}}}
	wire := h.AppendTo(nil)
	b.Run("op=parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := ParseHeader(wire); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			wire = h.AppendTo(wire[:0])
		}
	})
}
