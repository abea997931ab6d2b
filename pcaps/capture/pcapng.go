package capture

import (
	"encoding/binary"
	"fmt"
	"io"

	"tcpwheel/wheel"
)

// pcapngFile reads Wireshark's format (draft-ietf-opsawg-pcapng): sections of blocks, each in its
// own byte order. Blocks without packets are skipped, not held.
type pcapngFile struct {
	in    *input
	order binary.ByteOrder
	ports []port // interfaces of this section
	first int    // number of the first of them in the file
	all   []Interface
	last  wheel.Time // stamp of the last packet

	// told sums up, per interface, the drops reported with packets.
	reportedDrops []uint64
}

// port is what the packets of an interface are read with.
type port struct {
	snap  uint32
	stamp resolution
}

const (
	blockSection    = 0x0a0d0d0a
	blockInterface  = 1
	blockOldPacket  = 2
	blockSimple     = 3
	blockStatistics = 5
	blockPacket     = 6

	byteOrderMagic = 0x1a2b3c4d

	// maxBlock is the longest block to hold: a packet with comments, or an interface.
	maxBlock = maxRecord + 1<<20
)

// block is a block's type and length.
type block struct {
	kind   uint32
	length uint32
}

func (b block) String() string {
	switch b.kind {
	case blockSection:
		return "a section header"
	case blockInterface:
		return "an interface description"
	case blockOldPacket, blockSimple, blockPacket:
		return "a packet"
	case blockStatistics:
		return "interface statistics"
	}
	return fmt.Sprintf("a block of type %#x", b.kind)
}

// peekBlock reads the frame of the next block, and the byte order of a section header. io.EOF is
// the regular end of the file.
func (f *pcapngFile) peekBlock() (block, error) {
	f.in.unit = f.in.offset
	head, err := f.in.peek(12)
	if err != nil {
		if len(head) == 0 && err == io.EOF {
			return block{}, io.EOF
		}
		return block{}, cutShort("a block", 12, len(head), err)
	}
	if binary.LittleEndian.Uint32(head) == blockSection { // a palindrome
		switch uint32(byteOrderMagic) {
		case binary.LittleEndian.Uint32(head[8:]):
			f.order = binary.LittleEndian
		case binary.BigEndian.Uint32(head[8:]):
			f.order = binary.BigEndian
		default:
			return block{}, fmt.Errorf("byte order %#x of a section, want %#x in either order", head[8:12], byteOrderMagic)
		}
	}
	b := block{f.order.Uint32(head), f.order.Uint32(head[4:])}
	if b.length < 12 || b.length%4 != 0 {
		return block{}, fmt.Errorf("%v of %d bytes, want a multiple of 4 from 12", b, b.length)
	}
	return b, nil
}

// hold returns the body of a block and consumes the block.
func (f *pcapngFile) hold(b block, least int) ([]byte, error) {
	if b.length > maxBlock || int(b.length) < 12+least {
		return nil, fmt.Errorf("%v of %d bytes, want %d to %d", b, b.length, 12+least, maxBlock)
	}
	all, err := f.in.peek(int(b.length))
	if err != nil {
		return nil, cutShort(b.String(), int64(b.length), len(all), err)
	}
	if end := f.order.Uint32(all[b.length-4:]); end != b.length {
		return nil, fmt.Errorf("%v of %d bytes at its beginning, and of %d at its end", b, b.length, end)
	}
	f.in.advance(int(b.length))
	return all[8 : b.length-4], nil
}

// skip consumes a block without reading it.
func (f *pcapngFile) skip(b block) error {
	if missing, err := f.in.discard(int64(b.length)); missing > 0 {
		return cutShort(b.String(), int64(b.length), int(int64(b.length)-missing), err)
	}
	return nil
}

func (f *pcapngFile) interfaces() []Interface { return f.all }

func (f *pcapngFile) next(rec *record) error {
	for {
		b, err := f.peekBlock()
		if err != nil {
			return err
		}
		found := false
		switch b.kind {
		case blockSection:
			err = f.section(b)
		case blockInterface:
			err = f.port(b)
		case blockStatistics:
			err = f.statistics(b)
		case blockPacket:
			found, err = true, f.packet(b, rec)
		case blockOldPacket:
			found, err = true, f.oldPacket(b, rec)
		case blockSimple:
			found, err = true, f.simple(b, rec)
		default:
			err = f.skip(b)
		}
		if found || err != nil {
			return err
		}
	}
}

func (f *pcapngFile) section(b block) error {
	body, err := f.hold(b, 16)
	if err != nil {
		return err
	}
	if major := f.order.Uint16(body[4:]); major != 1 {
		return fmt.Errorf("pcapng version %d.%d, want 1.0", major, f.order.Uint16(body[6:]))
	}
	f.ports, f.first = f.ports[:0], len(f.all)
	return nil
}

func (f *pcapngFile) port(b block) error {
	body, err := f.hold(b, 8)
	if err != nil {
		return err
	}
	if len(f.all) == maxInterfaces {
		return fmt.Errorf("more than %d interfaces", maxInterfaces)
	}
	i := Interface{LinkType: f.order.Uint16(body), SnapLen: f.order.Uint32(body[4:])}
	p := port{snap: i.SnapLen, stamp: resolution{code: microseconds}}
	for o := (options{f.order, body[8:]}); ; {
		code, value, ok := o.next()
		switch {
		case !ok:
			f.ports, f.all, f.reportedDrops = append(f.ports, p), append(f.all, i), append(f.reportedDrops, 0)
			return nil
		case code == 2: // if_name
			i.Name = text(value)
		case code == 3: // if_description
			i.Description = text(value)
		case code == 9 && len(value) == 1: // if_tsresol
			p.stamp.code = value[0]
		case code == 14 && len(value) == 8: // if_tsoffset
			p.stamp.offset = int64(f.order.Uint64(value))
		}
	}
}

func text(b []byte) string { return string(b[:min(len(b), maxText)]) }

// statistics reads the drop counts of an interface, which are cumulative.
func (f *pcapngFile) statistics(b block) error {
	body, err := f.hold(b, 12)
	if err != nil {
		return err
	}
	n := f.order.Uint32(body)
	if n >= uint32(len(f.ports)) {
		return fmt.Errorf("statistics of interface %d, want one of %d", n, len(f.ports))
	}
	var dropped uint64
	for o := (options{f.order, body[12:]}); ; {
		code, value, ok := o.next()
		if !ok {
			break
		}
		if (code == 5 || code == 7) && len(value) == 8 { // isb_ifdrop, isb_osdrop
			dropped += f.order.Uint64(value)
		}
	}
	i := &f.all[f.first+int(n)]
	i.Dropped = max(i.Dropped, dropped)
	return nil
}

// packet reads an Enhanced Packet Block.
func (f *pcapngFile) packet(b block, rec *record) error {
	body, err := f.hold(b, 20)
	if err != nil {
		return err
	}
	return f.fill(rec, f.order.Uint32(body), body)
}

// oldPacket reads a Packet Block, which is obsolete.
func (f *pcapngFile) oldPacket(b block, rec *record) error {
	body, err := f.hold(b, 20)
	if err != nil {
		return err
	}
	n := uint32(f.order.Uint16(body))
	if err := f.fill(rec, n, body); err != nil {
		return err
	}
	if drops := f.order.Uint16(body[2:]); drops != 0xffff {
		f.drops(rec.iface, uint64(drops))
	}
	return nil
}

// fill sets rec from the body of a packet on interface n.
func (f *pcapngFile) fill(rec *record, n uint32, body []byte) error {
	if n >= uint32(len(f.ports)) {
		return fmt.Errorf("a packet of interface %d, want one of %d", n, len(f.ports))
	}
	stamp := uint64(f.order.Uint32(body[4:]))<<32 | uint64(f.order.Uint32(body[8:]))
	kept, length := f.order.Uint32(body[12:]), f.order.Uint32(body[16:])
	if kept > uint32(len(body)-20) {
		return fmt.Errorf("a packet of %d bytes, want %d at most in a block of %d", kept, len(body)-20, len(body)+12)
	}
	rec.iface = f.first + int(n)
	rec.time = f.ports[n].stamp.nanoseconds(stamp)
	rec.data = body[20 : 20+kept]
	rec.length = max(length, kept)
	rec.options = body[20+min(int(kept+3)&^3, len(body)-20):]
	rec.order = f.order
	f.last = rec.time
	f.all[rec.iface].Packets++
	if len(rec.options) == 0 {
		return nil
	}
	for o := (options{f.order, rec.options}); ; {
		code, value, ok := o.next()
		switch {
		case !ok:
			return nil
		case code == 2 && len(value) == 4: // epb_flags
			rec.direction = Direction(f.order.Uint32(value) & 3 % 3)
		case code == 4 && len(value) == 8: // epb_dropcount
			f.drops(rec.iface, f.order.Uint64(value))
		}
	}
}

func (f *pcapngFile) drops(iface int, n uint64) {
	f.reportedDrops[iface] += n
	f.all[iface].Dropped = max(f.all[iface].Dropped, f.reportedDrops[iface])
}

// simple reads a Simple Packet Block, without stamp, on the section's first interface.
func (f *pcapngFile) simple(b block, rec *record) error {
	body, err := f.hold(b, 4)
	if err != nil {
		return err
	}
	if len(f.ports) == 0 {
		return fmt.Errorf("a packet of interface 0, want one of 0")
	}
	kept := f.order.Uint32(body)
	rec.length = kept
	if snap := f.ports[0].snap; snap > 0 {
		kept = min(kept, snap)
	}
	rec.iface = f.first
	rec.time = f.last
	rec.problems = NoStamp
	rec.data = body[4 : 4+min(kept, uint32(len(body)-4))]
	f.all[f.first].Packets++
	return nil
}

// options are the options at the end of a block.
type options struct {
	order binary.ByteOrder
	b     []byte
}

// next returns the next option. It returns false at the end, and before an option longer than the
// rest.
func (o *options) next() (code uint16, value []byte, ok bool) {
	if len(o.b) < 4 {
		return 0, nil, false
	}
	code = o.order.Uint16(o.b)
	n := int(o.order.Uint16(o.b[2:]))
	if code == 0 || 4+n > len(o.b) {
		return 0, nil, false
	}
	value = o.b[4 : 4+n]
	o.b = o.b[min(4+(n+3)&^3, len(o.b)):]
	return code, value, true
}
