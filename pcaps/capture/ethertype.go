package capture

import "encoding/binary"

// Ethertypes and PPP protocols that lead to IP.
const (
	etherIPv4     = 0x0800
	etherIPv6     = 0x86dd
	etherVLAN     = 0x8100
	etherQinQ     = 0x88a8
	etherQinQ1    = 0x9100
	etherQinQ2    = 0x9200
	etherQinQ3    = 0x9300
	etherBridge   = 0x6558 // an Ethernet frame
	etherMPLS     = 0x8847
	etherMPLSMany = 0x8848
	etherPPP      = 0x880b
	etherPPPoE    = 0x8864
	etherCisco    = 0x8909 // Cisco metadata with security group tags

	pppIPv4 = 0x0021
	pppIPv6 = 0x0057
	pppMPLS = 0x0281
)

// ethertype decodes what follows an ethertype: IP, a tunnel, or a tag and another ethertype. Values
// up to 1500 are lengths of 802.2 frames.
func (d *decoder) ethertype(t uint16, b []byte, n int) Reason {
	for {
		tag := 4 // bytes; the last two are the next ethertype
		switch t {
		case etherIPv4, etherIPv6:
			return d.ip(b, n)
		case etherVLAN, etherQinQ, etherQinQ1, etherQinQ2, etherQinQ3:
			if len(b) >= tag {
				if id := binary.BigEndian.Uint16(b) & 0xfff; id != 0 { // 0 is a priority without a VLAN
					d.addOuter(etherVLAN, uint64(id))
				}
			}
		case etherCisco:
			// Version and length, one byte each; the length counts options of 4 bytes.
			if len(b) < 2 {
				return truncated(2, n)
			}
			tag += 4 * int(b[1])
		case etherBridge:
			return d.innerFrame(b, n)
		case etherMPLS, etherMPLSMany:
			return d.mpls(b, n)
		case etherPPPoE:
			return d.pppoe(b, n)
		case etherPPP:
			return d.ppp(b, n)
		default:
			if t <= 1500 {
				return d.llc(b, min(n, int(t)))
			}
			return NotIP
		}
		if d.tooDeep() {
			return TooDeep
		}
		if len(b) < tag {
			return truncated(tag, n)
		}
		t = binary.BigEndian.Uint16(b[tag-2:])
		b, n = b[tag:], n-tag
	}
}

// innerFrame decodes an Ethernet frame inside another packet.
func (d *decoder) innerFrame(b []byte, n int) Reason {
	if d.tooDeep() {
		return TooDeep
	}
	return d.ethernet(b, n)
}

// llc decodes an 802.2 frame: IP with SNAP, or with its own SAP.
func (d *decoder) llc(b []byte, n int) Reason {
	b = b[:min(len(b), n)]
	if len(b) < 3 {
		return truncated(3, n)
	}
	switch {
	case b[0] == 0xaa && b[1] == 0xaa && b[2] == 3:
		if len(b) < 8 {
			return truncated(8, n)
		}
		if d.tooDeep() {
			return TooDeep
		}
		if t := binary.BigEndian.Uint16(b[6:]); t > 1500 {
			return d.ethertype(t, b[8:], n-8)
		}
	case b[0] == 6 && b[1] == 6 && b[2] == 3:
		return d.ip(b[3:], n-3)
	}
	return NotIP
}

// mpls skips the labels and guesses what follows: an Ethernet frame, with or without a control
// word, if it looks like one, else IP by its version.
func (d *decoder) mpls(b []byte, n int) Reason {
	for last := false; !last; b, n = b[4:], n-4 {
		if d.tooDeep() {
			return TooDeep
		}
		if len(b) < 4 {
			return truncated(4, n)
		}
		last = b[2]&1 != 0
	}
	if n < 1 || len(b) < min(n, 40) { // no segment is shorter, and less is ambiguous
		return truncated(1, n)
	}
	switch version := b[0] >> 4; {
	case (version == 4 || version == 6) && !looksLikeFrame(b, n):
		return d.ip(b, n)
	case version == 0 && len(b) < 4:
		return truncated(4, n)
	case version == 0 && !looksLikeFrame(b, n): // a control word
		return d.innerFrame(b[4:], n-4)
	}
	return d.innerFrame(b, n)
}

// looksLikeFrame reports whether b is an Ethernet frame with IP in it, by more than its addresses.
func looksLikeFrame(b []byte, n int) bool {
	for tags := 0; tags < 4 && len(b) >= 18; tags++ {
		switch t := binary.BigEndian.Uint16(b[12:]); t {
		case etherIPv4:
			size := int(binary.BigEndian.Uint16(b[16:]))
			return b[14]>>4 == 4 && b[14]&15 >= 5 && size >= 20 && size <= n-14
		case etherIPv6:
			return b[14]>>4 == 6
		case etherVLAN, etherQinQ:
			b, n = b[4:], n-4
		default:
			return false
		}
	}
	return false
}

// pppoe decodes a PPPoE session (RFC 2516 §4).
func (d *decoder) pppoe(b []byte, n int) Reason {
	if len(b) < 6 {
		return truncated(6, n)
	}
	if b[0] != 0x11 {
		return Malformed
	}
	if b[1] != 0 { // discovery
		return NotIP
	}
	d.addOuter(etherPPPoE, uint64(binary.BigEndian.Uint16(b[2:])))
	return d.ppp(b[6:], n-6)
}

// ppp decodes PPP, with or without address and control bytes, and with a protocol of one byte or
// two (RFC 1661 §2, §6.5, §6.6).
func (d *decoder) ppp(b []byte, n int) Reason {
	if d.tooDeep() {
		return TooDeep
	}
	if len(b) >= 2 && b[0] == 0xff && b[1] == 3 {
		b, n = b[2:], n-2
	}
	if len(b) < 2 {
		return truncated(2, n)
	}
	protocol, header := binary.BigEndian.Uint16(b), 2
	if b[0]&1 != 0 {
		protocol, header = uint16(b[0]), 1
	}
	switch b, n = b[header:], n-header; protocol {
	case pppIPv4, pppIPv6:
		return d.ip(b, n)
	case pppMPLS:
		return d.mpls(b, n)
	}
	return NotIP
}
