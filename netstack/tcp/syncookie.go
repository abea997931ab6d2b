package tcp

import (
	"net/netip"
	"time"

	"tcpwheel/wheel"
)

const (
	cookieTick    = 64 * time.Second
	cookieMaxAge  = 2 // ticks: the one in which the cookie was made, and the next
	cookieMACBits = 24
	cookieMSSBits = 3
	cookieAgeBits = 32 - cookieMACBits - cookieMSSBits

	cookieMACMask = 1<<cookieMACBits - 1
	cookieMSSMask = 1<<cookieMSSBits - 1
	cookieAgeMask = 1<<cookieAgeBits - 1
)

// cookieMinLifetime and CookieMaxLifetime bound how long a SYN cookie is taken: until the end of
// the 64 s of the clock that follow those in which it was made.
const (
	cookieMinLifetime = (cookieMaxAge - 1) * cookieTick
	CookieMaxLifetime = cookieMaxAge * cookieTick
)

// cookieMSS are the MSSs that a cookie can say, in 3 bits; a peer's is rounded down. They are the
// least there is, the defaults of IPv4 and IPv6, a tunnel, PPPoE or IPv6 on Ethernet, Ethernet,
// jumbo frames, and the loopback device.
var cookieMSS = [1 << cookieMSSBits]uint16{MinMSS, DefaultMSS4, DefaultMSS6, 1360, 1440, 1460, 8940, 65475}

// synCookie returns the initial sequence number with which to answer a SYN without keeping anything
// of it (RFC 4987 §3.6). irs is the SYN's sequence number, and peerMSS what it announced, or the
// default. local is our end.
//
// Above a base that is secret for each pair of ends, and the peer's own number, it has from the top
// 5 bits of a count of 64 s, 3 bits of MSS, and 24 bits of a keyed hash of all this:
//
//	ISN = F(ends) + irs + (count mod 32)<<27 + MSS index<<24 + MAC(ends, irs, count, MSS index)
//
// so that, of the 2^32 numbers that an attacker can acknowledge who does not see our answers, 16
// are taken: 2 counts of 8 MSSs. That is one in 2^28. What a cookie does not say, window scale and
// SACK, goes into cookieOptions.
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

// checkSYNCookie reports whether cookie is what synCookie returned for these ends and irs not long
// ago, and which MSS was in it: the largest of eight that is not above the peer's, but at least
// MinMSS. Of the ACK that ends a handshake, cookie is SEG.ACK-1 and irs is SEG.SEQ-1. A cookie is
// good any number of times while it lives.
func (s *Secret) checkSYNCookie(now wheel.Time, local, remote netip.AddrPort, irs, cookie Seq) (mss uint16, ok bool) {
	v := uint32(cookie - s.cookieBase(local, remote, irs))
	count := ticks(now, cookieTick)
	age := (uint32(count) - v>>(cookieMSSBits+cookieMACBits)) & cookieAgeMask
	if age >= cookieMaxAge {
		return 0, false
	}
	index := v >> cookieMACBits & cookieMSSMask
	// The hash is of the whole count: a cookie that is 32 ticks too old is not young again.
	if v&cookieMACMask != s.cookieMAC(local, remote, irs, count-int64(age), index) {
		return 0, false
	}
	return cookieMSS[index], true
}

func (s *Secret) cookieBase(local, remote netip.AddrPort, irs Seq) Seq {
	return irs.Add(uint32(s.hash(forCookieBase, local, remote, 0)))
}

// cookieMAC hashes all that a cookie stands for. The count is cut to 29 bits, 1,089 years, to fit
// in one word with the rest.
func (s *Secret) cookieMAC(local, remote netip.AddrPort, irs Seq, count int64, index uint32) uint32 {
	n := uint64(count)<<(32+cookieMSSBits) | uint64(index)<<32 | uint64(irs)
	return uint32(s.hash(forCookieMAC, local, remote, n)) & cookieMACMask
}

// cookieOptions is what a SYN offered and a SYN cookie has no room for. It goes into the low bits
// of TSVal, as in Linux (cookie_init_timestamp), and comes back in TSEcr, if the peer uses
// timestamps; if not, it is lost, and the connection goes without. The peer could change it, which
// harms nobody but itself.
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

// TSVal returns the latest timestamp that says o and is not after tsVal, at most 63 before it: so
// the timestamps of the connection, which start from tsVal, do not go back.
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

// cookieOptionsFrom returns what TSVal put into a timestamp that came back as tsEcr.
func cookieOptionsFrom(tsEcr uint32) (o cookieOptions) {
	if ws := uint8(tsEcr & tsWScaleMask); ws <= MaxWScale {
		o.HasWScale, o.WScale = true, ws
	}
	o.SACKPermitted = tsEcr&tsSACK != 0
	o.ECN = tsEcr&tsECN != 0
	return o
}
