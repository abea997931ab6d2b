package tcp

// windowUse is how much of the congestion window the sender has used of late. The window may grow
// only while it limits the sender.
type windowUse struct {
	end  Seq    // SND.NXT when most was noted
	most uint32 // largest flight since, bytes
	full bool   // the window had no room for a full segment
}

// note must be called after segments were sent, or held back by the congestion window. It
// keeps the strongest signal of each window of data, as Linux's tcp_cwnd_validate does. A window
// that the application has just filled is full, even if nothing more waits.
func (u *windowUse) note(snd *sender) {
	if snd.fl == &atRest {
		return
	}
	full := snd.held.cwnd || uint64(snd.pipe())+uint64(snd.mss) > uint64(snd.cc.Cwnd())
	flight := snd.fl.sent.Outstanding().Bytes
	if full || snd.una.AtOrAfter(u.end) || !u.full && flight > u.most {
		*u = windowUse{end: snd.nxt, most: flight, full: full}
	}
}

// limits reports whether the congestion window limits the sender, so that it may grow.
// RFC 9438 §5.8: cwnd is not increased while it is not what limits the sender. In slow start it
// also grows to twice the largest flight, as in Linux (tcp_is_cwnd_limited). Otherwise the ACKs
// after the one that makes room would count for nothing.
func (u *windowUse) limits(snd *sender) bool {
	return u.full || snd.cc.InSlowStart() && uint64(snd.cc.Cwnd()) < 2*uint64(u.most)
}
