package capture

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tcpwheel/netstack/tcp"
)

// pieces cuts a segment in an IPv4 packet into fragments of size bytes.
func pieces(id, size int, src, dst [4]byte, segment []byte) (all [][]byte) {
	for at := 0; at < len(segment); at += size {
		end, place := min(at+size, len(segment)), at/8
		if end < len(segment) {
			place |= 0x2000
		}
		b := ip4Fragment(6, here4, there4, id, place, segment[at:end])
		copy(b[12:], src[:])
		copy(b[16:], dst[:])
		all = append(all, b)
	}
	return all
}

var fragmentHeader = tcp.Header{SrcPort: 1, DstPort: 2, Seq: 3, Flags: tcp.ACK}

// large returns a segment with 3000 bytes of payload.
func large() []byte {
	return segment(here4, there4, fragmentHeader, bytes.Repeat([]byte("0123456789"), 300))
}

func readRaw(t *testing.T, packets ...raw) ([]Packet, *Reader) {
	t.Helper()
	all, r, err := readBytes(t, pcapOf(binary.LittleEndian, magicNano, 101, packets...))
	if err != io.EOF {
		t.Fatal(err)
	}
	return all, r
}

// TestFragmentsInAnyOrder reassembles a datagram from fragments in any order, some of them
// repeated.
func TestFragmentsInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		parts := pieces(77, 8*(2+random.IntN(100)), here4.As4(), there4.As4(), large())
		order := random.Perm(len(parts))
		var packets []raw
		for i, part := range order {
			packets = append(packets, raw{at: int64(i), data: parts[part]})
			if i+1 < len(order) && random.IntN(3) == 0 {
				packets = append(packets, raw{at: int64(i), data: parts[part]})
			}
		}
		all, r := readRaw(t, packets...)
		if len(all) != 1 {
			t.Fatalf("%d pieces: %d segments, want 1", len(parts), len(all))
		}
		p, s := all[0], r.Stats()
		if p.Number != int64(len(packets)) || p.Len != 3000 || p.Problems != Fragment || p.Header.Seq != 3 || p.ID != 77 || p.TTL != 61 {
			t.Errorf("%d pieces: %+v", len(parts), p)
		}
		if s.TCP != 1 || s.Skipped[FragmentPart] != int64(len(packets)-1) || s.Truncated != 0 {
			t.Errorf("%d pieces: %+v", len(parts), s)
		}
		if !bytes.Equal(r.d.p.Payload, large()[20:]) {
			t.Errorf("%d pieces: another payload", len(parts))
		}
	}
}

// TestCutFragments reassembles fragments cut by a snapshot length: the lengths suffice.
func TestCutFragments(t *testing.T) {
	var packets []raw
	for i, part := range pieces(77, 1480, here4.As4(), there4.As4(), large()) {
		packets = append(packets, raw{at: int64(i), data: part[:60], length: len(part)})
	}
	all, r := readRaw(t, packets...)
	if len(all) != 1 || all[0].Len != 3000 || len(r.d.p.Payload) != 20 || r.Stats().Truncated != 1 {
		t.Errorf("%+v, payload %q, want 3000 bytes, 20 of them kept", all, r.d.p.Payload)
	}
}

// TestFragmentsOfTunnels fragments both the datagram around a tunnel and the one inside.
func TestFragmentsOfTunnels(t *testing.T) {
	inner := pieces(5, 2000, here4.As4(), there4.As4(), large())
	var packets []raw
	for i, part := range inner {
		udp := udp(1, 4789, join(be16(0x0800, 0, 0, 7), ether(0x0800, part)))
		for at := 0; at < len(udp); at += 800 {
			end, place := min(at+800, len(udp)), at/8
			if end < len(udp) {
				place |= 0x2000
			}
			packets = append(packets, raw{at: int64(len(packets)), data: ip4Fragment(17, endA, endB, 100+i, place, udp[at:end])})
		}
	}
	all, r := readRaw(t, packets...)
	if len(all) != 1 || all[0].Len != 3000 || all[0].Src.Addr() != here4 || all[0].Path == 0 || !bytes.Equal(r.d.p.Payload, large()[20:]) {
		t.Errorf("%+v, want one segment of 3000 bytes", all)
	}
}

func TestFragmentsOfIPv6(t *testing.T) {
	whole := segment(here6, there6, fragmentHeader, repeat(7, 1000))
	first := ip6(0, here6, there6, join([]byte{44, 0, 1, 4, 0, 0, 0, 0}, []byte{6, 0}, be16(1, 0xdead, 0xbeef), whole[:800]))
	last := ip6(0, here6, there6, join([]byte{44, 0, 1, 4, 0, 0, 0, 0}, []byte{6, 0}, be16(800, 0xdead, 0xbeef), whole[800:]))
	for _, packets := range [][]raw{{{data: first}, {data: last}}, {{data: last}, {data: first}}} {
		all, _ := readRaw(t, packets...)
		if len(all) != 1 || all[0].Len != 1000 || all[0].ID != 0xdeadbeef || !all[0].HasID || all[0].Problems != Fragment || all[0].Number != 2 {
			t.Errorf("%+v, want one segment of 1000 bytes", all)
		}
	}
}

// TestMissingFragments reads an incomplete datagram as its first fragment, late. Without
// that fragment it yields nothing.
func TestMissingFragments(t *testing.T) {
	parts := pieces(77, 1000, here4.As4(), there4.As4(), large())
	other := pieces(78, 1000, here4.As4(), there4.As4(), large())
	whole := raw{at: 5e8, data: hello()}
	for _, c := range []struct {
		name    string
		packets []raw
		want    string // numbers and lengths, in order
	}{
		{"only the first", []raw{{data: parts[0]}, whole}, "2:5 1:980"},
		{"two of four", []raw{{data: parts[0]}, {data: parts[1]}, whole}, "3:5 1:1980"},
		{"a hole", []raw{{data: parts[0]}, {data: parts[2]}, {data: parts[3]}, whole}, "4:5 1:980"},
		{"not the first", []raw{{data: parts[1]}, {data: parts[2]}, {data: parts[3]}, whole}, "4:5"},
		{"after a second, with the next", []raw{{data: parts[0]}, whole, {at: 2e9, data: other[0]}, {at: 2e9, data: hello()}}, "2:5 1:980 4:5 3:980"},
		{"the same identification after a second", []raw{
			{data: parts[0]}, {at: 2e9, data: parts[0]}, {at: 2e9, data: parts[1]}, {at: 2e9, data: parts[2]}, {at: 2e9, data: parts[3]},
		}, "5:3000 1:980"},
	} {
		var got strings.Builder
		all, r := readRaw(t, c.packets...)
		for _, p := range all {
			if p.Len != 5 && p.Problems != Fragment {
				t.Errorf("%s: %+v", c.name, p)
			}
			got.WriteString(" " + itoa(p.Number) + ":" + itoa(int64(p.Len)))
		}
		// A datagram comes before the packet that made the reader give it up.
		if sorted(got.String()) != sorted(" "+c.want) {
			t.Errorf("%s:%s, want %s", c.name, got.String(), c.want)
		}
		if s := r.Stats(); s.Packets != int64(len(c.packets)) || s.TCP+s.Skipped[FragmentPart] != s.Packets {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// TestInterleavedDatagrams interleaves datagrams of the same identification between other hosts,
// of another protocol, and on other paths.
func TestInterleavedDatagrams(t *testing.T) {
	a, b := pieces(77, 1600, here4.As4(), there4.As4(), large()), pieces(77, 1600, there4.As4(), here4.As4(), large())
	other := pieces(77, 1600, here4.As4(), there4.As4(), large())
	for i := range other {
		other[i][9] = 17
	}
	var packets []raw
	for i := range a {
		packets = append(packets, raw{data: a[i]}, raw{data: b[i]}, raw{data: other[i]}, raw{data: ip4(4, endA, endB, a[i])})
	}
	all, r := readRaw(t, packets...)
	if s := r.Stats(); len(all) != 3 || s.Skipped[UDP] != 1 || s.Skipped[FragmentPart] != 4 {
		t.Errorf("%d segments, %+v, want 3", len(all), s)
	}
}

func TestMalformedFragments(t *testing.T) {
	for name, data := range map[string][]byte{
		"past 64 KiB":               ip4Fragment(6, here4, there4, 1, 0x1fff, repeat(0, 100)),
		"not a multiple of 8":       ip4Fragment(6, here4, there4, 1, 0x2000, repeat(0, 100)),
		"empty":                     ip4Fragment(6, here4, there4, 1, 0x2000, nil),
		"of IPv6, no multiple of 8": ip6(44, here6, there6, join([]byte{6, 0}, be16(1, 0, 1), repeat(0, 9))),
		"of IPv6, without any byte": ip6(44, here6, there6, join([]byte{6, 0}, be16(1, 0, 1))),
	} {
		if _, got := decodeOne(101, data, len(data)); got != Malformed {
			t.Errorf("%s: %v, want %v", name, got, Malformed)
		}
	}
	// Hundreds of fragments of one datagram without end.
	var packets []raw
	for i := range 2000 {
		packets = append(packets, raw{data: ip4Fragment(6, here4, there4, 1, 0x2000|i, repeat(0, 8))})
	}
	if all, r := readRaw(t, packets...); len(all) > 8 || r.Stats().Packets != 2000 {
		t.Errorf("%d segments, %+v", len(all), r.Stats())
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func sorted(words string) string {
	all := strings.Fields(words)
	slices.Sort(all)
	return strings.Join(all, " ")
}
