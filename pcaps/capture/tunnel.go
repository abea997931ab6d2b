package capture

import "encoding/binary"

// gre decodes GRE (RFC 2784 §2, RFC 2890 §2), PPTP's variant (RFC 2637 §4.1), and what they carry:
// IP, Ethernet frames (NVGRE), MPLS, PPP, and frames mirrored by a switch (ERSPAN).
func (d *decoder) gre(b []byte, n int) Reason {
	if len(b) < 4 {
		return truncated(4, n)
	}
	flags, t := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	checksum, key, sequence := flags&0x8000 != 0, flags&0x2000 != 0, flags&0x1000 != 0
	if flags&0x4000 != 0 { // the routing of RFC 1701
		return OtherProtocol
	}
	size := 4
	// PPTP has an acknowledgement.
	for _, present := range [...]bool{checksum, key, sequence, flags&0x87 == 0x81} {
		if present {
			size += 4
		}
	}
	if len(b) < size {
		return truncated(size, n)
	}
	if key && flags&7 != 1 { // PPTP's key is a call, of one direction
		at := 4
		if checksum {
			at = 8
		}
		d.addOuter(protoGRE, uint64(binary.BigEndian.Uint32(b[at:])))
	}
	b, n = b[size:], n-size
	if n == 0 {
		return OtherProtocol // a keepalive, or an acknowledgement of PPTP
	}
	return d.erspan(t, sequence, b, n)
}

// erspan skips ERSPAN's header, if there is one, and decodes what follows it.
func (d *decoder) erspan(t uint16, sequence bool, b []byte, n int) Reason {
	const (
		type1or2 = 0x88be
		type3    = 0x22eb
	)
	header := 0
	switch t {
	case type1or2:
		t = etherBridge
		if sequence {
			header = 8
		}
	case type3:
		if len(b) < 12 {
			return truncated(12, n)
		}
		t, header = etherBridge, 12
		if b[11]&1 != 0 {
			header = 20
		}
	}
	if len(b) < header {
		return truncated(header, n)
	}
	return d.ethertype(t, b[header:], n-header)
}

// UDP ports of tunnels.
const (
	portVXLAN    = 4789
	portVXLANOld = 8472 // Linux's, from before the assignment
	portGeneve   = 6081
	portGTPU     = 2152
)

// udp decodes tunnels over UDP, recognised by port. What does not look like one is plain UDP.
func (d *decoder) udp(b []byte, n int) Reason {
	if n < 8 || len(b) < 8 {
		return truncated(8, n)
	}
	src, dst := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	b, n = b[8:], n-8
	got := UDP
	switch {
	case dst == portVXLAN || dst == portVXLANOld:
		got = d.vxlan(b, n)
	case dst == portGeneve:
		got = d.geneve(b, n)
	case src == portGTPU || dst == portGTPU:
		got = d.gtp(b, n)
	}
	if got == Malformed {
		return UDP
	}
	return got
}

// vxlan decodes VXLAN (RFC 7348 §5).
func (d *decoder) vxlan(b []byte, n int) Reason {
	if len(b) < 8 {
		return truncated(8, n)
	}
	if b[0]&0x08 == 0 {
		return Malformed
	}
	d.addOuter(portVXLAN, uint64(binary.BigEndian.Uint32(b[4:])>>8))
	return d.innerFrame(b[8:], n-8)
}

// geneve decodes Geneve (RFC 8926 §3.4).
func (d *decoder) geneve(b []byte, n int) Reason {
	if len(b) < 8 {
		return truncated(8, n)
	}
	size, t := 8+4*int(b[0]&0x3f), binary.BigEndian.Uint16(b[2:])
	if b[0]>>6 != 0 || size > n {
		return Malformed
	}
	if size > len(b) {
		return CutHeader
	}
	d.addOuter(portGeneve, uint64(binary.BigEndian.Uint32(b[4:])>>8))
	return d.ethertype(t, b[size:], n-size)
}

// gtp decodes user data of mobile networks (3GPP TS 29.281 §5). Its tunnel number is of one
// direction.
func (d *decoder) gtp(b []byte, n int) Reason {
	if len(b) < 8 {
		return truncated(8, n)
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
			return truncated(size, n)
		}
		for next := b[11]; b[0]&4 != 0 && next != 0; next = b[size-1] {
			if len(b) <= size {
				return truncated(size+1, n)
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
	return d.ip(b[size:], n-size)
}
