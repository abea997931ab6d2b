package capture

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// byGopacket decodes link types that are too rare to be decoded here: wireless frames with the headers before them, FDDI,
// and what else gopacket knows. It only has to find the IP packet. It costs a hundred times what a packet costs else.
func (d *decoder) byGopacket(link uint16, b []byte, n int) Reason {
	if link >= uint16(len(layers.LinkTypeMetadata)) || layers.LinkTypeMetadata[link].Name == "UnknownLinkType" {
		return UnknownLink
	}
	// gopacket recovers from the panics of its decoders.
	packet := gopacket.NewPacket(b, layers.LinkType(link), gopacket.DecodeOptions{Lazy: true, NoCopy: true})
	ip := packet.NetworkLayer()
	if ip == nil {
		if n > len(b) {
			return CutHeader
		}
		return NotIP
	}
	// NoCopy: the header is a part of b.
	at := cap(b) - cap(ip.LayerContents())
	if at < 0 || at >= len(b) || &b[at] != &ip.LayerContents()[0] {
		return NotIP
	}
	return d.ip(b[at:], n-at)
}
