package tcp

import "math"

const (
	// DefaultMSS4 and DefaultMSS6 are the peer's MSS over IPv4 and IPv6 if its SYN has no MSS
	// option, bytes.
	//
	// RFC 9293 §3.7.1: without an MSS Option, TCP assumes a send MSS of 536 (576 - 40) for IPv4 and
	// of 1220 (1280 - 60) for IPv6 (MUST-15).
	DefaultMSS4 = 536
	DefaultMSS6 = 1220

	// MinMSS is the smallest MSS that counts, whatever a peer or path says: 40 bytes of options and
	// 8 bytes of data. It is Linux's TCP_MIN_SND_MSS (include/net/tcp.h). Below it a peer could
	// make a host send every byte in its own segment, or leave no room next to the options
	// (CVE-2019-11479). Linux's TCP_MIN_MSS of 88 limits what applications may set; here it would
	// make segments too large for a peer that announces 64.
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

// advertisedMSS returns the value of our MSS option for an MTU: the room after the fixed IP header
// (20 or 40 bytes) and TCP header. Options are not subtracted; the sender of each segment does
// that. The result is in MinMSS..65535.
func advertisedMSS(mtu, ipHeaderLen int) uint16 {
	return uint16(min(max(mtu-ipHeaderLen-HeaderLen, MinMSS), math.MaxUint16))
}

// effectiveMSS returns how many data bytes a segment may carry (RFC 9293 §3.7.1):
//
//	Eff.snd.MSS = min(SendMSS+20, MMS_S) - TCPhdrsize - IPoptionsize
//
// SendMSS is peerMSS. MMS_S is pathMTU - ipHeaderLen, with the fixed IP header of 20 or 40 bytes.
// optionLen is the length of this segment's TCP and IP options together, so a segment without SACK
// blocks carries more data than one with them.
//
// The room before options is at least MinMSS, so the result is at least 8 if optionLen is at most
// 40, and at least 1 in any case. A path whose MTU is smaller must fragment; IPv6 has no such
// links, and IPv4 none below 68 bytes.
func effectiveMSS(peerMSS uint16, pathMTU, ipHeaderLen, optionLen int) int {
	return max(max(min(int(peerMSS), pathMTU-ipHeaderLen-HeaderLen), MinMSS)-optionLen, 1)
}
