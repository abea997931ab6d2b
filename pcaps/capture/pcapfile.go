package capture

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"tcpwheel/wheel"
)

// The two formats are read here and not by gopacket's pcapgo, which is a twin in the tests. pcapgo
// treats a cut file as complete, allocates what a damaged length says (4 GB), refuses packets
// longer than the snapshot length, and knows neither Kuznetzov's format, nor stamps of 10^-12 or
// 2^-n s, nor comments, directions and drop counts of packets. Its stamps alone cost more than the
// decoder here.

// pcapFile reads tcpdump's format: a header, then records.
type pcapFile struct {
	in      *input
	order   binary.ByteOrder
	little  bool
	nano    bool
	swapped lengths
	header  int // bytes before a packet: see layouts
	padding int // bytes between this header and the packet, which the record's lengths include
	iface   []Interface

	// others are the layouts that the records may have instead of header. The first records decide.
	others []int
}

// Layouts of a record's header, by length. The first 16 bytes are the same in all.
const (
	layoutPlain  = 16 // stamp and lengths
	layoutNokia  = 20 // plus four bytes of unknown meaning
	layoutKuznet = 24 // plus interface, ethertype and direction: patches of April and October 1999
	layoutCPUs   = 28 // plus two processors: the patch of September 1999
)

// lengths says which length of a record is the number of bytes kept.
type lengths uint8

const (
	keptFirst lengths = iota
	keptLast          // versions before 2.3
	keptLess          // version 2.3, which programs wrote both ways
)

const (
	pcapHeader  = 24
	magicMicro  = 0xa1b2c3d4
	magicNano   = 0xa1b23c4d
	magicKuznet = 0xa1b2cd34 // Alexey Kuznetzov's later patches for Linux 2.0
	magicIxiaHW = 0x1c0001ac // Ixia's, with four more bytes behind the file's header
	magicIxiaSW = 0x1c0001ab
)

var magics = [...]uint32{magicMicro, magicNano, magicKuznet, magicIxiaHW, magicIxiaSW}

// isMagic reports whether a file of pcap may begin with v.
func isMagic(v uint32) bool { return slices.Contains(magics[:], v) }

// isPcap reports whether the first 4 bytes of a file are a pcap magic number.
func isPcap(magic []byte) bool {
	return isMagic(binary.LittleEndian.Uint32(magic)) || isMagic(binary.BigEndian.Uint32(magic))
}

// newPcapFile reads the file header.
func newPcapFile(in *input) (*pcapFile, error) {
	b, err := in.peek(pcapHeader)
	if err != nil {
		return nil, cutShort("a header", pcapHeader, len(b), err)
	}
	f := &pcapFile{in: in, order: binary.BigEndian, header: layoutPlain}
	magic, size := binary.BigEndian.Uint32(b), pcapHeader
	if little := binary.LittleEndian.Uint32(b); isMagic(little) {
		f.order, f.little, magic = binary.LittleEndian, true, little
	}
	switch magic {
	case magicMicro:
		f.others = []int{layoutKuznet, layoutNokia} // Kuznetzov's first patch kept the number
	case magicNano:
		f.nano = true
	case magicKuznet:
		f.header, f.others = layoutKuznet, []int{layoutCPUs}
	case magicIxiaHW, magicIxiaSW:
		if size += 4; len(b) < size {
			if b, err = in.peek(size); err != nil {
				return nil, cutShort("a header", int64(size), len(b), err)
			}
		}
	}
	major, minor := f.order.Uint16(b[4:]), f.order.Uint16(b[6:])
	switch {
	case major == 543: // DG/UX
		f.swapped = keptLast
	case major != 2:
		return nil, fmt.Errorf("pcap version %d.%d, want 2.0 to 2.4", major, minor)
	case minor < 3:
		f.swapped = keptLast
	case minor == 3:
		f.swapped = keptLess
	}
	f.iface = []Interface{{
		// The upper bits give the length of the frame check sequence.
		LinkType: uint16(f.order.Uint32(b[20:])),
		SnapLen:  f.order.Uint32(b[16:]),
	}}
	if magic == magicMicro && major == 2 && minor == 2 {
		f.aix()
	}
	in.advance(size)
	return f, nil
}

// aix makes f read AIX's files, if it is one: of version 2.2, with the ifType of SNMP's MIB as the
// link type, stamps in ns, and FDDI frames behind three bytes.
func (f *pcapFile) aix() {
	on := &f.iface[0]
	switch on.LinkType {
	case 6: // ethernetCsmacd
		on.LinkType = linkEthernet
	case 15: // fddi
		on.LinkType, f.padding = linkFDDI, 3
	case 24: // softwareLoopback
		on.LinkType = linkNull
	default:
		return
	}
	f.nano, f.others = true, nil
}

// settle finds the layout of the records' headers from the first records, as far as they are in
// memory. The magic number's layout wins if the second record makes sense by it. Else another one
// wins that makes sense of all of them, and of two at least. So a file that is cut or damaged
// remains what it is.
func (f *pcapFile) settle() {
	b, most := f.in.window, f.iface[0].SnapLen
	if right, all := f.sound(b, f.header, most); !all && right < 2 {
		for _, layout := range f.others {
			if right, all := f.sound(b, layout, most); all && right > 1 {
				f.header = layout
				break
			}
		}
	}
	f.others = nil
}

// sound returns how many records in b are sound, up to the first that is not, if they have that
// layout, and whether all of them are. Eight are enough, and the last one may be incomplete.
func (f *pcapFile) sound(b []byte, layout int, most uint32) (n int, all bool) {
	const years = 10 * 366 * 24 * 3600
	for first := int64(0); n < 8 && len(b) >= layoutPlain; n++ {
		second := int64(f.u32(b))
		if n == 0 {
			first = second
		}
		kept, length := f.lengths(b)
		// As in Wireshark: a second has 10^6 µs, and no packet has 128 MiB.
		if f.u32(b[4:]) >= 1_000_000 || kept > length || kept > maxRecord || most > 0 && kept > most || length > 128<<20 {
			return n, false
		}
		if layout != f.header && (second-first > years || first-second > years) {
			return n, false
		}
		if len(b) < layout+int(kept) {
			break
		}
		b = b[layout+int(kept):]
	}
	return n, true
}

// lengths returns how many bytes of a packet were kept, and how many it had.
func (f *pcapFile) lengths(head []byte) (kept, length uint32) {
	kept, length = f.u32(head[8:]), f.u32(head[12:])
	if f.swapped == keptLast || f.swapped == keptLess && kept > length {
		kept, length = length, kept
	}
	return kept, length
}

func (f *pcapFile) interfaces() []Interface { return f.iface }

func (f *pcapFile) u32(b []byte) uint32 {
	// Twice as fast as the interface binary.ByteOrder.
	if f.little {
		return binary.LittleEndian.Uint32(b)
	}
	return binary.BigEndian.Uint32(b)
}

func (f *pcapFile) next(rec *record) error {
	f.in.unit = f.in.offset
	head, err := f.in.peek(f.header)
	if f.others != nil && len(head) > 0 {
		f.settle()
		head, err = f.in.peek(f.header)
	}
	if err != nil {
		if len(head) == 0 && err == io.EOF {
			return io.EOF
		}
		return cutShort("a packet's header", int64(f.header), len(head), err)
	}
	kept, length := f.lengths(head)
	if kept > maxRecord {
		return fmt.Errorf("a packet of %d bytes, want 0 to %d", kept, maxRecord)
	}
	fraction := wheel.Time(f.u32(head[4:]))
	if !f.nano {
		fraction *= 1000
	}
	rec.time = wheel.Time(f.u32(head))*1_000_000_000 + fraction
	if f.header >= layoutKuznet {
		rec.direction = linuxDirection(uint16(head[22]))
	}
	all, err := f.in.peek(f.header + int(kept))
	if err != nil {
		return cutShort("a packet", int64(kept), len(all)-f.header, err)
	}
	f.in.advance(len(all))
	rec.data = all[f.header:]
	rec.length = max(length, kept)
	if f.padding > 0 {
		n := min(f.padding, len(rec.data))
		rec.data, rec.length = rec.data[n:], rec.length-uint32(n)
	}
	f.iface[0].Packets++
	return nil
}

// linuxDirection maps Linux's packet types: to us, broadcast, multicast, to another host, sent by
// us.
func linuxDirection(kind uint16) Direction {
	switch {
	case kind == 4:
		return Outbound
	case kind < 3:
		return Inbound
	}
	return Unknown
}
