// Package pcapng writes capture files, for every room that captures: the simulator, devices, the
// command and the tests of the analyser. Package pcaps/capture reads them.
package pcapng

import (
	"encoding/binary"
	"fmt"
	"io"

	"tcpwheel/wheel"
)

// LinkTypeRaw is the link type of an interface whose packets begin with an IPv4 or IPv6 header.
const LinkTypeRaw uint16 = 101

// MaxPacket is the largest packet in bytes. Every super-segment fits.
const MaxPacket = 1 << 24

// Writer writes a capture file in the format pcapng (draft-ietf-opsawg-pcapng): one little-endian
// section, any number of interfaces, timestamps in nanoseconds. Each block is one Write.
type Writer struct {
	w          io.Writer
	buf        []byte
	interfaces uint32
}

const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockStats     = 5
	blockPacket    = 6

	optEnd      = 0
	optComment  = 1
	optUserAppl = 4 // of a section
	optName     = 2 // of an interface
	optTsResol  = 9 // of an interface
	optFlags    = 2 // of a packet
	optReceived = 4 // of statistics
	optDropped  = 5 // of statistics

	maxOption = 1<<16 - 1
)

// NewWriter begins a section. application names the writing program; "" writes no name.
func NewWriter(w io.Writer, application string) (*Writer, error) {
	if len(application) > maxOption {
		return nil, fmt.Errorf("pcapng: application of %d bytes, want 0 to %d", len(application), maxOption)
	}
	p := &Writer{w: w}
	p.begin(blockSection)
	p.u32(0x1a2b3c4d) // byte order
	p.u32(1)          // version 1.0
	p.u32(0xffffffff) // the section's length
	p.u32(0xffffffff) // unknown
	p.option(optUserAppl, application)
	return p, p.end(application != "")
}

// NewFile is NewWriter with an interface, number 0: all that most files need.
func NewFile(w io.Writer, application, name string, linkType uint16) (*Writer, error) {
	p, err := NewWriter(w, application)
	if err == nil {
		_, err = p.AddInterface(name, linkType)
	}
	return p, err
}

// AddInterface adds an interface and returns its number, for WritePacket.
func (p *Writer) AddInterface(name string, linkType uint16) (uint32, error) {
	if len(name) > maxOption {
		return 0, fmt.Errorf("pcapng: interface name of %d bytes, want 0 to %d", len(name), maxOption)
	}
	p.begin(blockInterface)
	p.u32(uint32(linkType))
	p.u32(0) // no limit on the captured length
	p.option(optName, name)
	p.option(optTsResol, "\x09") // 10^-9 s
	p.interfaces++
	return p.interfaces - 1, p.end(true)
}

// Direction is a packet's direction as seen by the captured interface.
type Direction uint8

const (
	NoDirection Direction = iota // unknown
	Inbound
	Outbound
)

// directionFlags are the flags option of a packet, little-endian.
var directionFlags = [...]string{"", "\x01\x00\x00\x00", "\x02\x00\x00\x00"}

// WritePacket writes a packet of length bytes, with the captured part data. "" is no comment. at is
// the time since 1970, and not negative.
func (p *Writer) WritePacket(iface uint32, at wheel.Time, data []byte, length uint32, comment string) error {
	return p.WriteDirected(iface, at, NoDirection, data, length, comment)
}

// WriteDirected is WritePacket with the packet's direction.
func (p *Writer) WriteDirected(iface uint32, at wheel.Time, direction Direction, data []byte, length uint32, comment string) error {
	switch {
	case direction > Outbound:
		return fmt.Errorf("pcapng: direction %d, want 0 to %d", direction, Outbound)
	case iface >= p.interfaces:
		return fmt.Errorf("pcapng: interface %d, want one of %d", iface, p.interfaces)
	case at < 0:
		return fmt.Errorf("pcapng: stamp %d ns, want 0 at least", int64(at))
	case len(data) > MaxPacket:
		return fmt.Errorf("pcapng: packet of %d bytes, want 0 to %d", len(data), MaxPacket)
	case len(comment) > maxOption:
		return fmt.Errorf("pcapng: comment of %d bytes, want 0 to %d", len(comment), maxOption)
	}
	p.begin(blockPacket)
	p.u32(iface)
	p.u32(uint32(uint64(at) >> 32))
	p.u32(uint32(at))
	p.u32(uint32(len(data)))
	p.u32(length)
	p.buf = append(p.buf, data...)
	p.pad()
	p.option(optComment, comment)
	p.option(optFlags, directionFlags[direction])
	return p.end(comment != "" || direction != NoDirection)
}

// WriteStatistics writes how many packets an interface has received since the capture began, and
// how many of them the file lacks.
func (p *Writer) WriteStatistics(iface uint32, at wheel.Time, received, dropped uint64) error {
	if iface >= p.interfaces || at < 0 {
		return fmt.Errorf("pcapng: statistics of interface %d at %d ns, want one of %d at 0 at least", iface, int64(at), p.interfaces)
	}
	p.begin(blockStats)
	p.u32(iface)
	p.u32(uint32(uint64(at) >> 32))
	p.u32(uint32(at))
	p.option(optReceived, string(binary.LittleEndian.AppendUint64(nil, received)))
	p.option(optDropped, string(binary.LittleEndian.AppendUint64(nil, dropped)))
	return p.end(true)
}

func (p *Writer) u32(v uint32) { p.buf = binary.LittleEndian.AppendUint32(p.buf, v) }

func (p *Writer) pad() {
	for len(p.buf)%4 != 0 {
		p.buf = append(p.buf, 0)
	}
}

func (p *Writer) begin(block uint32) {
	p.buf = p.buf[:0]
	p.u32(block)
	p.u32(0) // the length: end sets it
}

func (p *Writer) option(code uint16, value string) {
	if value == "" {
		return
	}
	p.buf = binary.LittleEndian.AppendUint16(p.buf, code)
	p.buf = binary.LittleEndian.AppendUint16(p.buf, uint16(len(value)))
	p.buf = append(p.buf, value...)
	p.pad()
}

// end writes the block with its length at both ends.
func (p *Writer) end(options bool) error {
	if options {
		p.u32(optEnd)
	}
	length := uint32(len(p.buf) + 4)
	binary.LittleEndian.PutUint32(p.buf[4:], length)
	p.u32(length)
	_, err := p.w.Write(p.buf)
	return err
}
