package tcp

import "math"

const (
	// DefaultMSS4 and DefaultMSS6 are what counts as the peer's MSS if its SYN has no such option,
	// over IPv4 and IPv6.
	//
	// RFC 9293 §3.7.1: without an MSS Option, TCP assumes a send MSS of 536 (576 - 40) for IPv4 and
	// of 1220 (1280 - 60) for IPv6 (MUST-15).
	DefaultMSS4 = 536
	DefaultMSS6 = 1220

	// MinMSS is the least that counts as an MSS, whatever a peer or a path says: a header with all
	// 40 bytes of options and 8 bytes of data. It is Linux's TCP_MIN_SND_MSS (include/net/tcp.h).
	// Below it a peer could make a host send every byte in a segment of its own, or leave no room
	// for any beside the options (CVE-2019-11479). Linux's larger TCP_MIN_MSS of 88 bounds what an
	// application may ask for; here it would make segments too large for peers that mean 64.
	//
	// DEVIATION RFC 9293 §3.7.1: segments to a peer that announces less than MinMSS are larger than
	// it asks for.
	MinMSS = 48

	ipv4HeaderLen = 20
	ipv6HeaderLen = 40
)

// defaultMSS returns the MSS of a peer that announces none.
func defaultMSS(ipv6 bool) uint16 {
	if ipv6 {
		return DefaultMSS6
	}
	return DefaultMSS4
}

// advertisedMSS returns what an MSS option says on a link with this MTU: what fits behind IP's
// fixed header (20 or 40 bytes) and TCP's. Options are not taken off: each segment's sender does
// that. It is held between MinMSS and 65,535, the most that the option can say.
func advertisedMSS(mtu, ipHeaderLen int) uint16 {
	return uint16(min(max(mtu-ipHeaderLen-HeaderLen, MinMSS), math.MaxUint16))
}

// effectiveMSS returns how many bytes of data a segment may carry: RFC 9293 §3.7.1's
//
//	Eff.snd.MSS = min(SendMSS+20, MMS_S) - TCPhdrsize - IPoptionsize
//
// where SendMSS is peerMSS, the one that the peer announced or the default; MMS_S is pathMTU -
// ipHeaderLen, with IP's fixed header of 20 or 40 bytes; and optionLen is how many bytes of
// options this very segment has, TCP's (Options.Len) and IP's (and extension headers) together. A
// segment without SACK blocks so carries more than one with: nothing is kept free for blocks that
// may come later.
//
// The options come off what is left by peer and path, which is held at MinMSS: the result is at
// least 8, if optionLen is at most 40, and at least 1 in any case. Segments over a path whose MTU
// is below MinMSS and the headers have to be fragmented; no link of IPv6 is that narrow, and none
// of IPv4 is below 68 bytes.
func effectiveMSS(peerMSS uint16, pathMTU, ipHeaderLen, optionLen int) int {
	return max(max(min(int(peerMSS), pathMTU-ipHeaderLen-HeaderLen), MinMSS)-optionLen, 1)
}
