package tcp

import (
	"encoding/binary"
	"fmt"
)

// HeaderLen is the length of a header without options, bytes.
const HeaderLen = 20

// MaxHeaderLen is the length of the longest header, bytes.
const MaxHeaderLen = HeaderLen + maxOptionsLen

// Header is a TCP header (RFC 9293 §3.1), by value and without pointers. Headers equal by == are
// equal on the wire.
type Header struct {
	SrcPort, DstPort uint16
	Seq, Ack         Seq
	Flags            Flags
	Window           uint16 // unscaled, as on the wire
	Checksum         uint16 // as on the wire
	Urgent           uint16
	Options          Options
}

// ParseHeader parses the header at the start of segment b. headerLen includes options; the payload
// follows. It keeps no reference to b, never panics, and allocates only for errors. It does not
// verify the checksum and ignores the reserved bits.
//
// With an *OptionError, h has all other fields and the options that could be read, and headerLen is
// valid. With any other error h is zero and headerLen is 0.
func ParseHeader(b []byte) (h Header, headerLen int, err error) {
	headerLen, err = h.Parse(b)
	return h, headerLen, err
}

// Parse is ParseHeader into h. After an error that is no *OptionError h is zero.
func (h *Header) Parse(b []byte) (headerLen int, err error) {
	*h = Header{}
	if len(b) < HeaderLen {
		return 0, fmt.Errorf("tcp: segment of %d bytes, want at least %d", len(b), HeaderLen)
	}
	words := int(b[12] >> 4)
	headerLen = 4 * words
	switch {
	case headerLen < HeaderLen:
		return 0, fmt.Errorf("tcp: data offset %d words, want 5..15", words)
	case headerLen > len(b):
		return 0, fmt.Errorf("tcp: data offset %d words, want 5..%d in a segment of %d bytes",
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
		return headerLen, bad
	}
	return headerLen, nil
}

// HeaderLen returns the number of bytes that AppendTo writes: a multiple of 4 from 20 to 60.
func (h *Header) HeaderLen() int { return HeaderLen + h.Options.encodedLen() }

// AppendTo appends the header with its options to dst. Reserved bits are zero and the checksum is
// h.Checksum. SACK blocks that do not fit are left out. It allocates only if dst lacks room.
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
