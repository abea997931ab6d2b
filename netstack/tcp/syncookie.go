package tcp

import (
	"net/netip"
	"time"

	"tcpwheel/wheel"
)

const (
	cookieTick    = 64 * time.Second
	cookieMaxAge  = 2 // ticks: that of the cookie, and the next
	cookieMACBits = 24
	cookieMSSBits = 3
	cookieAgeBits = 32 - cookieMACBits - cookieMSSBits

	cookieMACMask = 1<<cookieMACBits - 1
	cookieMSSMask = 1<<cookieMSSBits - 1
	cookieAgeMask = 1<<cookieAgeBits - 1
)

// cookieMinLifetime and CookieMaxLifetime bound the life of a SYN cookie. It ends with the 64 s
// tick after that of the cookie.
const (
	cookieMinLifetime = (cookieMaxAge - 1) * cookieTick
	CookieMaxLifetime = cookieMaxAge * cookieTick
)

// cookieMSS are the MSS values that 3 bits can encode; the peer's MSS is rounded down. They are the
// minimum, the defaults of IPv4 and IPv6, a tunnel, PPPoE or IPv6 over Ethernet, Ethernet, jumbo
// frames and loopback.
var cookieMSS = [1 << cookieMSSBits]uint16{MinMSS, DefaultMSS4, DefaultMSS6, 1360, 1440, 1460, 8940, 65475}

// synCookie returns the ISS that answers a SYN without keeping state (RFC 4987 §3.6). irs is the
// SYN's sequence number, peerMSS is the announced or default MSS, and local is our end.
//
// On top of a secret base for the two ends and irs, it encodes 5 bits of a count of 64 s ticks, 3
// bits of MSS and 24 bits of a keyed hash:
//
//	ISN = F(ends) + irs + (count mod 32)<<27 + MSS index<<24 + MAC(ends, irs, count, MSS index)
//
// So 16 of 2^32 numbers are valid for a blind attacker, 2 counts times 8 MSS values: one in 2^28.
// Window scale and SACK are in cookieOptions.
func (s *Secret) synCookie(now wheel.Time, local, remote netip.AddrPort, irs Seq, peerMSS uint16) Seq {
	index := len(cookieMSS) - 1
	for index > 0 && cookieMSS[index] > peerMSS {
		index--
	}
	count := ticks(now, cookieTick)
	v := uint32(count)&cookieAgeMask<<(cookieMSSBits+cookieMACBits) | uint32(index)<<cookieMACBits |
		s.cookieMAC(local, remote, irs, count, uint32(index))
	return s.cookieBase(local, remote, irs).Add(v)
}

// checkSYNCookie reports whether cookie is a recent result of synCookie for these ends and irs. mss
// is the encoded MSS: the largest of eight that is not above the peer's, but at least MinMSS. For
// the ACK of a handshake, cookie is SEG.ACK-1 and irs is SEG.SEQ-1. A cookie can be used any number
// of times while it lives.
func (s *Secret) checkSYNCookie(now wheel.Time, local, remote netip.AddrPort, irs, cookie Seq) (mss uint16, ok bool) {
	v := uint32(cookie - s.cookieBase(local, remote, irs))
	count := ticks(now, cookieTick)
	age := (uint32(count) - v>>(cookieMSSBits+cookieMACBits)) & cookieAgeMask
	if age >= cookieMaxAge {
		return 0, false
	}
	index := v >> cookieMACBits & cookieMSSMask
	// The hash covers the whole count, so a cookie 32 ticks old does not look new.
	if v&cookieMACMask != s.cookieMAC(local, remote, irs, count-int64(age), index) {
		return 0, false
	}
	return cookieMSS[index], true
}

func (s *Secret) cookieBase(local, remote netip.AddrPort, irs Seq) Seq {
	return irs.Add(uint32(s.hash(forCookieBase, local, remote, 0)))
}

// cookieMAC hashes everything that a cookie encodes. The count is cut to 29 bits, 1,089 years.
func (s *Secret) cookieMAC(local, remote netip.AddrPort, irs Seq, count int64, index uint32) uint32 {
	n := uint64(count)<<(32+cookieMSSBits) | uint64(index)<<32 | uint64(irs)
	return uint32(s.hash(forCookieMAC, local, remote, n)) & cookieMACMask
}

// cookieOptions are the SYN options that do not fit into a SYN cookie. As in Linux
// (cookie_init_timestamp) they are in the low bits of TSVal and return in TSEcr. Without timestamps
// they are lost. A peer that changes them harms only itself.
type cookieOptions struct {
	HasWScale     bool
	WScale        uint8 // the peer's, 0 to 14
	SACKPermitted bool
	ECN           bool // the SYN had ECE and CWR set
}

const (
	tsWScaleMask = 0xf // 15 is none
	tsSACK       = 1 << 4
	tsECN        = 1 << 5
	tsMask       = 1<<6 - 1
)

// TSVal returns the latest timestamp that encodes o and is not after tsVal; it is at most 63
// earlier. So the connection's timestamps, which start at tsVal, do not go back.
func (o cookieOptions) TSVal(tsVal uint32) uint32 {
	v := uint32(tsWScaleMask)
	if o.HasWScale {
		v = uint32(min(o.WScale, MaxWScale))
	}
	if o.SACKPermitted {
		v |= tsSACK
	}
	if o.ECN {
		v |= tsECN
	}
	return tsVal - (tsVal-v)&tsMask
}

// cookieOptionsFrom decodes a TSVal that returned as tsEcr.
func cookieOptionsFrom(tsEcr uint32) (o cookieOptions) {
	if ws := uint8(tsEcr & tsWScaleMask); ws <= MaxWScale {
		o.HasWScale, o.WScale = true, ws
	}
	o.SACKPermitted = tsEcr&tsSACK != 0
	o.ECN = tsEcr&tsECN != 0
	return o
}
