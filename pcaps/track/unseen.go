package track

import (
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// addAckedGap records bytes up to pos that were acknowledged, and so were sent, but not captured.
func (f hearing) addAckedGap(p *capture.Packet, pos int64, now wheel.Time) {
	from := f.max
	if m := &f.ackedUnseen; m.end == f.max && now.Sub(m.at) < queueSkew {
		from = m.start
	}
	f.ackedUnseen = seqSpan{from, pos, now}
	f.claim = seqSpan{f.max, pos, now}
	if f.bothSeen() && pos-f.max < believable { // else an end may have begun again elsewhere
		f.UnseenBytes += pos - f.max
	}
	if f.board.len() == 0 {
		f.una = max(f.una, f.max)
	}
	f.emit(Missing, p.Number, now, now, f.max, pos, nil)
	f.extend(outstanding{start: f.max, end: pos, seen: now, firstSent: now, sent: now, missing: true})
}

// bothSeen reports whether packets of both directions were captured.
func (f *Flow) bothSeen() bool { return f.other().Packets > 0 && f.Packets > 0 }

// refutes reports whether an ACK of less than f.claim shows that the ACK before was damaged. A host
// never acknowledges less than before, reordering lasts less than ackPatience, and Src has not
// sent anything behind the claimed bytes: they end at f.max.
func (f hearing) refutes(pos int64, now wheel.Time) bool {
	c := &f.claim
	return c.at != 0 && pos >= c.start && pos < c.end && now.Sub(c.at) > ackPatience+3*f.lag()
}

// retract forgets the bytes that a damaged ACK claimed, and episodes since, which were new data.
// Everything before pos is acknowledged.
func (f hearing) retract(pos int64) {
	if f.bothSeen() {
		f.UnseenBytes -= min(f.claim.end-f.claim.start, f.UnseenBytes)
	}
	f.abandonEpisode()
	for n := len(f.Episodes) - 1; n >= 0 && f.Episodes[n].Seen >= f.claim.at; n-- {
		f.Retransmissions -= int64(f.Episodes[n].Total)
		f.Episodes[n].settled = true // Config.Settled does not get it
		f.Episodes = f.Episodes[:n]
	}
	f.clear()
	f.claim, f.ackedUnseen = seqSpan{}, seqSpan{}
	f.max, f.una, f.seenUna, f.offered = pos, pos, pos, 0
	v := &f.view
	v.hasFack, v.afterTimeout, v.dupACKs = false, false, 0
	f.rtts.round = min(f.rtts.round, pos)
}
