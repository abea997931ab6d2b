package damage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/samples"
	"tcpwheel/wheel"
)

// load returns the packets of a sample.
func load(t testing.TB, name string) Packets {
	t.Helper()
	in, err := samples.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := capture.NewReader(in, name)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Load(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// apply damages packets.
func apply(t testing.TB, text string, all Packets, seed uint64) (damaged Packets, counts Counts) {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	counts, err = d.Run(all.Source(), func(p *Packet) error {
		damaged = append(damaged, p)
		return nil
	}, seed)
	if err != nil {
		t.Fatal(err)
	}
	return damaged, counts
}

// file writes packets, and reads them back.
func file(t testing.TB, all Packets, comments bool) (text []byte, back Packets) {
	t.Helper()
	on := []capture.Interface{}
	for _, p := range all {
		for len(on) <= p.Interface {
			on = append(on, capture.Interface{LinkType: p.LinkType})
		}
	}
	var b bytes.Buffer
	w, err := NewWriter(&b, func() []capture.Interface { return on }, comments)
	for _, p := range all {
		if err == nil {
			err = w.Write(p)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Clone(b.Bytes())
	r, err := capture.NewReader(&b, "damaged")
	if err == nil {
		back, err = Load(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text, back
}

// ether returns packets of a sample as Ethernet frames: raw IP behind a header.
func ether(all Packets) (out Packets) {
	for _, p := range all {
		if p.Segment == nil {
			continue
		}
		q := *p
		q.Number = int64(len(out) + 1)
		head := "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00"
		if p.Data[p.at.ip]>>4 == 6 {
			head = "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x86\xdd"
		}
		q.Data = append([]byte(head), p.Data[p.at.ip:]...)
		q.LinkType, q.Length = linkEthernet, p.Length-uint32(p.at.ip)+14
		q.at = locate(q.Data, p.Segment, 14)
		out = append(out, &q)
	}
	return out
}

// whole returns segments of both directions that are captured whole, with right checksums. Each
// call of n makes so many segments of 1000 bytes and an ACK of all of them.
func whole(src, dst string, link uint16, n int) (all Packets) {
	a, b := netip.MustParseAddr(src), netip.MustParseAddr(dst)
	add := func(from, to netip.Addr, at time.Duration, h tcp.Header, size int) {
		payload := make([]byte, size)
		for i := range payload {
			payload[i] = byte(i + len(all))
		}
		seg := append(h.AppendTo(nil), payload...)
		tcp.SetChecksum(from, to, seg)
		ip := make([]byte, 20)
		if from.Is4() {
			ip[0], ip[8], ip[9] = 0x45, 64, 6
			binary.BigEndian.PutUint16(ip[2:], uint16(20+len(seg)))
			binary.BigEndian.PutUint16(ip[4:], uint16(100+len(all)))
			copy(ip[12:], from.AsSlice())
			copy(ip[16:], to.AsSlice())
			binary.BigEndian.PutUint16(ip[10:], tcp.Sum{}.Add(ip).Checksum())
		} else {
			ip = make([]byte, 40)
			ip[0], ip[6], ip[7] = 0x60, 6, 64
			binary.BigEndian.PutUint16(ip[4:], uint16(len(seg)))
			copy(ip[8:], from.AsSlice())
			copy(ip[24:], to.AsSlice())
		}
		head := map[uint16]string{
			linkRaw: "", linkEthernet: "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00",
			linkNull: "\x02\x00\x00\x00", linkSLL: strings.Repeat("\x00", 14) + "\x08\x00", linkSLL2: "\x08\x00" + strings.Repeat("\x00", 18),
		}[link]
		if !from.Is4() {
			head = strings.Replace(head, "\x08\x00", "\x86\xdd", 1)
		}
		data := append(append([]byte(head), ip...), seg...)
		f := capture.Frame{Time: wheel.Time(time.Hour + at), Data: data, Length: uint32(len(data)), LinkType: link}
		var live capture.Live
		p, ok := live.Decode(&f)
		if !ok {
			panic("no segment")
		}
		all = append(all, newPacket(&f, p, int64(len(all)+1), headers{}))
	}
	opts := tcp.Options{HasTimestamps: true, TSVal: 1000, TSEcr: 2000}
	for i := range n {
		at := time.Duration(i) * 5 * time.Microsecond
		add(a, b, at, tcp.Header{SrcPort: 1000, DstPort: 80, Seq: tcp.Seq(5000 + 1000*i), Ack: 77, Flags: tcp.ACK, Window: 500, Options: opts}, 1000)
	}
	back := tcp.Options{HasTimestamps: true, TSVal: 2010, TSEcr: 1000}
	add(b, a, 10*time.Millisecond, tcp.Header{SrcPort: 80, DstPort: 1000, Seq: 77, Ack: tcp.Seq(5000 + 1000*n), Flags: tcp.ACK, Window: 500, Options: back}, 0)
	return all
}

// checkSums fails the test if a checksum of a complete segment is wrong.
func checkSums(t *testing.T, what string, all Packets) {
	t.Helper()
	for i, p := range all {
		if p.Segment == nil {
			continue
		}
		if p.Segment.Problems.Has(capture.BadChecksum) {
			t.Errorf("%s: packet %d, from %d, has a wrong checksum", what, i+1, p.Number)
		}
		if h := p.at; h.known() && !h.v6 && (tcp.Sum{}).Add(p.Data[h.ip:h.ipEnd(p.Data)]).Checksum() != 0 {
			t.Errorf("%s: packet %d, from %d, has a wrong IP checksum", what, i+1, p.Number)
		}
	}
}

// TestEachDamage runs all damages over captures of all plain link types and a sample: the same seed
// gives the same bytes, what is written is what was counted, and checksums stay right.
func TestEachDamage(t *testing.T) {
	sources := map[string]Packets{"sample": load(t, "burst/a.pcapng.gz"), "IPv6": load(t, "burst-ipv6/a.pcapng.gz")}
	for _, link := range []uint16{linkRaw, linkEthernet, linkNull, linkSLL, linkSLL2} {
		sources[fmt.Sprint("link ", link)] = whole("10.0.0.1", "10.0.0.2", link, 9)
		if link != linkNull {
			sources[fmt.Sprint("link ", link, ", IPv6")] = whole("fd00::1", "fd00::2", link, 9)
		}
	}
	for name, all := range sources {
		before := make([][]byte, len(all))
		for i, p := range all {
			before[i] = bytes.Clone(p.Data)
		}
		for _, d := range All() {
			what := name + ", " + d.String()
			damaged, counts := apply(t, d.String(), all, 7)
			text, back := file(t, damaged, false)
			again, _ := apply(t, d.String(), all, 7)
			if same, _ := file(t, again, false); !bytes.Equal(text, same) {
				t.Errorf("%s: two runs with a seed differ", what)
			}
			if counts.Read != int64(len(all)) || counts.Written != int64(len(back)) || counts.Written != counts.Read-counts.Dropped+counts.Added {
				t.Errorf("%s: %+v, and %d packets are read back of %d", what, counts, len(back), len(all))
			}
			if counts.Unfit > 0 && d.Name != "vlan" {
				t.Errorf("%s: %d packets could not be rewritten", what, counts.Unfit)
			}
			for i, p := range damaged {
				if got := back[i]; !bytes.Equal(p.Data, got.Data) || p.Length != got.Length || p.Time != got.Time {
					t.Fatalf("%s: packet %d is read back as another", what, i+1)
				}
				if p.Segment != nil && back[i].Segment == nil && d.Name != "cut" {
					t.Errorf("%s: packet %d, from %d, is no segment any more", what, i+1, p.Number)
				}
			}
			checkSums(t, what, back)
			for i, p := range all {
				if !bytes.Equal(p.Data, before[i]) {
					t.Fatalf("%s changed packet %d of the source", what, i+1)
				}
			}
		}
	}
}

// changed returns the packets as they are in a damaged capture, by number, and those it added.
func changed(all Packets) (kept map[int64]*Packet, added Packets) {
	kept = map[int64]*Packet{}
	for _, p := range all {
		if p.Added {
			added = append(added, p)
		} else {
			kept[p.Number] = p
		}
	}
	return kept, added
}

// TestMissing drops what it says, and nothing else changes.
func TestMissing(t *testing.T) {
	all := load(t, "burst/a.pcapng.gz")
	for _, test := range []struct {
		text string
		want func(p *Packet) bool // it is left; nil is at random
		most float64              // the part that is missing
		min  float64
	}{
		{"drop:5%", nil, 0.1, 0.02}, {"drop:0%", nil, 0, 0}, {"drop:1", nil, 1, 1}, {"burst:5%", nil, 0.15, 0.01},
		{"noacks", func(p *Packet) bool { return p.Segment.Len > 0 || p.Segment.Header.Flags != tcp.ACK }, 1, 0.1},
		{"oneway:low", func(p *Packet) bool { return p.Segment.Src.Addr().Less(p.Segment.Dst.Addr()) }, 1, 0.1},
		{"oneway:high", func(p *Packet) bool { return p.Segment.Dst.Addr().Less(p.Segment.Src.Addr()) }, 1, 0.1},
		{"begin:25%", func(p *Packet) bool { return p.Number > 105 }, 1, 0.1}, // of 423
		{"end:25%", func(p *Packet) bool { return p.Number <= 423-105 }, 1, 0.1},
	} {
		damaged, counts := apply(t, test.text, all, 3)
		kept, added := changed(damaged)
		if part := float64(counts.Dropped) / float64(len(all)); part > test.most || part < test.min || len(added) > 0 || counts.Changed > 0 {
			t.Errorf("%s: %+v, want a part of %v to %v dropped", test.text, counts, test.min, test.most)
		}
		for _, p := range all {
			q := kept[p.Number]
			if q != nil && !reflect.DeepEqual(p, q) {
				t.Errorf("%s changed packet %d", test.text, p.Number)
			}
			if test.want != nil && test.want(p) != (q != nil) {
				t.Errorf("%s: packet %d is left: %v", test.text, p.Number, q != nil)
			}
		}
	}
}

// TestBurstsAreLonger drops the same part in longer runs.
func TestBurstsAreLonger(t *testing.T) {
	var all Packets
	for i := range 20_000 {
		all = append(all, &Packet{Number: int64(i + 1), Frame: capture.Frame{Time: wheel.Time(i)}})
	}
	runs := func(text string) (dropped, mean float64) {
		damaged, counts := apply(t, text, all, 1)
		n, last := 0.0, int64(0)
		for _, p := range damaged {
			if p.Number > last+1 {
				n++
			}
			last = p.Number
		}
		return float64(counts.Dropped) / float64(len(all)), float64(counts.Dropped) / n
	}
	if part, mean := runs("drop:5%"); part < 0.04 || part > 0.06 || mean > 1.2 {
		t.Errorf("drop: %v in runs of %v, want 5 %% in runs of 1", part, mean)
	}
	if part, mean := runs("burst:5%"); part < 0.035 || part > 0.065 || mean < 6 || mean > 10 {
		t.Errorf("burst: %v in runs of %v, want 5 %% in runs of 8", part, mean)
	}
}

// TestCopies copies each packet, as another point of capture has it.
func TestCopies(t *testing.T) {
	v4, v6 := ether(load(t, "burst/a.pcapng.gz")), ether(load(t, "burst-ipv6/a.pcapng.gz"))
	for _, test := range []struct {
		text string
		late time.Duration
		same func(p, q *Packet) string // what is wrong with a copy
	}{
		{"twice:30us", 30 * time.Microsecond, func(p, q *Packet) string {
			if !bytes.Equal(p.Data, q.Data) || q.Time.Sub(p.Time) != 30*time.Microsecond {
				return "no copy 30 µs later"
			}
			return ""
		}},
		{"mirror:300us", 300 * time.Microsecond, sameBehindRouter},
		{"swapped:300us", 300 * time.Microsecond, sameBehindRouter},
		{"vlan:300us", 300 * time.Microsecond, func(p, q *Packet) string {
			if !bytes.Equal(q.Data, slices.Insert(slices.Clone(p.Data), 12, 0x81, 0, 1, 0x23)) || q.Length != p.Length+4 {
				return "not the frame with a tag"
			}
			return ""
		}},
		{"nat", 0, func(p, q *Packet) string {
			a, b := p.Segment, q.Segment
			if p.side() == 1 {
				if a.Src != b.Src || b.Dst.Port() != a.Dst.Port() || a.Dst.Addr() == b.Dst.Addr() {
					return fmt.Sprint("inbound to ", b.Dst)
				}
			} else if a.Dst != b.Dst || b.Src.Port() != a.Src.Port() || a.Src.Addr() == b.Src.Addr() {
				return fmt.Sprint("outbound from ", b.Src)
			}
			if a.Header.Seq != b.Header.Seq || a.Len != b.Len || a.TTL != b.TTL+1 {
				return "another segment"
			}
			return ""
		}},
		{"tunnel", 0, func(p, q *Packet) string {
			outer := 20
			if p.at.v6 {
				outer = 40
			}
			if !bytes.Equal(q.Data[14+outer:], p.Data[14:]) || q.Length != p.Length+uint32(outer) || q.Segment.Path == 0 {
				return "not the packet in another header"
			}
			return ""
		}},
	} {
		for _, all := range []Packets{v4, v6} {
			damaged, counts := apply(t, test.text, all, 3)
			_, back := file(t, damaged, false)
			if counts.Added != int64(len(all)) || counts.Unfit > 0 || len(back) != 2*len(all) {
				t.Fatalf("%s: %+v of %d", test.text, counts, len(all))
			}
			for i, p := range damaged {
				q := back[i]
				q.Number = p.Number
				was := all[p.Number-1]
				if late := q.Time.Sub(was.Time); late < 0 || late > test.late {
					t.Fatalf("%s: copy of packet %d is %v late", test.text, p.Number, late)
				}
				if i > 0 && q.Time < back[i-1].Time {
					t.Fatalf("%s: packet %d is out of order", test.text, i+1)
				}
				if !p.Added {
					if !bytes.Equal(q.Data, was.Data) {
						t.Fatalf("%s changed packet %d", test.text, p.Number)
					}
				} else if wrong := test.same(was, q); wrong != "" {
					t.Fatalf("%s: copy of packet %d: %s", test.text, p.Number, wrong)
				}
			}
		}
	}
	order := func(text string) bool {
		damaged, _ := apply(t, text, v4, 3)
		_, added := changed(damaged)
		return slices.IsSortedFunc(added, func(a, b *Packet) int { return int(a.Number - b.Number) })
	}
	if !order("mirror:300us") || order("swapped:300us") {
		t.Errorf("copies in order: %v with mirror, %v with swapped", order("mirror:300us"), order("swapped:300us"))
	}
}

func sameBehindRouter(p, q *Packet) string {
	data := slices.Clone(p.Data)
	copy(data[6:12], data[:6])
	copy(data, mirrorMAC[:])
	if p.at.v6 {
		data[14+7]--
	} else {
		data[14+8]--
		copy(data[14+10:14+12], q.Data[14+10:14+12]) // TestEachDamage checks it
	}
	if !bytes.Equal(data, q.Data) {
		return "not the frame behind a router"
	}
	return ""
}

// TestSuperPackets joins segments, and cuts super-packets into the segments that they were.
func TestSuperPackets(t *testing.T) {
	for _, ends := range [][2]string{{"10.0.0.1", "10.0.0.2"}, {"fd00::1", "fd00::2"}} {
		all := whole(ends[0], ends[1], linkEthernet, 9)
		damaged, counts := apply(t, "gro:100us", all, 1)
		if len(damaged) != 2 || counts.Dropped != 8 || counts.Changed != 1 {
			t.Fatalf("gro: %+v", counts)
		}
		super := damaged[0]
		_, back := file(t, damaged, false)
		if s := back[0].Segment; s.Len != 9000 || s.Header.Seq != 5000 || !s.Problems.Has(capture.PartialChecksum) || len(super.More) != 8 {
			t.Errorf("gro: %d bytes from %d, of %v", s.Len, s.Header.Seq, super.More)
		}
		if super.Time != all[8].Time {
			t.Errorf("gro: %v, want the time of the last segment", super.Time)
		}
		for _, p := range all[:9] {
			p.Data[p.at.tcp+13] |= byte(tcp.PSH) // no two fit
		}
		back[0].Number = 1
		damaged, counts = apply(t, "segments:1000", back, 1)
		if counts.Added != 9 || len(damaged) != 11 {
			t.Fatalf("segments: %+v", counts)
		}
		_, back = file(t, damaged, false)
		checkSums(t, "segments", back)
		for i, p := range back[1:10] {
			was := all[i]
			if s := p.Segment; s.Header.Seq != was.Segment.Header.Seq || s.Len != 1000 || !bytes.Equal(p.Data[p.at.payload:], was.Data[was.at.payload:]) {
				t.Errorf("segment %d: %d bytes from %d", i, s.Len, s.Header.Seq)
			}
			if s := p.Segment; s.HasID && s.ID != uint32(100+i) {
				t.Errorf("segment %d: identification %d, want %d", i, s.ID, 100+i)
			}
		}
	}
	all := whole("10.0.0.1", "10.0.0.2", linkEthernet, 9)
	damaged, counts := apply(t, "tso:100us", all, 1)
	kept, added := changed(damaged)
	if len(kept) != 10 || len(added) != 1 || counts.Added != 1 || damaged[0] != added[0] || added[0].Segment.Len != 9000 {
		t.Errorf("tso: %+v, %d kept", counts, len(kept))
	}
	// An answer in between, another ACK, PSH, and a gap keep segments apart.
	for name, change := range map[string]func(all Packets) Packets{
		"answer": func(all Packets) Packets {
			all[4].Segment.Src, all[4].Segment.Dst = all[4].Segment.Dst, all[4].Segment.Src
			return all
		},
		"ACK": func(all Packets) Packets { all[4].Segment.Header.Ack++; return all },
		"PSH": func(all Packets) Packets { all[4].Segment.Header.Flags |= tcp.PSH; return all },
		"gap": func(all Packets) Packets { return slices.Delete(all, 4, 5) },
		"late": func(all Packets) Packets {
			for _, p := range all[4:] {
				p.Time = p.Time.Add(time.Millisecond)
			}
			return all
		},
	} {
		damaged, _ := apply(t, "gro:100us", change(whole("10.0.0.1", "10.0.0.2", linkRaw, 9)), 1)
		if len(damaged) < 3 {
			t.Errorf("gro joins over %s: %d packets left", name, len(damaged))
		}
	}
}

// TestClocks restamps packets, and changes nothing else.
func TestClocks(t *testing.T) {
	all := load(t, "burst/a.pcapng.gz")
	first := all[0].Time
	for _, test := range []struct {
		text string
		ok   func(p *Packet, at wheel.Time) bool
	}{
		{"step:50ms", func(p *Packet, at wheel.Time) bool { return at == p.Time || at == p.Time.Add(50*time.Millisecond) }},
		{"drift:100ppm", func(p *Packet, at wheel.Time) bool {
			return (at.Sub(p.Time) - p.Time.Sub(first)/10_000).Abs() <= time.Microsecond
		}},
		{"resolution:16ms", func(p *Packet, at wheel.Time) bool { return at == p.Time-p.Time%16_000_000 }},
		{"apart:1ms", func(p *Packet, at wheel.Time) bool { return at == p.Time.Add(time.Duration(p.side())*time.Millisecond) }},
	} {
		damaged, counts := apply(t, test.text, all, 5)
		if counts.Changed == 0 || len(damaged) != len(all) {
			t.Errorf("%s: %+v", test.text, counts)
		}
		seen := map[bool]int{}
		for _, p := range damaged {
			was := all[p.Number-1]
			if !test.ok(was, p.Time) || !bytes.Equal(p.Data, was.Data) {
				t.Fatalf("%s: packet %d has %v, was %v", test.text, p.Number, p.Time, was.Time)
			}
			seen[p.Time == was.Time]++
		}
		if strings.HasPrefix(test.text, "step") && (seen[true] == 0 || seen[false] == 0) {
			t.Errorf("%s: %v, want both", test.text, seen)
		}
	}
	damaged, _ := apply(t, "apart:1ms", all, 5)
	if !slices.IsSortedFunc(damaged, func(a, b *Packet) int { return int(a.Time.Sub(b.Time)) }) {
		t.Error("apart: out of order")
	}
}

// TestFields changes what stacks and middleboxes write.
func TestFields(t *testing.T) {
	all := load(t, "burst/a.pcapng.gz")
	for _, test := range []struct {
		text string
		want func(was, is *capture.Packet) bool
	}{
		{"echoes", func(was, is *capture.Packet) bool {
			same := was.Header.Options.TSEcr == is.Header.Options.TSEcr
			is.Header.Options.TSEcr = was.Header.Options.TSEcr
			return same == (was.Header.Options.TSEcr == 0)
		}},
		{"nostamps", func(was, is *capture.Packet) bool {
			gone := !is.Header.Options.HasTimestamps
			o := &is.Header.Options
			o.HasTimestamps, o.TSVal, o.TSEcr = true, was.Header.Options.TSVal, was.Header.Options.TSEcr
			return gone
		}},
		{"ticks:1000", func(was, is *capture.Packet) bool {
			a, b := &was.Header.Options, &is.Header.Options
			ok := b.TSVal == a.TSVal*1000 && b.TSEcr == a.TSEcr*1000
			b.TSVal, b.TSEcr = a.TSVal, a.TSEcr
			return ok
		}},
		{"ticks:1/100", func(was, is *capture.Packet) bool {
			a, b := &was.Header.Options, &is.Header.Options
			ok := b.TSVal == a.TSVal/100 && b.TSEcr == a.TSEcr/100
			b.TSVal, b.TSEcr = a.TSVal, a.TSEcr
			return ok
		}},
		{"ids:zero", func(was, is *capture.Packet) bool {
			ok := is.ID == 0
			is.ID = was.ID
			return ok
		}},
		{"ids:random", func(was, is *capture.Packet) bool {
			is.ID = was.ID
			return true
		}},
	} {
		damaged, counts := apply(t, test.text, all, 5)
		_, back := file(t, damaged, false)
		if counts.Changed == 0 || counts.Dropped+counts.Added+counts.Unfit > 0 {
			t.Errorf("%s: %+v", test.text, counts)
		}
		for i, p := range back {
			was := *all[i].Segment
			was.Header.Checksum, p.Segment.Header.Checksum = 0, 0
			ok := test.want(&was, p.Segment)
			p.Segment.Problems, was.Problems = 0, 0
			if !ok || !reflect.DeepEqual(&was, p.Segment) {
				t.Fatalf("%s: packet %d: %+v, was %+v", test.text, i+1, p.Segment, &was)
			}
		}
	}
}

// TestCut keeps the beginning of packets.
func TestCut(t *testing.T) {
	all := whole("10.0.0.1", "10.0.0.2", linkEthernet, 3)
	damaged, _ := apply(t, "cut:54", all, 1)
	for i, p := range damaged {
		if !bytes.Equal(p.Data, all[i].Data[:54]) || p.Length != all[i].Length {
			t.Errorf("packet %d: %d of %d bytes", i+1, len(p.Data), p.Length)
		}
	}
}

// TestChecksumsStayAsTheyWere rewrites packets with a right, a wrong and a partial checksum, and
// one that was cut.
func TestChecksumsStayAsTheyWere(t *testing.T) {
	stored := func(p *Packet) uint16 { return p.at.stored(p.Data) }
	for _, test := range []struct {
		name   string
		change func(p *Packet)
		want   capture.Problems
	}{
		{"right", func(*Packet) {}, 0},
		{"wrong", func(p *Packet) { p.Data[p.at.payload] ^= 0x55 }, capture.BadChecksum},
		{"partial", func(p *Packet) { binary.BigEndian.PutUint16(p.Data[p.at.tcp+16:], p.at.pseudo(p.Data, p.Segment.Len)) }, capture.PartialChecksum},
	} {
		all := whole("10.0.0.1", "10.0.0.2", linkEthernet, 1)
		test.change(all[0])
		damaged, _ := apply(t, "nat", all, 1)
		_, back := file(t, damaged, false)
		for _, p := range back[:2] {
			if got := p.Segment.Problems; got != test.want {
				t.Errorf("%s: problems %b, want %b", test.name, got, test.want)
			}
		}
	}
	// RFC 1624 §3: what is cut off stays in the sum.
	whole := whole("10.0.0.1", "10.0.0.2", linkEthernet, 1)
	cut, _ := apply(t, "cut:100", whole, 1)
	a, _ := apply(t, "nat", whole, 1)
	b, _ := apply(t, "nat", cut, 1)
	if stored(a[1]) != stored(b[1]) || stored(a[1]) == stored(whole[0]) {
		t.Errorf("checksum %#x where the packet is cut, want %#x as where it is whole", stored(b[1]), stored(a[1]))
	}
	// IPv4's checksum that the sender left out stays out.
	whole[0].Data[14+10], whole[0].Data[14+11] = 0, 0
	a, _ = apply(t, "ids:zero", whole, 1)
	if got := binary.BigEndian.Uint16(a[0].Data[14+10:]); got != 0 {
		t.Errorf("IP checksum %#x, want 0", got)
	}
}

// TestGuests adds connections that are never established, or never end.
func TestGuests(t *testing.T) {
	for _, name := range []string{"burst/a.pcapng.gz", "burst-ipv6/a.pcapng.gz"} {
		all := load(t, name)
		for _, test := range []struct {
			text                             string
			packets, syns, rsts, fins, other int // of each connection; other is not TCP
		}{
			{"unanswered:100", 4, 4, 0, 0, 0}, {"refused:100", 6, 3, 3, 0, 0}, {"unreachable:100", 8, 4, 0, 0, 4}, {"fins:100", 11, 2, 0, 5, 0},
		} {
			damaged, counts := apply(t, test.text, all, 5)
			conns := len(all) / 100
			if counts.Added != int64(conns*test.packets) || counts.Written != counts.Read+counts.Added {
				t.Fatalf("%s: %+v, want %d connections of %d packets", test.text, counts, conns, test.packets)
			}
			var syns, rsts, fins, other int
			_, back := file(t, damaged, false)
			for i, p := range damaged {
				if p.Number > 0 {
					continue
				}
				s := back[i].Segment
				switch {
				case s == nil:
					other++
				case s.Problems != 0:
					t.Errorf("%s: packet %d has problems %b", test.text, i+1, s.Problems)
				case s.Header.Flags.Has(tcp.SYN):
					syns++
				case s.Header.Flags.Has(tcp.RST):
					rsts++
				case s.Header.Flags.Has(tcp.FIN):
					fins++
				}
			}
			if syns != conns*test.syns || rsts != conns*test.rsts || fins != conns*test.fins || other != conns*test.other {
				t.Errorf("%s: %d SYNs, %d RSTs, %d FINs, %d others of %d connections", test.text, syns, rsts, fins, other, conns)
			}
		}
	}
}

// TestParse names what is wrong.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"nothing":       `no damage "nothing", want one of drop, burst`,
		"drop:2":        `damage drop: "2", want a share from 0% to 100%, such as 1%`,
		"drop:x":        "want a share",
		"drop:NaN":      "want a share",
		"noacks:1":      "damage noacks has no parameter",
		"twice:-1s":     "want a duration from 0s to 100ms",
		"twice:1s":      "want a duration",
		"cut:0":         "want a number from 1 to 262144",
		"oneway:up":     `want low or high`,
		"drift:100":     "want -10000ppm to 10000ppm",
		"ticks:0":       "want a factor from 1/1000000 to 1000000",
		"ticks:3/2":     "want a factor",
		"resolution:0s": "want a duration from 1ns to 1s",
		"unanswered:0":  "want a number",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want %q", text, err, want)
		}
	}
	for _, d := range All() {
		if again, err := Parse(d.String()); err != nil || again.String() != d.String() {
			t.Errorf("Parse(%q) = %v, %v", d, again, err)
		}
	}
}

// TestSourceEnds writes what came before an error.
func TestSourceEnds(t *testing.T) {
	all := load(t, "tail-one/a.pcapng.gz")
	text, _ := file(t, all, true)
	r, err := capture.NewReader(bytes.NewReader(text[:len(text)-9]), "cut")
	if err != nil {
		t.Fatal(err)
	}
	d, _ := Parse("apart:1ms")
	counts, err := d.Run(NewFile(r, -1), func(*Packet) error { return nil }, 1)
	if !errors.Is(err, capture.ErrCutShort) || counts.Written != int64(len(all)-1) {
		t.Errorf("%+v of %d packets, %v", counts, len(all), err)
	}
	full := errors.New("full")
	if _, err := d.Run(all.Source(), func(*Packet) error { return full }, 1); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
	d, _ = Parse("end:1%")
	if _, err := d.Run(NewFile(r, -1), func(*Packet) error { return nil }, 1); err == nil || !strings.Contains(err.Error(), "number of packets") {
		t.Errorf("%v, want that the number of packets is not known", err)
	}
}

// TestComments name the packets that a packet was made from.
func TestComments(t *testing.T) {
	damaged, _ := apply(t, "tso:100us", whole("10.0.0.1", "10.0.0.2", linkRaw, 3), 1)
	text, _ := file(t, damaged, true)
	r, err := capture.NewReader(bytes.NewReader(text), "commented")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		if _, err := r.Next(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Comments()...)
	}
	if want := []string{"added, from packet 1, 2, 3", "packet 1", "packet 2", "packet 3", "packet 4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPublicCaptures finds the headers in captures of all link types and tunnels.
func TestPublicCaptures(t *testing.T) {
	const dir = "../../../shared/captures/"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no public captures")
	}
	var segments, unknown int
	for _, part := range []string{"", "second/", "third/"} {
		entries, err := os.ReadDir(dir + part)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			r, err := capture.Open(dir + part + e.Name())
			if err != nil {
				continue
			}
			f := NewFile(r, -1)
			for n := 0; n < 3000; n++ {
				p, err := f.Next()
				if err != nil {
					break
				}
				if p.Segment != nil {
					segments++
					if !p.at.known() && !p.Segment.Problems.Has(capture.Fragment) {
						unknown++
					}
				}
			}
			r.Close()
		}
	}
	t.Logf("the headers of %d of %d segments are not found", unknown, segments)
	if unknown*1000 > segments {
		t.Errorf("the headers of %d of %d segments are not found, want 1 in 1000 at most", unknown, segments)
	}
}
