package capture

import "encoding/binary"

// Ethertypes, and the kinds of PPP packet that matter.
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
	etherPBB      = 0x88e7 // 802.1ah
	etherNSH      = 0x894f // service function chains
	etherCisco    = 0x8909 // Cisco metadata, with security group tags
	etherFabric   = 0x8903 // Cisco FabricPath
	etherVNTag    = 0x8926
	etherETag     = 0x893f // 802.1BR
	etherRTag     = 0xf1c1 // 802.1CB

	pppIPv4 = 0x0021
	pppIPv6 = 0x0057
	pppMPLS = 0x0281
)

// ethertype decodes what follows an ethertype: IP, or a tag with another ethertype after it. Values up to 1500 are lengths.
func (d *decoder) ethertype(t uint16, b []byte, n int) Reason {
	for {
		tag := 0 // octets, the last two of which are the next ethertype
		switch t {
		case etherIPv4, etherIPv6:
			return d.ip(b, n)
		case etherVLAN, etherQinQ, etherQinQ1, etherQinQ2, etherQinQ3:
			if len(b) < 4 {
				return short(4, n)
			}
			if id := binary.BigEndian.Uint16(b) & 0xfff; id != 0 { // 0 is a priority without a VLAN
				d.outer(etherVLAN, uint64(id))
			}
			tag = 4
		case etherCisco:
			// Version and length of one octet each, the options, of which the length counts those of 4 octets.
			if len(b) < 2 {
				return short(2, n)
			}
			tag = 4 + 4*int(b[1])
		case etherVNTag, etherRTag:
			tag = 6
		case etherETag:
			tag = 8
		case etherFabric:
			if len(b) < 2 {
				return short(2, n)
			}
			return d.nested(b[2:], n-2)
		case etherBridge:
			return d.nested(b, n)
		case etherPBB:
			if len(b) < 4 {
				return short(4, n)
			}
			return d.frame(etherPBB, uint64(binary.BigEndian.Uint32(b)&0xffffff), b[4:], n-4)
		case etherNSH:
			return d.nsh(b, n)
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
		if d.deeper() {
			return TooDeep
		}
		if len(b) < tag {
			return short(tag, n)
		}
		t = binary.BigEndian.Uint16(b[tag-2:])
		b, n = b[tag:], n-tag
	}
}

// nested decodes an Ethernet frame within another packet.
func (d *decoder) nested(b []byte, n int) Reason {
	if d.deeper() {
		return TooDeep
	}
	return d.ethernet(b, n)
}

// nsh decodes the network service header (RFC 8300 §2). The path through the services is of one direction.
func (d *decoder) nsh(b []byte, n int) Reason {
	if len(b) < 8 {
		return short(8, n)
	}
	size, next := 4*int(b[1]&0x3f), b[3]
	if d.deeper() {
		return TooDeep
	}
	switch {
	case size < 8 || size > n:
		return Malformed
	case size > len(b):
		return CutHeader
	}
	switch b, n = b[size:], n-size; next {
	case 1, 2:
		return d.ip(b, n)
	case 3:
		return d.nested(b, n)
	case 4:
		return d.nsh(b, n)
	case 5:
		return d.mpls(b, n)
	}
	return NotIP
}

// llc decodes 802.2: IP comes with SNAP, or by its own number.
func (d *decoder) llc(b []byte, n int) Reason {
	b = b[:min(len(b), n)]
	if len(b) < 3 {
		return short(3, n)
	}
	switch {
	case b[0] == 0xaa && b[1] == 0xaa && b[2] == 3:
		if len(b) < 8 {
			return short(8, n)
		}
		if d.deeper() {
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

// mpls passes the labels, and decodes what follows, which nothing names: an Ethernet frame with or without a control word if
// it looks like one, else IP by its version.
func (d *decoder) mpls(b []byte, n int) Reason {
	for {
		if d.deeper() {
			return TooDeep
		}
		if len(b) < 4 {
			return short(4, n)
		}
		last := b[2]&1 != 0
		b, n = b[4:], n-4
		if last {
			break
		}
	}
	if n < 1 || len(b) < min(n, 40) { // a segment in IP is no shorter, and less cannot be told apart
		return short(1, n)
	}
	switch version := b[0] >> 4; {
	case (version == 4 || version == 6) && !looksLikeFrame(b, n):
		return d.ip(b, n)
	case version == 0 && len(b) < 4:
		return short(4, n)
	case version == 0 && !looksLikeFrame(b, n): // a control word
		return d.nested(b[4:], n-4)
	}
	return d.nested(b, n)
}

// looksLikeFrame reports whether there is an Ethernet frame with IP in it, whatever its addresses look like.
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
		return short(6, n)
	}
	if b[0] != 0x11 {
		return Malformed
	}
	if b[1] != 0 { // discovery
		return NotIP
	}
	d.outer(etherPPPoE, uint64(binary.BigEndian.Uint16(b[2:])))
	return d.ppp(b[6:], n-6)
}

// ppp decodes PPP, with or without the address and control octets, and with a protocol of one octet or two (RFC 1661 §2, §6.5, §6.6).
func (d *decoder) ppp(b []byte, n int) Reason {
	if d.deeper() {
		return TooDeep
	}
	if len(b) >= 2 && b[0] == 0xff && b[1] == 3 {
		b, n = b[2:], n-2
	}
	if len(b) < 2 {
		return short(2, n)
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
