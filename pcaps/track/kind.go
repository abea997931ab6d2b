package track

import (
	"fmt"

	"tcpwheel/internal/record"
	"tcpwheel/netstack/tcp/ledger"
)

// Kind says what made a sender retransmit.
type Kind uint8

const (
	Unknown Kind = iota // nothing in the capture explains it
	SYN                 // a SYN or SYN-ACK retransmitted
	// The retransmission timer (RFC 6298 §5), and what it retransmits of that flight.
	RTO
	// ACKs: duplicates, SACK, or RACK with its reordering timer (RFC 5681 §3.2, RFC 6675, RFC 8985
	// §6).
	Fast
	TLP   // a tail loss probe (RFC 8985 §7)
	Probe // a probe of a closed window (RFC 9293 §3.8.6.1)
	PMTU  // an ICMP error: the segment was too large for the path (RFC 1191)

	Kinds = int(iota) // the number of kinds
)

var kindNames = [Kinds]string{"unknown", "syn", "rto", "fast", "tlp", "probe", "mtu"}

// String returns the name used in tables and JSON.
func (k Kind) String() string {
	if int(k) >= Kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// MarshalText returns the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a name.
func (k *Kind) UnmarshalText(name []byte) error { return record.ParseKey(k, Kinds, name) }

// Keys implements record.Keyed.
func (Kind) Keys() []any { return record.KeysTo[Kind](Kinds) }

// Spuriousness says whether a retransmission was spurious.
type Spuriousness uint8

const (
	Undecided Spuriousness = iota
	Necessary              // no earlier transmission arrived
	Spurious               // an earlier transmission arrived

	verdicts
)

var verdictNames = [verdicts]string{"unknown", "no", "yes"}

// String says whether it was spurious: "yes", "no" or "unknown".
func (v Spuriousness) String() string {
	if v >= verdicts {
		return fmt.Sprintf("Spuriousness(%d)", uint8(v))
	}
	return verdictNames[v]
}

// MarshalText returns String.
func (v Spuriousness) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Evidence is the basis of a verdict.
type Evidence = ledger.Evidence

const (
	NoEvidence = ledger.NoEvidence
	ByTiming   = ledger.ByTiming
	ByDupACK   = ledger.ByDupACK
	ByEifel    = ledger.ByEifel
	ByCapture  = ledger.ByCapture
	ByDSACK    = ledger.ByDSACK
)
