package track

import "fmt"

// Kind is what made a sender send octets again.
type Kind uint8

const (
	Unknown Kind = iota // nothing seen explains it
	SYN                 // the handshake: a SYN or SYN-ACK once more
	RTO                 // the retransmission timer (RFC 6298 §5), and what it sends until the flight of then is acknowledged
	Fast                // ACKs: duplicates, SACK, or RACK with its reordering timer (RFC 5681 §3.2, RFC 6675, RFC 8985 §6)
	TLP                 // the probe for a lost tail (RFC 8985 §7)
	Probe               // a probe of a closed window (RFC 9293 §3.8.6.1)

	Kinds = int(iota) // how many there are
)

var kindNames = [Kinds]string{"unknown", "syn", "rto", "fast", "tlp", "probe"}

// String returns the name that the kind has in tables and JSON.
func (k Kind) String() string {
	if int(k) >= Kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Verdict is whether a retransmission was needed.
type Verdict uint8

const (
	Undecided Verdict = iota
	Necessary         // no earlier transmission had arrived, or would arrive
	Spurious          // one had, or did

	verdicts
)

var verdictNames = [verdicts]string{"unknown", "no", "yes"}

// String answers the question whether it was spurious: "yes", "no" or "unknown".
func (v Verdict) String() string {
	if v >= verdicts {
		return fmt.Sprintf("Verdict(%d)", uint8(v))
	}
	return verdictNames[v]
}

// MarshalText writes the answer.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Evidence is what a verdict rests on. A later one in this order is the stronger, and takes the place of an earlier one.
type Evidence uint8

const (
	NoEvidence Evidence = iota

	// ByTiming: an ACK came in less than ¾ of the least round-trip time after it, too soon to answer it; or the first one that could
	// came later than that.
	ByTiming

	// ByDupACK: an ACK jumped over the octets, and then there came as many duplicate ACKs as retransmissions that it
	// had jumped over.
	ByDupACK

	// ByEifel: the first ACK of the octets echoes a timestamp older than its own (RFC 3522 §3.2), or its own.
	ByEifel

	// ByCapture: at the receiver the octets had been seen before, or came late after it; or, not at the sender, had not been.
	ByCapture

	// ByDSACK: the receiver reported a duplicate, each of which pays for one retransmission (RFC 3708 §3).
	ByDSACK

	evidences
)

var evidenceNames = [evidences]string{"", "timing", "dupack", "eifel", "capture", "dsack"}

// String returns the name that the evidence has in tables and JSON, "" for none.
func (e Evidence) String() string {
	if e >= evidences {
		return fmt.Sprintf("Evidence(%d)", uint8(e))
	}
	return evidenceNames[e]
}

// MarshalText writes the name.
func (e Evidence) MarshalText() ([]byte, error) { return []byte(e.String()), nil }
