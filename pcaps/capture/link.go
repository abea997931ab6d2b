package capture

import (
	"encoding/binary"

	"github.com/google/gopacket/layers"
)

// Link types by tcpdump.org's numbers. Raw IP has other numbers on some systems.
const (
	linkNull       = 0
	linkEthernet   = 1
	linkPPP        = 9
	linkFDDI       = 10
	linkRawBSD     = 12
	linkRawOpenBSD = 14
	linkPPPSerial  = 50
	linkPPPoE      = 51
	linkATM        = 100
	linkRaw        = 101
	linkCiscoHDLC  = 104
	linkWLAN       = 105
	linkLoop       = 108
	linkSLL        = 113
	linkPFLOG      = 117
	linkPrism      = 119
	linkRadiotap   = 127
	linkPktapOld   = 149
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
	if d.tooDeep() {
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
		return d.layer(layers.LayerTypePPP, b, n)
	case linkPPPoE:
		return d.layer(layers.LayerTypePPPoE, b, n)
	case linkPPPDir:
		d.noteOurs("direction of PPP")
		return d.pppDirected(b, n)
	case linkATM:
		return d.layer(layers.LayerTypeLLC, b, n)
	case linkFDDI:
		return d.layer(layers.LayerTypeFDDI, b, n)
	case linkWLAN:
		return d.layer(layers.LayerTypeDot11, b, n)
	case linkRadiotap:
		return d.layer(layers.LayerTypeRadioTap, b, n)
	case linkNFLOG:
		d.noteOurs("NFLOG")
		return d.nflog(b, n)
	case linkPktap, linkPktapOld, linkPPI, linkPrism, linkPFLOG:
		d.noteOurs("PKTAP, PPI, Prism or PFLOG")
		return d.prefixed(link, b, n)
	case linkCiscoHDLC:
		d.noteOurs("Cisco's HDLC")
		if len(b) < 4 {
			return truncated(4, n)
		}
		return d.ethertype(binary.BigEndian.Uint16(b[2:]), b[4:], n-4)
	}
	return UnknownLink
}

func (d *decoder) ethernet(b []byte, n int) Reason {
	d.note(layers.LayerTypeEthernet, b)
	if len(b) < 14 {
		return truncated(14, n)
	}
	return d.ethertype(binary.BigEndian.Uint16(b[12:]), b[14:], n-14)
}

// loopback decodes BSD's loopback: an address family in host byte order (NULL) or network byte
// order (LOOP).
func (d *decoder) loopback(b []byte, n int) Reason {
	d.note(layers.LayerTypeLoopback, b)
	if len(b) < 4 {
		return truncated(4, n)
	}
	family := binary.LittleEndian.Uint32(b)
	if family > 0xffff {
		family = binary.BigEndian.Uint32(b)
	}
	switch family {
	// AF_INET everywhere; AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, and macOS.
	case 2, 10, 24, 28, 30:
		return d.ip(b[4:], n-4)
	}
	return NotIP
}

// sll decodes packets of Linux's "any" interface.
func (d *decoder) sll(b []byte, n int) Reason {
	d.note(layers.LayerTypeLinuxSLL, b)
	if len(b) < 16 {
		return truncated(16, n)
	}
	d.setDirection(linuxDirection(binary.BigEndian.Uint16(b)))
	return d.linuxProtocol(binary.BigEndian.Uint16(b[14:]), b[16:], n-16)
}

func (d *decoder) sll2(b []byte, n int) Reason {
	d.noteOurs("SLL2")
	if len(b) < 20 {
		return truncated(20, n)
	}
	d.p.Device = binary.BigEndian.Uint32(b[4:])
	d.setDirection(linuxDirection(uint16(b[10])))
	return d.linuxProtocol(binary.BigEndian.Uint16(b), b[20:], n-20)
}

// setDirection sets the packet's direction, unless the file has set it.
func (d *decoder) setDirection(way Direction) {
	if d.p.Direction == Unknown {
		d.p.Direction = way
	}
}

// linuxProtocol decodes what follows Linux's protocol number: an ethertype, or a number below 1536.
func (d *decoder) linuxProtocol(protocol uint16, b []byte, n int) Reason {
	const ethP8022 = 4 // 802.2 LLC
	if protocol == ethP8022 {
		return d.layer(layers.LayerTypeLLC, b, n)
	}
	return d.ethertype(protocol, b, n)
}

// pppDirected decodes PPP after a direction byte: 0 is in, anything else is out.
func (d *decoder) pppDirected(b []byte, n int) Reason {
	if len(b) < 1 {
		return truncated(1, n)
	}
	if b[0] == 0 {
		d.setDirection(Inbound)
	} else {
		d.setDirection(Outbound)
	}
	return d.layer(layers.LayerTypePPP, b[1:], n-1)
}

// nflog decodes Linux's netfilter log: attributes in host byte order, one of them the IP packet.
func (d *decoder) nflog(b []byte, n int) Reason {
	const payload = 9
	if len(b) < 4 {
		return truncated(4, n)
	}
	for b, n = b[4:], n-4; ; {
		if len(b) < 4 {
			return truncated(4, n)
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

// prefixed skips a header that has its length in it: macOS's "all" interface (PKTAP) and PPI, which
// also name the link type that follows, Prism cards', and OpenBSD's packet filter log.
func (d *decoder) prefixed(link uint16, b []byte, n int) Reason {
	least := uint32(8)
	switch link {
	case linkPktap, linkPktapOld:
		least = 40
	case linkPFLOG:
		least = 48 // the first version's
	}
	if len(b) < int(least) {
		return truncated(int(least), n)
	}
	var header, next uint32
	switch link {
	case linkPPI:
		header, next = uint32(binary.LittleEndian.Uint16(b[2:])), binary.LittleEndian.Uint32(b[4:])
	case linkPrism: // in either byte order
		header, next = min(binary.LittleEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[4:])), linkWLAN
	case linkPFLOG:
		header, next = (uint32(b[0])+3)&^3, linkRaw
	default:
		header, next = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[8:])
		switch binary.LittleEndian.Uint32(b[36:]) & 3 {
		case 1:
			d.setDirection(Inbound)
		case 2:
			d.setDirection(Outbound)
		}
	}
	switch {
	case header < least || header > uint32(n) || next > 0xffff:
		return Malformed
	case header > uint32(len(b)):
		return CutHeader
	}
	return d.link(uint16(next), b[header:], n-int(header))
}
