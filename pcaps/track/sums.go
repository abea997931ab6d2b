package track

import "tcpwheel/pcaps/capture"

// sums counts what checksums tell.
type sums struct {
	right, wrong int64
	zeros        bool // one was right of nothing but zeros, so that these were sent
}

// note counts the packet's. One that was not captured whole, that was left to the network interface, or whose octets
// were blanked, tells nothing.
func (s *sums) note(p *capture.Packet) {
	const longest = 1460 // above, it may be that of a part
	switch {
	case p.Problems.Has(capture.BadChecksum):
		if s.zeros || !blank(p) {
			s.wrong++
		}
	case p.Problems.Has(capture.PartialChecksum) || p.Len > longest || uint32(len(p.Payload)) != p.Len:
	default:
		s.right++
		s.zeros = s.zeros || blank(p)
	}
}

// damaged reports whether a wrong checksum says that the packet was damaged on its way, so that its receiver drops it. It does not where
// as many are wrong as right in its flow, nor in its first packet where a fifth of all are: there the addresses were changed in the file, as in
// captures that are made public, or the capture has outgoing packets before their sum.
func (t *Tracker) damaged(p *capture.Packet, f *Flow) bool {
	if !p.Problems.Has(capture.BadChecksum) {
		return false
	}
	if blank(p) && (f == nil || !f.sums.zeros) {
		return false
	}
	if f != nil && f.sums.right != f.sums.wrong {
		return f.sums.right > f.sums.wrong
	}
	return t.sums.right > 4*t.sums.wrong
}

// blank reports whether nothing but zeros is left of what a packet carried, as in captures that are made public without what was said: its
// checksum is that of what was there.
func blank(p *capture.Packet) bool {
	for _, b := range p.Payload {
		if b != 0 {
			return false
		}
	}
	return len(p.Payload) > 0
}
