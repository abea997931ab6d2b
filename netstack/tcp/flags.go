package tcp

// Flags are the control bits of a segment's header (RFC 9293 §3.1).
type Flags uint8

const (
	FIN Flags = 1 << iota // no more data from the sender
	SYN                   // synchronise sequence numbers
	RST                   // reset the connection
	PSH                   // push
	ACK                   // the acknowledgment field is significant
	URG                   // the urgent pointer field is significant
	ECE                   // ECN-Echo (RFC 3168 §6.1)
	CWR                   // congestion window reduced (RFC 3168 §6.1)
)

// flagLetters and flagNames go by bit number, FIN first.
const flagLetters = "FSRP.UEW"

var flagNames = [...]string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"}

// Has reports whether all of the bits in want are set.
func (f Flags) Has(want Flags) bool { return f&want == want }

// HasAny reports whether at least one of the bits in want is set.
func (f Flags) HasAny(want Flags) bool { return f&want != 0 }

// String returns the bits as tcpdump and packetdrill write them: "S." is SYN with ACK, "SEW" a SYN that offers ECN, and
// "none" no bit at all.
func (f Flags) String() string {
	if f == 0 {
		return "none"
	}
	var b [8]byte
	n := 0
	for i := range len(flagLetters) {
		if f&(1<<i) != 0 {
			b[n] = flagLetters[i]
			n++
		}
	}
	return string(b[:n])
}

// Names returns the bits as RFC 9293 §3.5 writes them after CTL=, "SYN,ACK", and "" for none.
func (f Flags) Names() string {
	var b []byte
	for i, name := range flagNames {
		if f&(1<<i) == 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, name...)
	}
	return string(b)
}
