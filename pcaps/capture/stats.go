package capture

import "tcpwheel/wheel"

// Reason is why a packet is not a TCP segment to the analyser.
type Reason uint8

const (
	isTCP           Reason = iota // it is one
	NotIP                         // ARP, LLDP, spanning tree, and the like
	UDP                           // and not a tunnel with TCP in it
	ICMP                          // of both versions, with IGMP
	OtherProtocol                 // another protocol over IP, which encryption is too
	FragmentPart                  // a piece of an IP datagram; it counts as what the datagram is when it is the last to come
	CutHeader                     // the capture kept less of it than the headers
	Malformed                     // its headers contradict themselves
	UnknownLink                   // of a link type that is not known
	TooDeep                       // more headers in one another than any network has
	numberOfReasons = iota
)

var reasonNames = [numberOfReasons]string{
	"tcp", "not-ip", "udp", "icmp", "other-protocol", "fragment-part", "cut-header", "malformed", "unknown-link", "too-deep",
}

// String returns "not-ip", "udp" and so on: what a table or JSON shows.
func (r Reason) String() string { return reasonNames[r] }

// Reasons returns all of them, in the order of Stats.Skipped's indices.
func Reasons() []Reason {
	all := make([]Reason, 0, numberOfReasons-1)
	for r := isTCP + 1; int(r) < numberOfReasons; r++ {
		all = append(all, r)
	}
	return all
}

// Stats is what a Reader has seen so far. Packets is the sum of TCP and of all in Skipped.
type Stats struct {
	Packets int64 // of all kinds
	TCP     int64 // given out by Next
	Skipped [numberOfReasons]int64

	Truncated int64 // TCP packets of whose payload not all was kept
	Problems  [numberOfProblems]int64
	Bytes     int64 // of the file, after decompression

	// First and Last are the earliest and the latest stamp of packets of all kinds.
	First, Last wheel.Time

	// Dropped is how many packets the capture missed, by what the file tells of its interfaces.
	Dropped uint64
}

// Count returns how many TCP packets had the problem, which is a single one.
func (s *Stats) Count(p Problems) int64 {
	for i := range s.Problems {
		if p == 1<<i {
			return s.Problems[i]
		}
	}
	return 0
}
