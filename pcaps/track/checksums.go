package track

import "tcpwheel/pcaps/capture"

// checksumCounts counts right and wrong checksums.
type checksumCounts struct {
	right, wrong int64
	zeros        bool // a right one covered only zeros, so zeros were really sent
	disproved    bool // a packet with a wrong one was acknowledged: the file was changed
	dropped      seqSpan
}

// note counts p's checksum. It ignores packets captured in part, sums left to the network
// interface, and payloads blanked for publication.
func (s *checksumCounts) note(p *capture.Packet) {
	const longest = 1460 // a longer packet may be a super-packet with the sum of a part
	switch {
	case p.Problems.Has(capture.BadChecksum):
		if s.zeros || !isBlanked(p.Payload) {
			s.wrong++
		}
	case p.Problems.Has(capture.PartialChecksum) || p.Len > longest || uint32(len(p.Payload)) != p.Len:
	default:
		s.right++
		s.zeros = s.zeros || isBlanked(p.Payload)
	}
}

// damaged reports whether p's wrong checksum shows damage in transit, so that its receiver drops
// it. It does not in a flow with as many wrong as right ones, nor in a flow's first packet if a
// fifth of all are wrong, by a sample: see Tracker.sample. There the addresses were changed in the
// file, as in published captures, or the sums were not yet computed.
func (t *Tracker) damaged(p *capture.Packet, f *Flow) bool {
	if isBlanked(p.Payload) && (f == nil || !f.checksums.zeros) || f != nil && f.checksums.disproved {
		return false
	}
	if f != nil && f.checksums.right != f.checksums.wrong {
		return f.checksums.right > f.checksums.wrong
	}
	return t.checksums.right > 4*t.checksums.wrong
}

// noteDropped records new data that was dropped for its checksum.
func (f *Flow) noteDropped(p *capture.Packet) {
	if start := f.pos(p.Header.Seq); f.started && p.Len > 0 && start == f.max {
		f.checksums.dropped = seqSpan{start: start, end: start + int64(p.SegLen())}
	}
}

// disproveDamage notes an ACK of data that was dropped for its checksum and not captured again:
// then its receiver had it, and wrong checksums of this flow are the file's.
func (f hearing) disproveDamage(pos int64) {
	if d := &f.checksums.dropped; d.end > 0 && pos == d.end && f.max == d.start {
		f.checksums.disproved = true
	}
}

// isBlanked reports whether a payload is all zeros, as in captures published without their
// content. The checksum is that of the original.
func isBlanked(payload []byte) bool {
	for _, b := range payload {
		if b != 0 {
			return false
		}
	}
	return len(payload) > 0
}
