package tcp

import (
	"encoding/binary"
	"fmt"
)

// HeaderLen is how many bytes a header without options has.
const HeaderLen = 20

// MaxHeaderLen is how many bytes the longest header has.
const MaxHeaderLen = HeaderLen + maxOptionsLen

// Header is the header of one segment (RFC 9293 §3.1), by value and without pointers. Two that are
// equal by == are equal on the wire.
type Header struct {
	SrcPort, DstPort uint16
	Seq, Ack         Seq
	Flags            Flags
	Window           uint16 // as on the wire: before scaling
	Checksum         uint16 // as on the wire: see segmentChecksum
	Urgent           uint16
	Options          Options
}

// ParseHeader reads the header at the front of a segment and returns how long it is with its
// options; the payload follows. It keeps no reference to b, never panics, and allocates nothing
// unless it returns an error. It does not look at the checksum, which needs the addresses, and it
// ignores the reserved bits.
//
// On an *OptionError, h has the ports, numbers and flags, and those options that could be read, and
// headerLen is right: a caller can answer the segment, count it, or go on. On other errors
// headerLen is 0 and h is the zero Header.
func ParseHeader(b []byte) (h Header, headerLen int, err error) {
	if len(b) < HeaderLen {
		return Header{}, 0, fmt.Errorf("tcp: segment of %d bytes, want at least %d", len(b), HeaderLen)
	}
	words := int(b[12] >> 4)
	headerLen = 4 * words
	switch {
	case headerLen < HeaderLen:
		return Header{}, 0, fmt.Errorf("tcp: data offset %d words, want 5..15", words)
	case headerLen > len(b):
		return Header{}, 0, fmt.Errorf("tcp: data offset %d words, want 5..%d in a segment of %d bytes",
			words, len(b)/4, len(b))
	}
	h.SrcPort = binary.BigEndian.Uint16(b)
	h.DstPort = binary.BigEndian.Uint16(b[2:])
	h.Seq = Seq(binary.BigEndian.Uint32(b[4:]))
	h.Ack = Seq(binary.BigEndian.Uint32(b[8:]))
	h.Flags = Flags(b[13])
	h.Window = binary.BigEndian.Uint16(b[14:])
	h.Checksum = binary.BigEndian.Uint16(b[16:])
	h.Urgent = binary.BigEndian.Uint16(b[18:])
	if bad := h.Options.parse(b[HeaderLen:headerLen]); bad != nil {
		return h, headerLen, bad
	}
	return h, headerLen, nil
}

// HeaderLen returns how many bytes AppendTo writes: a multiple of 4 from 20 to 60.
func (h *Header) HeaderLen() int { return HeaderLen + h.Options.encodedLen() }

// AppendTo writes the header with its options to the end of dst, reserved bits zero and the
// checksum as it is in h. It allocates nothing if dst has room. SACK blocks that do not fit beside
// the other options are left out (Options.Fit).
func (h *Header) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, h.SrcPort)
	dst = binary.BigEndian.AppendUint16(dst, h.DstPort)
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Seq))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Ack))
	dst = append(dst, byte(h.HeaderLen()/4)<<4, byte(h.Flags))
	dst = binary.BigEndian.AppendUint16(dst, h.Window)
	dst = binary.BigEndian.AppendUint16(dst, h.Checksum)
	dst = binary.BigEndian.AppendUint16(dst, h.Urgent)
	return h.Options.appendTo(dst)
}
