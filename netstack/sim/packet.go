package sim

import "fmt"

// ECN is the ECN field of an IP header, with the codepoints of RFC 3168 §5.
type ECN uint8

const (
	NotECT ECN = 0 // the sender does not take marks
	ECT1   ECN = 1
	ECT0   ECN = 2
	CE     ECN = 3 // congestion experienced
)

// Capable reports whether a router may mark the packet instead of dropping it: RFC 3168 §5, ECT(0), ECT(1) or CE.
func (e ECN) Capable() bool { return e&3 != NotECT }

// String returns "not-ect", "ect1", "ect0" or "ce".
func (e ECN) String() string {
	if e > CE {
		return fmt.Sprintf("ECN(%d)", uint8(e))
	}
	return [...]string{"not-ect", "ect1", "ect0", "ce"}[e]
}

// MaxSize is the largest Packet.Size in octets: a super-segment of any stack fits.
const MaxSize = 1 << 24

// Packet is what a link sees of a packet. It holds no octets.
type Packet struct {
	// Start, End is the range of what the packet carries, [Start, End), in units that the sender picks, and Attempt
	// the number of its transmission: 1 for the first. Only the loss model Ranges looks at them.
	Start, End uint64
	Attempt    uint32

	// Size is the length of the IP packet in octets, up to MaxSize.
	Size uint32

	ECN ECN

	// Corrupt says that a bit was flipped under way, namely number Bit, from 0 to 8·Size-1, counted from the first octet's
	// highest bit.
	Corrupt bool
	Bit     uint32
}
