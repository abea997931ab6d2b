package capture

import "encoding/binary"

// gre decodes GRE (RFC 2784 §2, RFC 2890 §2), PPTP's variant (RFC 2637 §4.1), and what is carried in it: IP, Ethernet
// frames (NVGRE), MPLS, PPP, and frames that a switch mirrors (ERSPAN).
func (d *decoder) gre(b []byte, n int) Reason {
	if len(b) < 4 {
		return short(4, n)
	}
	const (
		erspan2 = 0x88be // and type I
		erspan3 = 0x22eb
		wccp    = 0x883e
	)
	flags, t := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	key, sequence := flags&0x2000 != 0, flags&0x1000 != 0
	size := 4
	if flags&0xc000 != 0 { // a checksum, or the routing of RFC 1701 with it
		size += 4
	}
	if key {
		size += 4
	}
	if sequence {
		size += 4
	}
	if flags&7 == 1 { // PPTP: the key is a call, of one direction
		if flags&0x80 != 0 {
			size += 4
		}
		key = false
	}
	if flags&0x4000 != 0 {
		return OtherProtocol
	}
	if len(b) < size {
		return short(size, n)
	}
	if key {
		at := 4
		if flags&0x8000 != 0 {
			at = 8
		}
		d.outer(protoGRE, uint64(binary.BigEndian.Uint32(b[at:])))
	}
	b, n = b[size:], n-size
	if n == 0 {
		return OtherProtocol // a keepalive, or an acknowledgement of PPTP
	}
	header := 0
	switch t {
	case erspan2:
		if sequence {
			header = 8
		}
		t = etherBridge
	case erspan3:
		if len(b) < 12 {
			return short(12, n)
		}
		header, t = 12, etherBridge
		if b[11]&1 != 0 {
			header = 20
		}
	case wccp:
		t = etherIPv4
		if len(b) > 0 && b[0]>>4 != 4 {
			header = 4
		}
	}
	if len(b) < header {
		return short(header, n)
	}
	return d.ethertype(t, b[header:], n-header)
}

// UDP ports of tunnels.
const (
	portVXLAN    = 4789
	portVXLANOld = 8472 // Linux, before there was a number
	portVXLANGPE = 4790
	portGeneve   = 6081
	portGTPU     = 2152
	portL2TP     = 1701
	portTeredo   = 3544
	portTZSP     = 37008
	portMPLS     = 6635
	portLISP     = 4341
)

// udp decodes the tunnels over UDP that are told by their port. If it does not look like one, the port was a coincidence.
func (d *decoder) udp(b []byte, n int) Reason {
	if n < 8 || len(b) < 8 {
		return short(8, n)
	}
	src, dst := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	b, n = b[8:], n-8
	got := UDP
	switch dst {
	case portVXLAN, portVXLANOld:
		got = d.vxlan(b, n)
	case portVXLANGPE:
		got = d.vxlanGPE(b, n)
	case portGeneve:
		got = d.geneve(b, n)
	case portTZSP:
		got = d.tzsp(b, n)
	case portMPLS:
		got = d.mpls(b, n)
	case portLISP:
		got = d.inside(8, b, n) // RFC 9300 §5
	default:
		switch {
		case src == portGTPU || dst == portGTPU:
			got = d.gtp(b, n)
		case src == portL2TP || dst == portL2TP:
			got = d.l2tp(b, n)
		case src == portTeredo || dst == portTeredo:
			got = d.teredo(b, n)
		}
	}
	if got == Malformed {
		return UDP
	}
	return got
}

// frame decodes an Ethernet frame in a tunnel with a number of its own.
func (d *decoder) frame(kind, number uint64, b []byte, n int) Reason {
	d.outer(kind, number)
	return d.nested(b, n)
}

// vxlan decodes VXLAN (RFC 7348 §5).
func (d *decoder) vxlan(b []byte, n int) Reason {
	if len(b) < 8 {
		return short(8, n)
	}
	if b[0]&0x08 == 0 {
		return Malformed
	}
	return d.frame(portVXLAN, uint64(binary.BigEndian.Uint32(b[4:])>>8), b[8:], n-8)
}

// vxlanGPE decodes VXLAN with a field that says what follows (draft-ietf-nvo3-vxlan-gpe).
func (d *decoder) vxlanGPE(b []byte, n int) Reason {
	if len(b) < 8 {
		return short(8, n)
	}
	number := uint64(binary.BigEndian.Uint32(b[4:]) >> 8)
	switch next := b[3]; {
	case b[0]&0x04 == 0 || next == 3:
		return d.frame(portVXLAN, number, b[8:], n-8)
	case next == 1 || next == 2:
		d.outer(portVXLAN, number)
		return d.ip(b[8:], n-8)
	case next == 4:
		d.outer(portVXLAN, number)
		return d.nsh(b[8:], n-8)
	}
	return Malformed
}

// geneve decodes Geneve (RFC 8926 §3.4).
func (d *decoder) geneve(b []byte, n int) Reason {
	if len(b) < 8 {
		return short(8, n)
	}
	size, t := 8+4*int(b[0]&0x3f), binary.BigEndian.Uint16(b[2:])
	if b[0]>>6 != 0 || size > n {
		return Malformed
	}
	if size > len(b) {
		return CutHeader
	}
	number := uint64(binary.BigEndian.Uint32(b[4:]) >> 8)
	b, n = b[size:], n-size
	if t == etherBridge {
		return d.frame(portGeneve, number, b, n)
	}
	d.outer(portGeneve, number)
	return d.ethertype(t, b, n)
}

// gtp decodes user data of mobile networks (3GPP TS 29.281 §5). The tunnel's number is of one direction.
func (d *decoder) gtp(b []byte, n int) Reason {
	if len(b) < 8 {
		return short(8, n)
	}
	if b[0]>>4 != 3 { // version 1, and GTP itself
		return Malformed
	}
	if b[1] != 0xff {
		return UDP
	}
	size := 8
	if b[0]&7 != 0 {
		if size = 12; len(b) < size {
			return short(size, n)
		}
		for next := b[11]; b[0]&4 != 0 && next != 0; next = b[size-1] {
			if len(b) <= size {
				return short(size+1, n)
			}
			step := 4 * int(b[size])
			if step == 0 || size+step > n {
				return Malformed
			}
			if size += step; size > len(b) {
				return CutHeader
			}
		}
	}
	return d.inside(size, b, n)
}

// l2tp decodes data of L2TP (RFC 2661 §3.1). Tunnel and session numbers are of one direction.
func (d *decoder) l2tp(b []byte, n int) Reason {
	if len(b) < 2 {
		return short(2, n)
	}
	flags := binary.BigEndian.Uint16(b)
	if flags&0xf != 2 {
		return Malformed
	}
	if flags&0x8000 != 0 {
		return UDP
	}
	size := 6
	if flags&0x4000 != 0 { // a length
		size += 2
	}
	if flags&0x0800 != 0 { // sequence numbers
		size += 4
	}
	if flags&0x0200 != 0 { // an offset
		if size += 2; len(b) < size {
			return short(size, n)
		}
		size += int(binary.BigEndian.Uint16(b[size-2:]))
	}
	if len(b) < size {
		return short(size, n)
	}
	return d.ppp(b[size:], n-size)
}

// teredo decodes IPv6 over UDP (RFC 4380 §5.1.1), after the authentication and the origin where they are.
func (d *decoder) teredo(b []byte, n int) Reason {
	for len(b) > 0 && b[0] == 0 {
		if len(b) < 4 {
			return short(4, n)
		}
		size := 8
		switch b[1] {
		case 0:
		case 1:
			size = 13 + int(b[2]) + int(b[3])
		default:
			return Malformed
		}
		if len(b) < size {
			return short(size, n)
		}
		b, n = b[size:], n-size
		if d.deeper() {
			return TooDeep
		}
	}
	if len(b) > 0 && b[0]>>4 != 6 {
		return Malformed
	}
	return d.ip(b, n)
}

// tzsp decodes frames that an access point or a router mirrors (TaZmen Sniffer Protocol).
func (d *decoder) tzsp(b []byte, n int) Reason {
	if len(b) < 4 {
		return short(4, n)
	}
	if b[0] != 1 || b[1] > 1 || binary.BigEndian.Uint16(b[2:]) != 1 {
		return Malformed
	}
	for b, n = b[4:], n-4; ; {
		if len(b) < 2 {
			return short(2, n)
		}
		size := 2 + int(b[1])
		switch b[0] {
		case 0:
			size = 1
		case 1:
			return d.frame(portTZSP, 0, b[1:], n-1)
		}
		if size > n {
			return Malformed
		}
		if size > len(b) {
			return CutHeader
		}
		b, n = b[size:], n-size
	}
}
