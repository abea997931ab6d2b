package capture

import "encoding/binary"

// wlan decodes an IEEE 802.11 frame (§9.2). Only data frames that are not encrypted lead to IP.
// padded says that the MAC header is padded to four bytes, as radiotap's flags may say.
func (d *decoder) wlan(b []byte, n int, padded bool) Reason {
	const (
		typeMask, typeData = 0x0c, 0x08
		noData, qos        = 0x40, 0x80 // bits of a data frame's subtype
		bothDS, protected  = 0x03, 0x40 // in the second byte
		order              = 0x80
		aggregate          = 0x80 // A-MSDU present, in the QoS control field
	)
	if len(b) < 2 {
		return truncated(2, n)
	}
	if b[0]&typeMask != typeData || b[0]&noData != 0 || b[1]&protected != 0 {
		return NotIP
	}
	header := 24
	if b[1]&bothDS == bothDS {
		header += 6
	}
	control := header // the QoS field
	if b[0]&qos != 0 {
		header += 2
		if b[1]&order != 0 {
			header += 4 // HT control
		}
	}
	if padded {
		header = (header + 3) &^ 3
	}
	if len(b) < header {
		return truncated(header, n)
	}
	joined := b[0]&qos != 0 && b[control]&aggregate != 0
	if b, n = b[header:], n-header; !joined {
		return d.llc(b, n)
	}
	// The first subframe: addresses and length, as Ethernet has them, then LLC.
	const subframe = 14
	if len(b) < subframe {
		return truncated(subframe, n)
	}
	return d.llc(b[subframe:], n-subframe)
}

// radiotap skips radiotap's header. Its flags are the second field; the first one, a time stamp,
// takes eight bytes.
func (d *decoder) radiotap(b []byte, n int) Reason {
	const (
		stamp, flags, more = 1, 2, 1 << 31
		dataPad            = 0x20
	)
	if len(b) < 8 {
		return truncated(8, n)
	}
	header, present := int(binary.LittleEndian.Uint16(b[2:])), binary.LittleEndian.Uint32(b[4:])
	switch {
	case header < 8 || header > n:
		return Malformed
	case header > len(b):
		return CutHeader
	}
	at := 8
	for word := present; word&more != 0 && at+4 <= header; at += 4 {
		word = binary.LittleEndian.Uint32(b[at:])
	}
	if present&stamp != 0 {
		at = (at+7)&^7 + 8
	}
	padded := present&flags != 0 && at < header && b[at]&dataPad != 0
	return d.wlan(b[header:], n-header, padded)
}

// prism skips the header of Prism cards, whose length is in the second word, in either byte order.
func (d *decoder) prism(b []byte, n int) Reason {
	if len(b) < 8 {
		return truncated(8, n)
	}
	header := int(min(binary.LittleEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[4:])))
	switch {
	case header < 8 || header > n:
		return Malformed
	case header > len(b):
		return CutHeader
	}
	return d.wlan(b[header:], n-header, false)
}

// ppi skips a PPI header, which names the link type that follows.
func (d *decoder) ppi(b []byte, n int) Reason {
	if len(b) < 8 {
		return truncated(8, n)
	}
	header, link := int(binary.LittleEndian.Uint16(b[2:])), binary.LittleEndian.Uint32(b[4:])
	switch {
	case header < 8 || header > n || link > 0xffff:
		return Malformed
	case header > len(b):
		return CutHeader
	}
	return d.link(uint16(link), b[header:], n-header)
}

// fddi decodes an FDDI frame: frame control, addresses and LLC.
func (d *decoder) fddi(b []byte, n int) Reason {
	const header, asyncLLC = 13, 0x50
	if len(b) < header {
		return truncated(header, n)
	}
	if b[0]&0xf0 != asyncLLC {
		return NotIP
	}
	return d.llc(b[header:], n-header)
}

// pflog decodes OpenBSD's packet filter log: a length, which is padded to four bytes, and an
// address family.
func (d *decoder) pflog(b []byte, n int) Reason {
	if len(b) < 1 {
		return truncated(1, n)
	}
	header := (int(b[0]) + 3) &^ 3
	switch {
	case header < 48 || header > n: // the length that the first version had
		return Malformed
	case header > len(b):
		return CutHeader
	}
	return d.ip(b[header:], n-header)
}

// cisco decodes Cisco's HDLC: address, control and an ethertype.
func (d *decoder) cisco(b []byte, n int) Reason {
	if len(b) < 4 {
		return truncated(4, n)
	}
	return d.ethertype(binary.BigEndian.Uint16(b[2:]), b[4:], n-4)
}
