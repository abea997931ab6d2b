package capture

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// byGopacket decodes rare link types by gopacket, which only has to find the IP packet: 802.11 with
// its headers, FDDI, and others. It costs a hundred times as much as the decoder here.
func (d *decoder) byGopacket(link uint16, b []byte, n int) Reason {
	if link >= uint16(len(layers.LinkTypeMetadata)) || layers.LinkTypeMetadata[link].Name == "UnknownLinkType" {
		return UnknownLink
	}
	// gopacket recovers from panics of its decoders. One of them appends to the packet: not into
	// the memory behind it.
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
