package ledger

import "fmt"

// Fate is what became of a transmission.
type Fate uint8

const (
	Unknown   Fate = iota // nothing shows it
	Delivered             // it arrived
	Lost                  // it did not

	fates
)

var fateNames = [fates]string{"unknown", "delivered", "lost"}

// String returns the name that the fate has in JSON.
func (f Fate) String() string {
	if f >= fates {
		return fmt.Sprintf("Fate(%d)", uint8(f))
	}
	return fateNames[f]
}

// MarshalText returns the name.
func (f Fate) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Evidence is what shows whether a transmission arrived. A later constant is stronger and replaces
// an earlier one.
type Evidence uint8

const (
	NoEvidence Evidence = iota

	// ByTiming: the ACK came less than ¾ of the least RTT after the retransmission, too early to
	// answer it; or the first possible answer came later than that.
	ByTiming

	// ByDupACK: an ACK skipped over the retransmitted bytes, and as many duplicate ACKs followed as
	// retransmissions were skipped.
	ByDupACK

	// ByEifel: the first ACK of the bytes echoes a timestamp older than the retransmission's (RFC
	// 3522 §3.2), or exactly that.
	ByEifel

	// ByCapture: an ACK of the bytes was captured before the retransmission; or the original came
	// after it; or, at the receiver, the bytes had or had not been captured before.
	ByCapture

	// ByDSACK: the receiver reported a duplicate. Each DSACK accounts for one retransmission (RFC
	// 3708 §3).
	ByDSACK

	evidences
)

var evidenceNames = [evidences]string{"", "timing", "dupack", "eifel", "capture", "dsack"}

// String returns the name used in tables and JSON, "" for none.
func (e Evidence) String() string {
	if e >= evidences {
		return fmt.Sprintf("Evidence(%d)", uint8(e))
	}
	return evidenceNames[e]
}

// MarshalText returns the name.
func (e Evidence) MarshalText() ([]byte, error) { return []byte(e.String()), nil }
