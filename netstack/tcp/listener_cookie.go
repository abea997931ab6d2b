package tcp

import (
	"net/netip"

	"tcpwheel/wheel"
)

// sendCookie answers a SYN with a SYN-ACK whose sequence number is all that is kept of it (RFC 4987 §3.6).
func (l *Listener) sendCookie(now wheel.Time, local, remote netip.AddrPort, syn *Header) {
	e, cfg, opt := l.e, l.cfg, &syn.Options
	path := e.path(remote)
	mss := DefaultMSS(path.IPv6)
	if opt.HasMSS {
		mss = opt.MSS
	}
	h := Header{
		Seq:    e.secret.SYNCookie(now, local, remote, syn.Seq, mss),
		Ack:    syn.Seq.Add(1),
		Flags:  SYN | ACK,
		Window: SYNField(cfg.RecvBuffer),
	}
	h.Options.HasMSS, h.Options.MSS = true, AdvertisedMSS(path.MTU, path.ipHeaderLen())
	if cfg.Socket.MaxSeg != 0 {
		h.Options.MSS = min(h.Options.MSS, cfg.Socket.MaxSeg)
	}
	if cfg.Timestamps && opt.HasTimestamps {
		// What else was offered is remembered in the timestamp, and without one it is refused.
		offered := CookieOptions{
			HasWScale: cfg.WScale && opt.HasWScale, WScale: opt.WScale,
			SACKPermitted: cfg.SACK && opt.SACKPermitted,
			ECN:           cfg.ECN && ECNSetupSYN(syn.Flags.Has(ECE), syn.Flags.Has(CWR)),
		}
		clock := uint32(ticks(now, cfg.TimestampTick)) + e.secret.TimestampOffset(local, remote)
		h.Options.HasTimestamps, h.Options.TSVal, h.Options.TSEcr = true, offered.TSVal(clock), opt.TSVal
		h.Options.SACKPermitted = offered.SACKPermitted
		if offered.HasWScale {
			h.Options.HasWScale, h.Options.WScale = true, ScaleFor(max(cfg.RecvBuffer, cfg.RecvBufferMax))
		}
		if offered.ECN {
			h.Flags |= ECE
		}
	}
	e.out.Counters.SyncookiesSent++
	l.cookies, l.cookieAt = true, now
	e.send(local, remote, h)
}

// cookie takes an ACK that may be the answer to a SYN cookie. If it is good, ok is true, and s is the connection that it
// has made, nil if there was no room for it.
func (l *Listener) cookie(now wheel.Time, local, remote netip.AddrPort, in *Inbound) (s *Socket, v Verdict, ok bool) {
	// An ACK is looked at only while a cookie can be about: else whoever can guess one in 2^28 would need no SYN.
	if !l.cookies || now.Sub(l.cookieAt) > CookieMaxLifetime {
		return nil, Verdict{}, false
	}
	e, h := l.e, in.Header
	iss := h.Ack.Add(^uint32(0))
	mss, ok := e.secret.CheckSYNCookie(now, local, remote, h.Seq.Add(^uint32(0)), iss)
	if !ok {
		e.out.Counters.SyncookiesFailed++
		return nil, Verdict{}, false
	}
	e.out.Counters.SyncookiesRecv++
	if l.full() {
		e.out.Counters.ListenOverflows++
		e.out.Counters.ListenDrops++
		return nil, Verdict{}, true
	}
	var opts CookieOptions
	stamped := l.cfg.Timestamps && h.Options.HasTimestamps
	if stamped {
		opts = CookieOptionsFrom(h.Options.TSEcr)
	}
	s = e.add(local, remote, l.cfg, iss)
	s.pending = &pending{listener: l, since: now}
	l.halfOpen++
	v = s.conn.AcceptCookie(now, in, mss, opts, stamped, &e.out)
	e.apply(s)
	return s, v, true
}
