package sim

import "fmt"

// ECN is the ECN field of an IP header, with the codepoints of RFC 3168 §5.
type ECN uint8

const (
	NotECT ECN = 0 // the sender is not ECN-capable
	ECT1   ECN = 1
	ECT0   ECN = 2
	CE     ECN = 3 // congestion experienced
)

// Capable reports whether a router may mark the packet instead of dropping it: ECT(0), ECT(1) or CE
// (RFC 3168 §5).
func (e ECN) Capable() bool { return e&3 != NotECT }

// String returns "not-ect", "ect1", "ect0" or "ce".
func (e ECN) String() string {
	if e > CE {
		return fmt.Sprintf("ECN(%d)", uint8(e))
	}
	return [...]string{"not-ect", "ect1", "ect0", "ce"}[e]
}

// MaxSize is the largest Packet.Size in bytes. Every super-segment fits.
const MaxSize = 1 << 24

// Packet is what a link knows about a packet. It has no payload.
type Packet struct {
	// [Start, End) is the range that the packet carries, in units of the sender's choice. Attempt
	// is the number of its transmission, from 1. Only the loss model LostRanges uses them.
	Start, End uint64
	Attempt    uint32

	// Size is the length of the IP packet in bytes, up to MaxSize.
	Size uint32

	ECN ECN

	// Corrupt says that bit number Bit was flipped on the path. Bits count from 0, the highest bit
	// of the first byte, to 8·Size-1.
	Corrupt bool
	Bit     uint32
}
