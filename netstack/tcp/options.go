package tcp

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Option kinds assigned by IANA.
const (
	kindEOL           = 0
	kindNOP           = 1
	kindMSS           = 2  // RFC 9293 §3.7.1
	kindWScale        = 3  // RFC 7323 §2.2
	kindSACKPermitted = 4  // RFC 2018 §2
	kindSACK          = 5  // RFC 2018 §3
	kindTimestamps    = 8  // RFC 7323 §3.2
	kindUserTimeout   = 28 // RFC 5482 §3
)

const (
	// maxOptionsLen is the room for options in a header, bytes: 15 words less the fixed 5.
	maxOptionsLen = 40

	// MaxSACKBlocks is the number of SACK blocks that fit without other options (RFC 2018 §3).
	MaxSACKBlocks = 4

	// MaxWScale is the largest window shift count, for a window of 2^30 (RFC 7323 §2.3).
	MaxWScale = 14

	timestampsLen = 12 // including two NOPs for alignment

	// alignedTimestamps is how that begins: two NOPs, the kind and the length (RFC 7323 §A).
	alignedTimestamps = kindNOP<<24 | kindNOP<<16 | kindTimestamps<<8 | (timestampsLen - 2)

	maxTimeout = 1<<15 - 1
)

// Options are the TCP options that the engine knows, by value and without pointers. Others, such as
// Fast Open and MD5, are skipped on input and cannot be written. The zero value is no options.
// Options equal by == are equal on the wire.
//
// The parser takes every option in every segment. The engine ignores MSS, WScale and SACKPermitted
// without SYN.
type Options struct {
	HasMSS         bool
	HasWScale      bool
	HasTimestamps  bool
	HasUserTimeout bool
	SACKPermitted  bool

	NumSACK uint8  // number of valid SACK blocks; 0 is no such option
	WScale  uint8  // 0 to 14
	MSS     uint16 // bytes

	TSVal, TSEcr uint32

	// SACK has the blocks in wire order, unchecked: End may precede Start.
	SACK [MaxSACKBlocks]SeqRange

	// UserTimeout is at least 1 s. Above 32,767 s it is rounded up to a minute; it is at most
	// 32,767 min.
	UserTimeout time.Duration
}

// DSACK returns the first SACK block if it reports a duplicate in an ACK of ack. RFC 2883 §4 has
// two forms: the block lies below the ACK, or inside the second block.
func (o *Options) DSACK(ack Seq) (SeqRange, bool) {
	if o.NumSACK == 0 {
		return SeqRange{}, false
	}
	b := o.SACK[0]
	if !b.Start.Before(b.End) {
		return SeqRange{}, false
	}
	return b, b.End.AtOrBefore(ack) || o.NumSACK > 1 && o.SACK[1].contains(b)
}

// OptionError reports an option with an illegal length. The options before it were read.
type OptionError struct {
	Kind   uint8
	Length uint8 // the length byte; 0 if there was none
	Left   uint8 // bytes from the option's kind to the end of the header
}

// Error names the option, its length and the bounds.
func (e *OptionError) Error() string {
	if e.Left < 2 {
		return fmt.Sprintf("tcp: option of kind %d has no length: it is in the last byte of the header", e.Kind)
	}
	if e.Length < 2 || e.Length > e.Left {
		return fmt.Sprintf("tcp: option of kind %d has length %d, want 2..%d", e.Kind, e.Length, e.Left)
	}
	if e.Kind == kindSACK {
		return fmt.Sprintf("tcp: option of kind %d has length %d, want 10, 18, 26 or 34", e.Kind, e.Length)
	}
	return fmt.Sprintf("tcp: option of kind %d has length %d, want %d", e.Kind, e.Length, fixedLen(e.Kind))
}

// fixedLen returns the length of options of a kind, 0 if it varies or is unknown.
func fixedLen(kind uint8) int {
	switch kind {
	case kindMSS, kindUserTimeout:
		return 4
	case kindWScale:
		return 3
	case kindSACKPermitted:
		return 2
	case kindTimestamps:
		return 10
	}
	return 0
}

// parse reads options from b, at most maxOptionsLen bytes. The last of two options of one kind
// counts. A known option with a wrong length is skipped, and the first such is reported. A length
// that leads outside b ends the parsing.
func (o *Options) parse(b []byte) (bad *OptionError) {
	if len(b) == timestampsLen && binary.BigEndian.Uint32(b) == alignedTimestamps {
		// As in most segments, where a call of take would be a tenth of the parsing.
		o.HasTimestamps, o.TSVal, o.TSEcr = true, binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
		return nil
	}
	for len(b) > 0 {
		kind := b[0]
		switch kind {
		case kindEOL:
			return bad
		case kindNOP:
			b = b[1:]
			continue
		}
		// RFC 9293 §3.1: "TCP implementations MUST be prepared to handle an illegal option length
		// (e.g., zero)" (MUST-7).
		if len(b) < 2 {
			return &OptionError{Kind: kind, Left: uint8(len(b))}
		}
		n := int(b[1])
		if n < 2 || n > len(b) {
			return &OptionError{Kind: kind, Length: b[1], Left: uint8(len(b))}
		}
		want := fixedLen(kind)
		if want != 0 && n != want || kind == kindSACK && (n < 10 || n%8 != 2) {
			if bad == nil {
				bad = &OptionError{Kind: kind, Length: b[1], Left: uint8(len(b))}
			}
		} else {
			o.take(kind, b[2:n])
		}
		b = b[n:]
	}
	return bad
}

// take reads the data of one option, whose length is correct.
func (o *Options) take(kind uint8, data []byte) {
	switch kind {
	case kindMSS:
		o.HasMSS, o.MSS = true, binary.BigEndian.Uint16(data)
	case kindWScale:
		// RFC 7323 §2.3: a shift count above 14 counts as 14.
		o.HasWScale, o.WScale = true, min(data[0], MaxWScale)
	case kindSACKPermitted:
		o.SACKPermitted = true
	case kindSACK:
		o.NumSACK, o.SACK = uint8(len(data)/8), [MaxSACKBlocks]SeqRange{}
		for i := range o.NumSACK {
			o.SACK[i].Start = Seq(binary.BigEndian.Uint32(data[8*i:]))
			o.SACK[i].End = Seq(binary.BigEndian.Uint32(data[8*i+4:]))
		}
	case kindTimestamps:
		o.HasTimestamps = true
		o.TSVal, o.TSEcr = binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
	case kindUserTimeout:
		v := binary.BigEndian.Uint16(data)
		unit := time.Second
		if v > maxTimeout { // the granularity bit: minutes
			unit = time.Minute
		}
		o.UserTimeout = time.Duration(v&maxTimeout) * unit
		o.HasUserTimeout = o.UserTimeout > 0 // a timeout of 0 is no advice
	default:
		// RFC 9293 §3.1: "A TCP implementation MUST (MUST-6) ignore without error any TCP Option it
		// does not implement, assuming that the option has a length field."
	}
}

// encodedLen returns the length of the options in a header, padding included: a multiple of 4, at
// most maxOptionsLen.
func (o *Options) encodedLen() int {
	n := o.lenBeforeSACK()
	if k := o.sackThatFit(n); k > 0 {
		n += 4 + 8*k
	}
	return n
}

// sackRoom returns how many SACK blocks fit next to the other options: at most MaxSACKBlocks, and 3
// next to timestamps.
func (o *Options) sackRoom() int { return sackBlocksIn(maxOptionsLen - o.lenBeforeSACK()) }

// lenBeforeSACK returns the length of all options but SACK: at most 24.
func (o *Options) lenBeforeSACK() (n int) {
	if o.HasMSS {
		n += 4
	}
	if o.HasTimestamps {
		n += timestampsLen
	} else if o.SACKPermitted { // next to timestamps it replaces their NOPs
		n += 4
	}
	if o.HasWScale {
		n += 4
	}
	if o.HasUserTimeout {
		n += 4
	}
	return n
}

// sackThatFit returns how many SACK blocks are written after n bytes of other options.
func (o *Options) sackThatFit(n int) int {
	return min(int(o.NumSACK), sackBlocksIn(maxOptionsLen-n))
}

// appendTo appends the options to dst. As in Linux (tcp_options_write) each is aligned to its
// numbers: MSS; timestamps after SACK-permitted or two NOPs; a NOP and the window scale; two NOPs
// and the SACK blocks that fit.
func (o *Options) appendTo(dst []byte) []byte {
	if o.HasMSS {
		dst = append(dst, kindMSS, 4, byte(o.MSS>>8), byte(o.MSS))
	}
	if o.SACKPermitted {
		if !o.HasTimestamps {
			dst = append(dst, kindNOP, kindNOP)
		}
		dst = append(dst, kindSACKPermitted, 2)
	}
	if o.HasTimestamps {
		if !o.SACKPermitted {
			dst = append(dst, kindNOP, kindNOP)
		}
		dst = append(dst, kindTimestamps, 10)
		dst = binary.BigEndian.AppendUint32(dst, o.TSVal)
		dst = binary.BigEndian.AppendUint32(dst, o.TSEcr)
	}
	if o.HasWScale {
		dst = append(dst, kindNOP, kindWScale, 3, min(o.WScale, MaxWScale))
	}
	if o.HasUserTimeout {
		v := userTimeout(o.UserTimeout)
		dst = append(dst, kindUserTimeout, 4, byte(v>>8), byte(v))
	}
	if k := o.sackThatFit(o.lenBeforeSACK()); k > 0 {
		dst = append(dst, kindNOP, kindNOP, kindSACK, byte(2+8*k))
		for _, r := range o.SACK[:k] {
			dst = binary.BigEndian.AppendUint32(dst, uint32(r.Start))
			dst = binary.BigEndian.AppendUint32(dst, uint32(r.End))
		}
	}
	return dst
}

// userTimeout encodes d: the granularity bit and 15 bits of seconds or minutes (RFC 5482 §3).
func userTimeout(d time.Duration) uint16 {
	d = max(d, time.Second)
	if s := ceilDiv(d, time.Second); s <= maxTimeout {
		return uint16(s)
	}
	return 1<<15 | uint16(min(ceilDiv(d, time.Minute), maxTimeout))
}

func ceilDiv(d, unit time.Duration) int64 {
	n := int64(d / unit)
	if d%unit > 0 {
		n++
	}
	return n
}
