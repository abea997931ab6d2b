package track

import "tcpwheel/pcaps/capture"

// checksumCounts counts right and wrong checksums.
type checksumCounts struct {
	right, wrong int64
	zeros        bool // a right one covered only zeros, so zeros were really sent
}

// note counts p's checksum. It ignores packets captured in part, sums left to the network
// interface, and payloads blanked for publication.
func (s *checksumCounts) note(p *capture.Packet) {
	const longest = 1460 // a longer packet may be a super-packet with the sum of a part
	switch {
	case p.Problems.Has(capture.BadChecksum):
		if s.zeros || !isBlanked(p) {
			s.wrong++
		}
	case p.Problems.Has(capture.PartialChecksum) || p.Len > longest || uint32(len(p.Payload)) != p.Len:
	default:
		s.right++
		s.zeros = s.zeros || isBlanked(p)
	}
}

// damaged reports whether p's wrong checksum shows damage in transit, so that its receiver drops
// it. It does not in a flow with as many wrong as right ones, nor in a flow's first packet if a
// fifth of all are wrong. There the addresses were changed in the file, as in published captures,
// or the sums were not yet computed.
func (t *Tracker) damaged(p *capture.Packet, f *Flow) bool {
	if !p.Problems.Has(capture.BadChecksum) {
		return false
	}
	if isBlanked(p) && (f == nil || !f.checksums.zeros) {
		return false
	}
	if f != nil && f.checksums.right != f.checksums.wrong {
		return f.checksums.right > f.checksums.wrong
	}
	return t.checksums.right > 4*t.checksums.wrong
}

// isBlanked reports whether the payload is all zeros, as in captures published without their
// content. The checksum is that of the original.
func isBlanked(p *capture.Packet) bool {
	for _, b := range p.Payload {
		if b != 0 {
			return false
		}
	}
	return len(p.Payload) > 0
}
