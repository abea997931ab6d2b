package track

import "tcpwheel/pcaps/capture"

// sums counts what checksums tell.
type sums struct{ right, wrong int64 }

// note counts the packet's. One that was not captured whole, or that was left to the network interface, tells nothing.
func (s *sums) note(p *capture.Packet) {
	const longest = 1460 // above, it may be that of a part
	switch {
	case p.Problems.Has(capture.BadChecksum):
		s.wrong++
	case p.Problems.Has(capture.PartialChecksum) || p.Len > longest || uint32(len(p.Payload)) != p.Len:
	default:
		s.right++
	}
}

// damaged reports whether a wrong checksum says that the packet was damaged on its way, so that its receiver drops it. It does not where
// as many are wrong as right in its flow, nor in its first packet where a fifth of all are: there the addresses were changed in the file, as in
// captures that are made public, or the capture has outgoing packets before their sum.
func (t *Tracker) damaged(p *capture.Packet, f *Flow) bool {
	if !p.Problems.Has(capture.BadChecksum) {
		return false
	}
	if f != nil && f.sums.right != f.sums.wrong {
		return f.sums.right > f.sums.wrong
	}
	return t.sums.right > 4*t.sums.wrong
}
