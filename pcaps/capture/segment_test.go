package capture

import (
	"encoding/binary"
	"slices"
	"testing"

	"tcpwheel/netstack/tcp"
)

func TestChecksums(t *testing.T) {
	h := tcp.Header{SrcPort: 1, DstPort: 2, Seq: 3, Flags: tcp.ACK}
	set := func(b []byte, v uint16) []byte {
		binary.BigEndian.PutUint16(b[16:], v)
		return b
	}
	good := func(n int) []byte { return segment(here4, there4, h, repeat(7, n)) }
	small, merged := good(100), good(20_000)
	for _, c := range []struct {
		name    string
		segment []byte
		want    Problems
	}{
		{"right", small, 0},
		{"wrong", set(good(100), 0xbad), BadChecksum},
		{"none", set(good(100), 0), PartialChecksum},
		{"sum of the pseudo-header", set(good(100), ^tcp.PseudoHeader(here4, there4, len(small)).Checksum()), PartialChecksum},
		{"sum of the pseudo-header without the length", set(good(20_000), ^tcp.PseudoHeader(here4, there4, 0).Checksum()), PartialChecksum},
		{"of the first part of what was merged", set(good(20_000), 0xbad), 0},
		{"right, of a super-packet", merged, 0},
	} {
		data := ip4(6, here4, there4, c.segment)
		d, got := decodeOne(101, data, len(data))
		if got != isTCP || d.p.Problems != c.want {
			t.Errorf("%s: %v, problems %b, want %b", c.name, got, d.p.Problems, c.want)
		}
		// A segment that was not kept whole cannot be checked.
		if d, got := decodeOne(101, data, len(data)-1); got != isTCP || d.p.Problems != 0 {
			t.Errorf("%s, cut: %v, problems %b, want 0", c.name, got, d.p.Problems)
		}
	}
	wrong6 := hello6()
	wrong6[len(wrong6)-1] ^= 1
	if d, got := decodeOne(101, wrong6, len(wrong6)); got != isTCP || d.p.Problems != BadChecksum {
		t.Errorf("IPv6: %v, problems %b, want %b", got, d.p.Problems, BadChecksum)
	}
}

// TestCutOptions expects the complete options of a cut header, and no others.
func TestCutOptions(t *testing.T) {
	h := tcp.Header{SrcPort: 1, DstPort: 2, Flags: tcp.SYN, Options: tcp.Options{
		HasMSS: true, MSS: 1460, SACKPermitted: true, HasTimestamps: true, TSVal: 0x01010101, TSEcr: 0x02020202, HasWScale: true, WScale: 7,
	}}
	b := h.AppendTo(nil)
	data := ip4(6, here4, there4, b)
	for keep := 40; keep <= len(data); keep++ {
		d, got := decodeOne(101, data, keep)
		// The twin parses the header with the rest as end of options. Where the cut is inside an
		// option, it reads that as a value, which is not expected here.
		want := tcp.Options{}
		for i := tcp.HeaderLen; i < keep-20; {
			size := 1
			if b[i] > 1 {
				if i+1 >= keep-20 || i+int(b[i+1]) > keep-20 {
					break
				}
				size = int(b[i+1])
			}
			switch b[i] {
			case 2:
				want.HasMSS, want.MSS = true, 1460
			case 3:
				want.HasWScale, want.WScale = true, 7
			case 4:
				want.SACKPermitted = true
			case 8:
				want.HasTimestamps, want.TSVal, want.TSEcr = true, 0x01010101, 0x02020202
			}
			i += size
		}
		cut := keep < len(data)
		if got != isTCP || d.p.Header.Options != want || d.p.Problems.Has(OptionsCut) != cut || d.p.Header.Flags != tcp.SYN || d.p.SegLen() != 1 {
			t.Errorf("%d bytes kept: %v, %+v, problems %b, want %+v", keep-40, got, d.p.Header, d.p.Problems, want)
		}
	}
	// An option of length 0 is the sender's error; the options before it count.
	bad := tcp.Header{SrcPort: 1, DstPort: 2, Flags: tcp.ACK, Options: tcp.Options{HasMSS: true, MSS: 99, HasTimestamps: true}}
	b = bad.AppendTo(nil)
	b[tcp.HeaderLen+5], b[tcp.HeaderLen+4] = 0, 8
	data = ip4(6, here4, there4, b)
	if d, got := decodeOne(101, data, len(data)); got != isTCP || d.p.Header.Options.MSS != 99 || !d.p.Problems.Has(OptionsCut) {
		t.Errorf("option of length 0: %v, %+v, problems %b", got, d.p.Header.Options, d.p.Problems)
	}
}

// TestCutSACK cuts a SACK option of two blocks short behind each of its bytes. A block without its
// right edge has its first byte.
func TestCutSACK(t *testing.T) {
	h := tcp.Header{SrcPort: 1, DstPort: 2, Flags: tcp.ACK, Ack: 5000}
	h.Options.NumSACK = 2
	h.Options.SACK[0] = tcp.SeqRange{Start: 6000, End: 7000}
	h.Options.SACK[1] = tcp.SeqRange{Start: 8000, End: 9000}
	data := ip4(6, here4, there4, h.AppendTo(nil))
	blocks := len(data) - 16
	for keep := blocks - 4; keep < len(data); keep++ {
		d, got := decodeOne(101, data, keep)
		var want []tcp.SeqRange
		if seen := keep - blocks; seen >= 4 {
			want = append(want, tcp.SeqRange{Start: 6000, End: 6001})
			if seen >= 8 {
				want[0].End = 7000
			}
			if seen >= 12 {
				want = append(want, tcp.SeqRange{Start: 8000, End: 8001})
			}
		}
		o := &d.p.Header.Options
		if got != isTCP || !slices.Equal(o.SACK[:o.NumSACK], want) || !d.p.Problems.Has(OptionsCut) {
			t.Errorf("%d bytes of the blocks: %v, %v, problems %b, want %v", keep-blocks, got, o.SACK[:o.NumSACK], d.p.Problems, want)
		}
	}
}
