package capture

import (
	"encoding/binary"
	"fmt"
	"io"

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
	header  int // bytes before a packet: 16, or 24 with Kuznetzov's additions
	iface   []Interface
}

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
	magicKuznet = 0xa1b2cd34 // Alexey Kuznetzov's patches for Linux 2.0
)

// isPcap reports whether the first 4 bytes of a file are a pcap magic number.
func isPcap(magic []byte) bool {
	for _, v := range []uint32{binary.LittleEndian.Uint32(magic), binary.BigEndian.Uint32(magic)} {
		if v == magicMicro || v == magicNano || v == magicKuznet {
			return true
		}
	}
	return false
}

// newPcapFile reads the file header.
func newPcapFile(in *input) (*pcapFile, error) {
	b, err := in.peek(pcapHeader)
	if err != nil {
		return nil, cutShort("a header", pcapHeader, len(b), err)
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
		// The upper bits give the length of the frame check sequence.
		LinkType: uint16(f.order.Uint32(b[20:])),
		SnapLen:  f.order.Uint32(b[16:]),
	}}
	in.advance(pcapHeader)
	return f, nil
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
	if err != nil {
		if len(head) == 0 && err == io.EOF {
			return io.EOF
		}
		return cutShort("a packet's header", int64(f.header), len(head), err)
	}
	kept, length := f.u32(head[8:]), f.u32(head[12:])
	if f.swapped == keptLast || f.swapped == keptLess && kept > length {
		kept, length = length, kept
	}
	if kept > maxRecord {
		return fmt.Errorf("a packet of %d bytes, want 0 to %d", kept, maxRecord)
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
		return cutShort("a packet", int64(kept), len(all)-f.header, err)
	}
	f.in.advance(len(all))
	rec.data = all[f.header:]
	rec.length = max(length, kept)
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
