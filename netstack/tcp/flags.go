package tcp

// Flags are the control bits of a TCP header (RFC 9293 §3.1).
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

// flagLetters has a letter for each bit, starting with bit 0, FIN.
const flagLetters = "FSRP.UEW"

// Has reports whether all bits of want are set.
func (f Flags) Has(want Flags) bool { return f&want == want }

// HasAny reports whether any bit of want is set.
func (f Flags) HasAny(want Flags) bool { return f&want != 0 }

// String returns the bits in the notation of tcpdump and packetdrill: "S." is SYN with ACK, "SEW"
// is a SYN that offers ECN, and "none" is no bit.
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
