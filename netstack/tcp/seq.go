package tcp

import "strconv"

// Seq is a TCP sequence number, modulo 2^32 (RFC 9293 §3.4). Compare with the methods only; they
// are correct for numbers less than 2^31 apart.
type Seq uint32

// Add returns s + n.
func (s Seq) Add(n uint32) Seq { return s + Seq(n) }

// Sub returns s - t, where s must not be before t.
func (s Seq) Sub(t Seq) uint32 { return uint32(s - t) }

// Before reports whether s comes before t.
func (s Seq) Before(t Seq) bool { return int32(s-t) < 0 }

// After reports whether s comes after t.
func (s Seq) After(t Seq) bool { return int32(s-t) > 0 }

// AtOrBefore reports whether s is t or comes before it.
func (s Seq) AtOrBefore(t Seq) bool { return int32(s-t) <= 0 }

// AtOrAfter reports whether s is t or comes after it.
func (s Seq) AtOrAfter(t Seq) bool { return int32(s-t) >= 0 }

// InWindow reports whether s is one of the size numbers from first.
func (s Seq) InWindow(first Seq, size uint32) bool { return uint32(s-first) < size }

// Unwrap returns the integer nearest to near that equals s modulo 2^32. Streams longer than 4 GiB
// count positions from a first number: (s - first).Unwrap(last) is the position of s, within 2^31
// of the last one.
func (s Seq) Unwrap(near int64) int64 { return near + int64(int32(s-Seq(near))) }

// MaxSeq returns the later of s and t.
func MaxSeq(s, t Seq) Seq {
	if s.After(t) {
		return s
	}
	return t
}

// MinSeq returns the earlier of s and t.
func MinSeq(s, t Seq) Seq {
	if s.Before(t) {
		return s
	}
	return t
}

// String returns the number in decimal.
func (s Seq) String() string { return strconv.FormatUint(uint64(s), 10) }

// SeqRange is the sequence numbers from Start up to but excluding End. It is empty if they are
// equal.
type SeqRange struct {
	Start, End Seq
}

// Len returns the number of bytes.
func (r SeqRange) Len() uint32 { return r.End.Sub(r.Start) }

// contains reports whether o is inside r.
func (r SeqRange) contains(o SeqRange) bool {
	return r.Start.AtOrBefore(o.Start) && o.End.AtOrBefore(r.End)
}
