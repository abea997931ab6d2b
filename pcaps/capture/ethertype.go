package capture

import (
	"encoding/binary"

	"github.com/google/gopacket/layers"
)

// Ethertypes that lead to IP.
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
			d.note(layers.LayerTypeDot1Q, b)
			if len(b) >= tag {
				if id := binary.BigEndian.Uint16(b) & 0xfff; id != 0 { // 0 is a priority without a VLAN
					d.addOuter(etherVLAN, uint64(id))
				}
			}
		case etherCisco:
			d.noteOurs("Cisco's metadata")
			// Version and length, one byte each; the length counts options of 4 bytes.
			if len(b) < 2 {
				return truncated(2, n)
			}
			tag += 4 * int(b[1])
		case etherBridge:
			return d.innerFrame(b, n)
		case etherMPLS, etherMPLSMany:
			return d.layer(layers.LayerTypeMPLS, b, n)
		case etherPPPoE:
			return d.layer(layers.LayerTypePPPoE, b, n)
		case etherPPP:
			return d.layer(layers.LayerTypePPP, b, n)
		default:
			if t > 1500 {
				return NotIP
			}
			n = min(n, int(t))
			return d.layer(layers.LayerTypeLLC, b[:min(len(b), n)], n)
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
