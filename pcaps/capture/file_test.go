package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcapgo"

	"tcpwheel/wheel"
)

var orders = map[string]byteOrder{"little": binary.LittleEndian, "big": binary.BigEndian}

// A stamp of 2024-06-01, in ns and rounded down to µs.
const stampNano, stampMicro = 1_717_200_000_123_456_789, 1_717_200_000_123_456_000

func TestPcap(t *testing.T) {
	packet := ether(0x0800, hello())
	for name, order := range orders {
		for _, f := range []struct {
			magic     uint32
			want      wheel.Time
			direction Direction
		}{{magicMicro, stampMicro, Unknown}, {magicNano, stampNano, Unknown}, {magicKuznet, stampMicro, Outbound}} {
			file := pcapOf(order, f.magic, 1, raw{at: stampNano, data: packet}, raw{at: stampNano + 5000, data: packet[:60], length: len(packet)})
			all, r, err := readBytes(t, file)
			if err != io.EOF || len(all) != 2 {
				t.Fatalf("%s, %#x: %d packets, %v, want 2 and the end", name, f.magic, len(all), err)
			}
			if p := all[0]; p.Time != f.want || p.Number != 1 || p.Len != 5 || p.Direction != f.direction || p.Problems != 0 {
				t.Errorf("%s, %#x: first %+v", name, f.magic, p)
			}
			if p := all[1]; p.Time != f.want+5000 || p.Number != 2 || p.Len != 5 || !p.Problems.Has(OptionsCut) {
				t.Errorf("%s, %#x: second %+v", name, f.magic, p)
			}
			s := r.Stats()
			if s.First != f.want || s.Last != f.want+5000 || s.Bytes != int64(len(file)) || s.Truncated != 1 || s.Count(OptionsCut) != 1 {
				t.Errorf("%s, %#x: %+v", name, f.magic, s)
			}
			if i := r.Interfaces(); len(i) != 1 || i[0].Packets != 2 || i[0].SnapLen != 1<<18 || i[0].LinkType != 1 {
				t.Errorf("%s, %#x: interfaces %+v", name, f.magic, i)
			}
		}
	}
}

// TestOldPcap reads versions before 2.3, with swapped lengths, and 2.3, with either order.
func TestOldPcap(t *testing.T) {
	packet := ether(0x0800, hello())
	for minor, swapped := range map[uint16][]bool{1: {true}, 2: {true}, 3: {true, false}, 4: {false}} {
		for _, swapped := range swapped {
			file := pcapOf(binary.LittleEndian, magicMicro, 1, raw{data: packet, length: 200}, raw{data: packet})
			binary.LittleEndian.PutUint16(file[6:], minor)
			if swapped {
				copy(file[32:], slices.Concat(file[36:40], file[32:36]))
			}
			if all, _, err := readBytes(t, file); len(all) != 2 || err != io.EOF || all[0].Len != 5 {
				t.Errorf("version 2.%d, swapped %v: %d packets, %v", minor, swapped, len(all), err)
			}
		}
	}
}

// TestLinkTypeWithFCSLength reads a link type that shares its field with the length of the frame
// check sequence.
func TestLinkTypeWithFCSLength(t *testing.T) {
	file := pcapOfHello(1, ether(0x0800, hello()))
	file[23] = 0x24 // a check sequence of 2 words
	if all, _, err := readBytes(t, file); len(all) != 1 || err != io.EOF {
		t.Errorf("%d packets, %v, want 1", len(all), err)
	}
}

func TestPcapng(t *testing.T) {
	packet, packet6 := ether(0x0800, hello()), hello6()
	for name, order := range orders {
		g := (&ng{byteOrder: order}).section()
		g.port(1, 100, g.option(2, []byte("eth0")), g.option(3, []byte("the first")), g.option(9, []byte{9}))
		g.port(101, 0, g.option(2, []byte("tun0")))
		g.block(4, repeat(1, 20)) // name resolution
		g.packet(0, stampNano, packet, g.option(1, []byte("a comment")), g.option(2, g.u32(nil, 2)), g.option(1, []byte("another")))
		g.packet(1, stampMicro/1000, packet6, g.option(2, g.u32(nil, 1)), g.option(4, g.u32(nil, 3, 3)[0:8]))
		g.block(blockOldPacket, g.AppendUint16(g.AppendUint16(nil, 1), 2), g.u32(nil, uint32(stampMicro/1000>>32), uint32(stampMicro/1000&math.MaxUint32), uint32(len(packet6)), 500), packet6)
		g.block(blockSimple, g.u32(nil, uint32(len(packet))), packet)
		g.block(blockStatistics, g.u32(nil, 0, 0, 0), g.option(5, g.AppendUint64(nil, 7)), g.option(7, g.AppendUint64(nil, 4)))
		// A second section, in the other byte order, with its own interfaces.
		other := &ng{byteOrder: binary.LittleEndian, b: g.b}
		if order == binary.LittleEndian {
			other.byteOrder = binary.BigEndian
		}
		other.section().port(1, 0, other.option(2, []byte("eth1")))
		other.packet(0, stampMicro/1000, packet)

		r, err := NewReader(bytes.NewReader(other.b), "built")
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []struct {
			iface     int
			time      wheel.Time
			direction Direction
			problems  Problems
			comments  []string
		}{
			{0, stampNano, Outbound, 0, []string{"a comment", "another"}},
			{1, stampMicro, Inbound, 0, nil},
			{1, stampMicro, Unknown, 0, nil},
			{0, stampMicro, Unknown, NoStamp | ClockBack, nil},
			{2, stampMicro, Unknown, 0, nil},
		} {
			p, err := r.Next()
			if err != nil {
				t.Fatalf("%s: packet %d: %v", name, i+1, err)
			}
			if p.Number != int64(i+1) || p.Interface != want.iface || p.Time != want.time || p.Direction != want.direction ||
				p.Problems != want.problems || p.Len != 5 || string(p.Payload) != "hello" {
				t.Errorf("%s: packet %d: %+v, want %+v", name, i+1, *p, want)
			}
			if got := r.Comments(); !slices.Equal(got, want.comments) {
				t.Errorf("%s: packet %d: comments %q, want %q", name, i+1, got, want.comments)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: %v, want the end", name, err)
		}
		var got []string
		for _, i := range r.Interfaces() {
			got = append(got, fmt.Sprint(i.Name, i.Description, i.LinkType, i.SnapLen, i.Packets, i.Dropped))
		}
		drops := uint64(3)<<32 + 3 + 2
		if want := []string{"eth0the first1 100 2 11", fmt.Sprint("tun0", 101, " ", 0, " ", 2, " ", drops), "eth11 0 1 0"}; !slices.Equal(got, want) {
			t.Errorf("%s: interfaces %q, want %q", name, got, want)
		}
		if s := r.Stats(); s.Packets != 5 || s.Dropped != 11+drops {
			t.Errorf("%s: %+v, want 5 packets, %d dropped", name, s, 11+drops)
		}
	}
}

func TestStampsOfPcapng(t *testing.T) {
	for _, c := range []struct {
		code   uint8
		offset int64
		stamp  uint64
		want   wheel.Time
	}{
		{6, 0, 1_717_200_000_123_456, stampMicro},
		{9, 0, stampNano, stampNano},
		{0, 0, 17, 17e9},
		{3, 0, 17, 17e6},
		{12, 0, 1_999, 1},
		{28, 0, math.MaxUint64, 1},
		{29, 0, math.MaxUint64, 0},
		{127, 0, math.MaxUint64, 0},
		{0x80, 0, 17, 17e9},
		{0x80 | 1, 0, 17, 8.5e9},
		{0x80 | 30, 0, 3<<30 | 1<<29, 3.5e9},
		{0x80 | 63, 0, 3 << 62, 1.5e9},
		{0x80 | 64, 0, 1 << 63, 0.5e9},
		{0x80 | 127, 0, math.MaxUint64, 0},
		{6, 1_717_200_000, 123_456, stampMicro},
		{6, -1, 2_000_000, 1e9},
		{6, -5, 0, -5e9},
		{0, 0, math.MaxUint64, math.MaxInt64},
		{9, 0, math.MaxUint64, math.MaxInt64},
		{0x80, 0, math.MaxUint64, math.MaxInt64},
		{9, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{9, math.MinInt64, 0, -9_223_372_036_000_000_000},
	} {
		if got := (resolution{c.code, c.offset}).nanoseconds(c.stamp); got != c.want {
			t.Errorf("stamp %d at resolution %#x from %d s is %d, want %d", c.stamp, c.code, c.offset, got, c.want)
		}
	}
	g := &ng{byteOrder: binary.LittleEndian}
	g.section().port(101, 0, g.option(9, []byte{3}), g.option(14, g.AppendUint64(nil, 1000))).packet(0, 7, hello())
	if all, _, err := readBytes(t, g.b); err != io.EOF || all[0].Time != 1000e9+7e6 {
		t.Errorf("%v, %+v, want the stamp 1000.007 s", err, all)
	}
}

// TestCutShortAnywhere cuts files at every byte. All complete packets are read. The error is io.EOF
// between packets and ErrCutShort elsewhere.
func TestCutShortAnywhere(t *testing.T) {
	g := (&ng{byteOrder: binary.BigEndian}).section().port(101, 0)
	ends := []int{len(g.b)}
	for range 3 {
		g.packet(0, 1, hello())
		ends = append(ends, len(g.b))
	}
	classic := pcapOf(binary.LittleEndian, magicMicro, 101, raw{data: hello()}, raw{data: hello()}, raw{data: hello()})
	record := (len(classic) - 24) / 3
	for _, f := range []struct {
		name string
		file []byte
		ends []int // of the header, and of packets
	}{{"pcap", classic, []int{24, 24 + record, 24 + 2*record, 24 + 3*record}}, {"pcapng", g.b, ends}} {
		for at := range f.file {
			all, _, err := readBytes(t, f.file[:at])
			whole, clean := 0, at == 28 && f.name == "pcapng" // after the section header
			for i, end := range f.ends {
				if end <= at {
					whole = i
					clean = clean || end == at
				}
			}
			if len(all) != whole {
				t.Errorf("%s cut at %d: %d packets, want %d", f.name, at, len(all), whole)
			}
			switch {
			case at == 0:
				if err == nil || errors.Is(err, ErrCutShort) || err.Error() != "built: an empty file, want a capture" {
					t.Errorf("%s cut at 0: %v", f.name, err)
				}
			case clean && err != io.EOF, !clean && !errors.Is(err, ErrCutShort):
				t.Errorf("%s cut at %d: %v", f.name, at, err)
			}
		}
	}
}

func TestDamagedFiles(t *testing.T) {
	le := &ng{byteOrder: binary.LittleEndian}
	fresh := func() *ng { return &ng{byteOrder: binary.LittleEndian} }
	good := fresh().section().port(101, 0).b
	with := func(f func(*ng)) []byte {
		g := &ng{byteOrder: binary.LittleEndian, b: slices.Clone(good)}
		f(g)
		return g.b
	}
	change := func(b []byte, at int, v ...byte) []byte {
		b = slices.Clone(b)
		copy(b[at:], v)
		return b
	}
	classic := pcapOfHello(101, hello())
	ports := fresh().section()
	for range maxInterfaces + 1 {
		ports.port(101, 0)
	}
	for _, c := range []struct {
		file []byte
		want string
	}{
		{[]byte("hello, world\n"), `built: not a capture: it begins with "hello, world\n", want pcap or pcapng, plain or compressed with gzip, zstd or bzip2`},
		{[]byte("\xfd7zXZ\x00 etc."), "built: a file compressed with xz, want pcap or pcapng, plain or compressed with gzip, zstd or bzip2: xz -d unpacks it"},
		{[]byte("version https://git-lfs.github.com/spec/v1\n"), "built: a file that Git LFS keeps elsewhere, want pcap or pcapng, plain or compressed with gzip, zstd or bzip2: git lfs pull fetches it"},
		{[]byte("snoop\x00\x00\x00\x00\x00\x00\x02"), "built: a file of snoop, want pcap or pcapng, plain or compressed with gzip, zstd or bzip2: editcap -F pcapng converts it"},
		{erfRecords(2), "built: a file of Endace's ERF, want pcap or pcapng, plain or compressed with gzip, zstd or bzip2: editcap -F pcapng converts it"},
		{erfRecords(1), `built: not a capture: it begins with "\x00\x00\x00\x00\x00\x00\x00\x00\x02\x04\x00P\x00\x00\x00>", want pcap or pcapng, plain or compressed with gzip, zstd or bzip2`},
		{change(classic, 4, 3), "built: pcap version 3.4, want 2.0 to 2.4"},
		{change(classic, 32, 1, 0, 0, 1), "built: packet 1: at byte 24: a packet of 16777217 bytes, want 0 to 16777216"},
		{change(classic, 32, 1, 0, 0, 0xff), "built: packet 1: at byte 24: a packet of 4278190081 bytes, want 0 to 16777216"},
		{change(good, 8, 1, 2, 3, 4), `built: packet 1: at byte 0: byte order 0x01020304 of a section, want 0x1a2b3c4d in either order`},
		{change(good, 12, 2), "built: packet 1: at byte 0: pcapng version 2.0, want 1.0"},
		{change(good, 4, 13), "built: packet 1: at byte 0: a section header of 13 bytes, want a multiple of 4 from 12"},
		{change(good, 4, 16), "built: packet 1: at byte 0: a section header of 16 bytes, want 28 to 17825792"},
		{change(good, 24, 32), "built: packet 1: at byte 0: a section header of 28 bytes at its beginning, and of 32 at its end"},
		{with(func(g *ng) { g.block(blockInterface, nil) }), "built: packet 1: at byte 48: an interface description of 12 bytes, want 20 to 17825792"},
		{with(func(g *ng) { g.packet(1, 0, hello()) }), "built: packet 1: at byte 48: a packet of interface 1, want one of 1"},
		{with(func(g *ng) { g.block(blockOldPacket, le.u32(nil, 7, 0, 0, 0, 0)) }), "built: packet 1: at byte 48: a packet of interface 7, want one of 1"},
		{fresh().section().block(blockSimple, le.u32(nil, 0)).b, "built: packet 1: at byte 28: a packet of interface 0, want one of 0"},
		{with(func(g *ng) { g.block(blockStatistics, le.u32(nil, 9, 0, 0)) }), "built: packet 1: at byte 48: statistics of interface 9, want one of 1"},
		{with(func(g *ng) { g.block(blockPacket, le.u32(nil, 0, 0, 0, 9, 9), repeat(0, 8)) }), "built: packet 1: at byte 48: a packet of 9 bytes, want 8 at most in a block of 40"},
		{ports.b, "built: packet 1: at byte 1310748: more than 65536 interfaces"},
	} {
		_, _, err := readBytes(t, c.file)
		if err == nil || err.Error() != c.want || errors.Is(err, ErrCutShort) {
			t.Errorf("%.40q: %v, want %s", c.file, err, c.want)
		}
	}
}

// TestErrorsAreSticky expects an error to be sticky.
func TestErrorsAreSticky(t *testing.T) {
	r, err := NewReader(bytes.NewReader(pcapOfHello(101, hello())[:60]), "x.pcap")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err := r.Next()
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrCutShort) || e.File != "x.pcap" || e.Packet != 1 || e.Offset != 24 {
			t.Errorf("%v", err)
		}
		if want := "x.pcap: packet 1: at byte 24: the file is cut short: 20 bytes left, want a packet of 57"; err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestInconsistentOptions reads packets whose options contradict their block. The options end there
// and the packets are good.
func TestInconsistentOptions(t *testing.T) {
	for _, options := range [][]byte{{1}, {1, 0, 9, 0}, {1, 0, 0xff, 0xff, 0, 0, 0, 0}, {0, 0, 4, 0, 1, 2, 3, 4}, {2, 0, 1, 0, 9, 0, 0, 0}} {
		g := (&ng{byteOrder: binary.LittleEndian}).section().port(101, 0, options).packet(0, 1, hello(), options)
		if all, r, err := readBytes(t, g.b); err != io.EOF || len(all) != 1 || r.Comments() != nil {
			t.Errorf("options %x: %d packets, %v", options, len(all), err)
		}
	}
}

// TestAgreesWithPcapgo reads the public captures by gopacket's pcapgo, too: same packets, same
// stamps.
func TestAgreesWithPcapgo(t *testing.T) {
	for _, name := range []string{
		"pptp-big-endian.pcap", "ndt-server-rto-backoff.pcap.gz", "ndt-client-upload-clean.pcap", "tls-3-interfaces.pcapng",
		"tls-reorder-spurious.pcapng", "tls-sgt-rto-backoff.pcap",
	} {
		file := unpacked(t, publicFile(t, name))
		var theirs interface {
			ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error)
		}
		var err error
		if strings.HasSuffix(name, "ng") {
			theirs, err = pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
		} else {
			theirs, err = pcapgo.NewReader(bytes.NewReader(file))
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(file), name)
		if err != nil {
			t.Fatal(err)
		}
		packets := 0
		for rec := (record{}); ; packets++ {
			data, info, theirErr := theirs.ZeroCopyReadPacketData()
			err := r.file.next(&rec)
			if err != nil || theirErr != nil {
				if err != io.EOF || theirErr != io.EOF {
					t.Errorf("%s: %v after %d packets, pcapgo %v", name, err, packets, theirErr)
				}
				break
			}
			if !bytes.Equal(rec.data, data) || int(rec.length) != info.Length || int64(rec.time) != info.Timestamp.UnixNano() || rec.iface != info.InterfaceIndex {
				t.Fatalf("%s: packet %d: %d of %d bytes at %d on %d, pcapgo %+v", name, packets+1, len(rec.data), rec.length, rec.time, rec.iface, info)
			}
		}
		if packets == 0 {
			t.Errorf("%s: no packets", name)
		}
	}
}

// erfRecords returns n Ethernet records in ERF.
func erfRecords(n int) (file []byte) {
	for i := range n {
		record := make([]byte, 80)
		record[0], record[8], record[9], record[11], record[15] = byte(i), 2, 4, 80, 62
		file = append(file, record...)
	}
	return file
}

// TestShortFiles: fewer than four bytes are a capture cut short only if one begins so.
func TestShortFiles(t *testing.T) {
	for text, cut := range map[string]bool{
		"hi\n": false, "x": false, "\n\r\r": true, "\n": true, "\xd4\xc3\xb2": true, "\xa1": true, "\x1f\x8b": true, "BZh": true, "BZ\n": false,
	} {
		_, _, err := readBytes(t, []byte(text))
		if errors.Is(err, ErrCutShort) != cut || errors.Is(err, ErrNotCapture) == cut {
			t.Errorf("%q: %v, want cut short: %v", text, err, cut)
		}
	}
}
