package capture

import "tcpwheel/wheel"

// Reason says why a packet yields no TCP segment.
type Reason uint8

const (
	isTCP           Reason = iota // it does
	NotIP                         // ARP, LLDP, spanning tree and the like
	UDP                           // without a tunnelled TCP segment
	ICMP                          // of both versions, and IGMP
	OtherProtocol                 // another protocol over IP, encryption included
	FragmentPart                  // a fragment; the last one counts as what the datagram holds
	CutHeader                     // the capture kept less than the headers
	Malformed                     // its headers are inconsistent
	UnknownLink                   // unknown link type
	TooDeep                       // more nested headers than any network has
	numberOfReasons = iota
)

var reasonNames = [numberOfReasons]string{
	"tcp", "not-ip", "udp", "icmp", "other-protocol", "fragment-part", "cut-header", "malformed", "unknown-link", "too-deep",
}

// String returns the name used in tables and JSON: "not-ip", "udp" and so on.
func (r Reason) String() string { return reasonNames[r] }

// MarshalText returns the name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Keys implements record.Keyed.
func (Reason) Keys() (all []any) {
	for _, r := range Reasons() {
		all = append(all, r)
	}
	return all
}

// Reasons returns all reasons in the order of Stats.Skipped.
func Reasons() []Reason {
	all := make([]Reason, 0, numberOfReasons-1)
	for r := isTCP + 1; int(r) < numberOfReasons; r++ {
		all = append(all, r)
	}
	return all
}

// Stats counts what a Reader has read so far. Packets is TCP plus all of Skipped.
type Stats struct {
	Packets int64 // of all kinds
	TCP     int64 // returned by Next
	Skipped [numberOfReasons]int64

	Truncated int64 // TCP packets whose payload was not all kept
	Problems  [numberOfProblems]int64
	Bytes     int64 // of the file, decompressed

	// Start is the stamp of packet 1. Wireshark counts relative times from it.
	Start wheel.Time

	// First and Last are the earliest and the latest stamp of all packets.
	First, Last wheel.Time

	// Dropped is how many packets the capture missed, as the file reports.
	Dropped uint64
}

// Count returns how many TCP packets had the single problem p.
func (s *Stats) Count(p Problems) int64 {
	for i := range s.Problems {
		if p == 1<<i {
			return s.Problems[i]
		}
	}
	return 0
}
