package capture

import (
	"encoding/binary"
)

// Link types by tcpdump.org's numbers. The numbers of raw IP differ by system; those of files are 101, 228 and 229.
const (
	linkNull       = 0
	linkEthernet   = 1
	linkTokenRing  = 6
	linkPPP        = 9
	linkRawBSD     = 12
	linkRawOpenBSD = 14
	linkPPPSerial  = 50
	linkPPPoE      = 51
	linkATM        = 100
	linkRaw        = 101
	linkWireless   = 105
	linkLoop       = 108
	linkSLL        = 113
	linkPktapOld   = 149
	linkAVS        = 163
	linkPPPPPPD    = 166
	linkPPI        = 192
	linkPPPDir     = 204
	linkIPv4       = 228
	linkIPv6       = 229
	linkNFLOG      = 239
	linkPktap      = 258
	linkSLL2       = 276
)

// link decodes a packet of a link type.
func (d *decoder) link(link uint16, b []byte, n int) Reason {
	if d.deeper() {
		return TooDeep
	}
	switch link {
	case linkEthernet:
		return d.ethernet(b, n)
	case linkRaw, linkRawBSD, linkRawOpenBSD, linkIPv4, linkIPv6:
		return d.ip(b, n)
	case linkNull, linkLoop:
		return d.loopback(b, n)
	case linkSLL:
		return d.sll(b, n)
	case linkSLL2:
		return d.sll2(b, n)
	case linkPPP, linkPPPSerial, linkPPPPPPD:
		return d.ppp(b, n)
	case linkPPPoE:
		return d.pppoe(b, n)
	case linkPPPDir:
		return d.pppDirected(b, n)
	case linkATM:
		return d.llc(b, n)
	case linkNFLOG:
		return d.nflog(b, n)
	case linkPktap, linkPktapOld:
		return d.pktap(b, n)
	case linkTokenRing:
		return d.tokenRing(b, n)
	case linkPPI:
		return d.ppi(b, n)
	case linkAVS:
		return d.avs(b, n)
	}
	for _, p := range plainLinks {
		if p.link == link {
			return d.plain(p, b, n)
		}
	}
	return d.byGopacket(link, b, n)
}

// inside decodes the IP packet after a header of so many octets.
func (d *decoder) inside(header int, b []byte, n int) Reason {
	if len(b) < header {
		return short(header, n)
	}
	return d.ip(b[header:], n-header)
}

func (d *decoder) ethernet(b []byte, n int) Reason {
	if len(b) < 14 {
		return short(14, n)
	}
	return d.ethertype(binary.BigEndian.Uint16(b[12:]), b[14:], n-14)
}

// loopback decodes BSD's loopback: an address family in the byte order of the host (NULL) or of the network (LOOP).
func (d *decoder) loopback(b []byte, n int) Reason {
	if len(b) < 4 {
		return short(4, n)
	}
	family := binary.LittleEndian.Uint32(b)
	if family > 0xffff {
		family = binary.BigEndian.Uint32(b)
	}
	switch family {
	case 2, 10, 24, 28, 30: // AF_INET everywhere; AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, and macOS
		return d.ip(b[4:], n-4)
	}
	return NotIP
}

// sll decodes Linux's "any" interface.
func (d *decoder) sll(b []byte, n int) Reason {
	if len(b) < 16 {
		return short(16, n)
	}
	if d.p.Direction == Unknown {
		d.p.Direction = linuxDirection(binary.BigEndian.Uint16(b))
	}
	return d.linuxProtocol(binary.BigEndian.Uint16(b[14:]), b[16:], n-16)
}

func (d *decoder) sll2(b []byte, n int) Reason {
	if len(b) < 20 {
		return short(20, n)
	}
	d.p.Device = binary.BigEndian.Uint32(b[4:])
	if d.p.Direction == Unknown {
		d.p.Direction = linuxDirection(uint16(b[10]))
	}
	return d.linuxProtocol(binary.BigEndian.Uint16(b), b[20:], n-20)
}

// linuxProtocol decodes what Linux calls a protocol, which is an ethertype or, below 1536, a number of its own.
func (d *decoder) linuxProtocol(protocol uint16, b []byte, n int) Reason {
	const ethP8022 = 4 // 802.2 LLC
	if protocol == ethP8022 {
		return d.llc(b, n)
	}
	return d.ethertype(protocol, b, n)
}

// pppDirected decodes PPP after an octet that says which way: 0 is in, anything else is out.
func (d *decoder) pppDirected(b []byte, n int) Reason {
	if len(b) < 1 {
		return short(1, n)
	}
	if d.p.Direction == Unknown {
		d.p.Direction = Inbound
		if b[0] != 0 {
			d.p.Direction = Outbound
		}
	}
	return d.ppp(b[1:], n-1)
}

// nflog decodes Linux's netfilter log: attributes in the byte order of the host, of which one is the IP packet.
func (d *decoder) nflog(b []byte, n int) Reason {
	const payload = 9
	if len(b) < 4 {
		return short(4, n)
	}
	for b, n = b[4:], n-4; ; {
		if len(b) < 4 {
			return short(4, n)
		}
		size, kind := int(binary.LittleEndian.Uint16(b)), binary.LittleEndian.Uint16(b[2:])
		if kind > 0xff { // the other byte order
			size, kind = int(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint16(b[2:])
		}
		if size < 4 || size > n {
			return Malformed
		}
		if kind == payload {
			return d.ip(b[4:min(size, len(b))], size-4)
		}
		size = min((size+3)&^3, n)
		if size > len(b) {
			return CutHeader
		}
		b, n = b[size:], n-size
	}
}

// pktap decodes macOS's header of all interfaces, which says what link type follows and which way the packet went.
func (d *decoder) pktap(b []byte, n int) Reason {
	if len(b) < 40 {
		return short(40, n)
	}
	header := int(min(binary.LittleEndian.Uint32(b), maxRecord))
	if d.p.Direction == Unknown {
		switch binary.LittleEndian.Uint32(b[36:]) & 3 {
		case 1:
			d.p.Direction = Inbound
		case 2:
			d.p.Direction = Outbound
		}
	}
	return d.after(header, binary.LittleEndian.Uint32(b[8:]), b, n)
}

// plainLink is a link type with a header of fixed length, before what kind says.
type plainLink struct {
	link   uint16
	header int
	kind   int // where the ethertype is in the header, or one of the following
}

const (
	ipFollows       = -1
	ethernetFollows = -2
)

var plainLinks = []plainLink{
	{104, 4, 2},               // Cisco HDLC
	{109, 12, ipFollows},      // ENC: IPsec of OpenBSD
	{138, 18, 16},             // IP over IEEE 1394
	{226, 24, ipFollows},      // IPNET of Solaris
	{242, 44, 40},             // IP over InfiniBand
	{274, 8, ethernetFollows}, // Ethernet with the preamble
}

func (d *decoder) plain(p plainLink, b []byte, n int) Reason {
	if len(b) < p.header {
		return short(p.header, n)
	}
	rest, n := b[p.header:], n-p.header
	switch p.kind {
	case ipFollows:
		return d.ip(rest, n)
	case ethernetFollows:
		return d.ethernet(rest, n)
	}
	return d.ethertype(binary.BigEndian.Uint16(b[p.kind:]), rest, n)
}

// tokenRing decodes IEEE 802.5, with the routing that the highest bit of the source's address announces.
func (d *decoder) tokenRing(b []byte, n int) Reason {
	if len(b) < 15 {
		return short(15, n)
	}
	if b[1]>>6 != 1 { // not LLC
		return NotIP
	}
	header := 14
	if b[8]&0x80 != 0 {
		header += int(b[14] & 0x1f)
	}
	if len(b) < header {
		return short(header, n)
	}
	return d.llc(b[header:], n-header)
}

// ppi decodes Per-Packet Information, which says what link type follows.
func (d *decoder) ppi(b []byte, n int) Reason {
	if len(b) < 8 {
		return short(8, n)
	}
	return d.after(int(binary.LittleEndian.Uint16(b[2:])), binary.LittleEndian.Uint32(b[4:]), b, n)
}

// avs decodes the header of AVS, before a wireless frame.
func (d *decoder) avs(b []byte, n int) Reason {
	if len(b) < 8 {
		return short(8, n)
	}
	return d.after(int(min(binary.BigEndian.Uint32(b[4:]), maxRecord)), linkWireless, b, n)
}

// after decodes a packet of a link type after a header of so many octets, which has 8 at least.
func (d *decoder) after(header int, link uint32, b []byte, n int) Reason {
	switch {
	case header < 8 || header > n || link > 0xffff:
		return Malformed
	case header > len(b):
		return CutHeader
	}
	return d.link(uint16(link), b[header:], n-header)
}
