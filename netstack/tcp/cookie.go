package tcp

import (
	"net/netip"

	"tcpwheel/wheel"
)

// Cookie is what the answer to a SYN cookie tells of the SYN, of which nothing was kept.
// Conn.AcceptCookie makes a connection of it.
type Cookie struct {
	ISS        Seq           // the cookie
	mss        uint16        // of the peer, rounded down: see Secret.checkSYNCookie
	timestamps bool          // the connection has timestamps, which have brought Options
	options    cookieOptions // what else the SYN offered
}

// CookieSYNAck returns the SYN-ACK that answers a SYN by a cookie (RFC 4987 §3.6), for a listener
// with cfg at local, over path to remote. What the SYN offers beside its MSS is remembered in the
// timestamp, and refused where there is none.
func (s *Secret) CookieSYNAck(now wheel.Time, local, remote netip.AddrPort, syn *Header, cfg *Config, path Path) Header {
	opt := &syn.Options
	mss := defaultMSS(path.IPv6)
	if opt.HasMSS {
		mss = opt.MSS
	}
	h := Header{
		Seq:    s.synCookie(now, local, remote, syn.Seq, mss),
		Ack:    syn.Seq.Add(1),
		Flags:  SYN | ACK,
		Window: synWindowField(cfg.RecvBuffer),
	}
	h.Options.HasMSS, h.Options.MSS = true, advertisedMSS(path.MTU, path.ipHeaderLen())
	if cfg.Socket.MaxSeg != 0 {
		h.Options.MSS = min(h.Options.MSS, cfg.Socket.MaxSeg)
	}
	if !cfg.Timestamps || !opt.HasTimestamps {
		return h
	}
	offered := cookieOptions{
		HasWScale: cfg.WScale && opt.HasWScale, WScale: opt.WScale,
		SACKPermitted: cfg.SACK && opt.SACKPermitted,
		ECN:           cfg.ECN && ecnSetupSYN(syn.Flags.Has(ECE), syn.Flags.Has(CWR)),
	}
	clock := uint32(ticks(now, cfg.TimestampTick)) + s.TimestampOffset(local, remote)
	h.Options.HasTimestamps, h.Options.TSVal, h.Options.TSEcr = true, offered.TSVal(clock), opt.TSVal
	h.Options.SACKPermitted = offered.SACKPermitted
	if offered.HasWScale {
		h.Options.HasWScale, h.Options.WScale = true, windowScaleFor(max(cfg.RecvBuffer, cfg.RecvBufferMax))
	}
	if offered.ECN {
		h.Flags |= ECE
	}
	return h
}

// TakeCookie returns what an ACK tells that may answer a SYN cookie, and whether it does. cfg is
// what the SYN-ACK was made by. As whoever can guess one in 2^28 needs no SYN, an owner is to ask
// only for CookieMaxLifetime after it has sent a cookie.
func (s *Secret) TakeCookie(now wheel.Time, local, remote netip.AddrPort, ack *Header, cfg *Config) (ck Cookie, ok bool) {
	ck.ISS = ack.Ack - 1
	if ck.mss, ok = s.checkSYNCookie(now, local, remote, ack.Seq-1, ck.ISS); !ok {
		return Cookie{}, false
	}
	if ck.timestamps = cfg.Timestamps && ack.Options.HasTimestamps; ck.timestamps {
		ck.options = cookieOptionsFrom(ack.Options.TSEcr)
	}
	return ck, true
}
