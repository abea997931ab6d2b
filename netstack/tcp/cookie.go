package tcp

import (
	"net/netip"

	"tcpwheel/wheel"
)

// Cookie is what a returned SYN cookie says about the SYN that it answered. Conn.AcceptCookie makes
// a connection of it.
type Cookie struct {
	ISS        Seq           // the ISS that we sent: the cookie itself
	mss        uint16        // the peer's MSS, rounded down by checkSYNCookie
	timestamps bool          // the connection uses timestamps; options is valid
	options    cookieOptions // the other options of the SYN
}

// CookieSYNAck returns the SYN-ACK that answers a SYN with a cookie (RFC 4987 §3.6), for a listener
// with cfg at local, over path to remote. The timestamp encodes the other options of the SYN;
// without timestamps they are refused.
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

// TakeCookie decodes an ACK that may return a SYN cookie, and reports whether the cookie is valid.
// cfg must be the configuration that CookieSYNAck used. One guess in 2^28 succeeds, so call it only
// for CookieMaxLifetime after sending a cookie.
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
