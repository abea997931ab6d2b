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
	// gopacket recovers from the panics of its decoders. One of them appends to the packet: not into what follows in memory.
	packet := gopacket.NewPacket(b[:len(b):len(b)], layers.LinkType(link), gopacket.DecodeOptions{Lazy: true, NoCopy: true})
	ip := packet.NetworkLayer()
	if ip == nil || len(ip.LayerContents()) == 0 {
		if n > len(b) {
			return CutHeader
		}
		return NotIP
	}
	d.foreign = true
	// The payload follows the header in memory.
	header := ip.LayerContents()
	whole := header[:min(len(header)+len(ip.LayerPayload()), cap(header))]
	return d.ip(whole, len(whole)+n-len(b))
}
