package capture

import (
	"encoding/binary"
	"fmt"
	"io"

	"tcpwheel/wheel"
)

// The two formats are read here and not by gopacket's pcapgo, which is a twin in the tests. pcapgo takes a file that is cut
// short for one that ends, allocates what a damaged length says (4 GB), refuses packets longer than the snapshot length
// that tcpdump and Wireshark take, and knows neither Kuznetzov's format, nor stamps at 10^-12 or 2^-n s, nor the
// comments, directions and drop counts of packets. Its stamps cost more than the whole of the decoder here.

// pcapFile reads the format of tcpdump: a header, then records.
type pcapFile struct {
	in      *input
	order   binary.ByteOrder
	little  bool
	nano    bool
	swapped lengths
	header  int // octets before a packet: 16, or 24 with Kuznetzov's additions
	iface   []Interface
}

// lengths says which of the two lengths of a record is that of what was kept.
type lengths uint8

const (
	keptFirst lengths = iota
	keptLast          // versions before 2.3
	keptLess          // version 2.3, of which programs wrote both
)

const (
	pcapHeader  = 24
	magicMicro  = 0xa1b2c3d4
	magicNano   = 0xa1b23c4d
	magicKuznet = 0xa1b2cd34 // Alexey Kuznetzov's patches for Linux 2.0
)

// isPcap reports whether a file that begins with these 4 octets is of this format.
func isPcap(magic []byte) bool {
	for _, v := range []uint32{binary.LittleEndian.Uint32(magic), binary.BigEndian.Uint32(magic)} {
		if v == magicMicro || v == magicNano || v == magicKuznet {
			return true
		}
	}
	return false
}

// newPcapFile reads the header.
func newPcapFile(in *input) (*pcapFile, error) {
	b, err := in.peek(pcapHeader)
	if err != nil {
		return nil, cut("a header", pcapHeader, len(b), err)
	}
	f := &pcapFile{in: in, order: binary.BigEndian, header: 16}
	magic := binary.BigEndian.Uint32(b)
	if little := binary.LittleEndian.Uint32(b); little == magicMicro || little == magicNano || little == magicKuznet {
		f.order, f.little, magic = binary.LittleEndian, true, little
	}
	switch magic {
	case magicNano:
		f.nano = true
	case magicKuznet:
		f.header = 24
	}
	major, minor := f.order.Uint16(b[4:]), f.order.Uint16(b[6:])
	switch {
	case major != 2:
		return nil, fmt.Errorf("pcap version %d.%d, want 2.0 to 2.4", major, minor)
	case minor < 3:
		f.swapped = keptLast
	case minor == 3:
		f.swapped = keptLess
	}
	f.iface = []Interface{{
		// The upper bits say how long the frame check sequence is.
		LinkType: uint16(f.order.Uint32(b[20:])),
		SnapLen:  f.order.Uint32(b[16:]),
	}}
	in.advance(pcapHeader)
	return f, nil
}

func (f *pcapFile) interfaces() []Interface { return f.iface }

func (f *pcapFile) u32(b []byte) uint32 {
	// Twice as fast as by the interface binary.ByteOrder.
	if f.little {
		return binary.LittleEndian.Uint32(b)
	}
	return binary.BigEndian.Uint32(b)
}

func (f *pcapFile) next(rec *record) error {
	f.in.unit = f.in.offset
	head, err := f.in.peek(f.header)
	if err != nil {
		if len(head) == 0 && err == io.EOF {
			return io.EOF
		}
		return cut("a packet's header", int64(f.header), len(head), err)
	}
	kept, length := f.u32(head[8:]), f.u32(head[12:])
	if f.swapped == keptLast || f.swapped == keptLess && kept > length {
		kept, length = length, kept
	}
	if kept > maxRecord {
		return fmt.Errorf("a packet of %d octets, want 0 to %d", kept, maxRecord)
	}
	fraction := wheel.Time(f.u32(head[4:]))
	if !f.nano {
		fraction *= 1000
	}
	rec.time = wheel.Time(f.u32(head))*1_000_000_000 + fraction
	if f.header == 24 {
		rec.direction = linuxDirection(uint16(head[22]))
	}
	all, err := f.in.peek(f.header + int(kept))
	if err != nil {
		return cut("a packet", int64(kept), len(all)-f.header, err)
	}
	f.in.advance(len(all))
	rec.data = all[f.header:]
	rec.length = max(length, kept)
	f.iface[0].Packets++
	return nil
}

// linuxDirection is what Linux's kinds of packet say: to us, broadcast, multicast, to another host, sent by us.
func linuxDirection(kind uint16) Direction {
	switch {
	case kind == 4:
		return Outbound
	case kind < 3:
		return Inbound
	}
	return Unknown
}
