package capture

import (
	"encoding/binary"
	"fmt"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// gopacket's layers decode the headers that few captures have, one header at a time. Our own code
// decodes Ethernet, VLAN tags, SLL, NULL, raw IP, IPv4, IPv6, TCP, UDP and ICMP, as nearly every
// packet has them, and the headers that gopacket 1.1.19 cannot decode:
//
//   - It does not know SLL2, NFLOG, PKTAP, PPI, Cisco's HDLC and security group tags, ATM's LLC,
//     PPP with a direction, QinQ's old ethertypes, IP by its own SAP, ERSPAN of types I and III,
//     VXLAN on the port from before its assignment, and frames joined by 802.11.
//   - PFLOG: it accepts lengths that are three short of a multiple of four, OpenBSD writes others.
//   - Prism: it knows neither big-endian hosts' headers nor AVS's.
//   - Behind MPLS labels it expects IP. A pseudowire has an Ethernet frame there.
//   - Fragments: its package ip4defrag has no IPv6, and needs whole fragments.
//   - Extension headers of IPv6: it does not know Mobility, HIP and Shim6, and of routing headers
//     only type 0. ICMP errors: it does not decode the packet that one quotes.
//
// DecodingLayerParser does not fit. It does not know how long a packet was on the wire, keeps the
// last header of a kind, such as one MPLS label, and does not bound their number. Only its
// container, DecodingLayerSparse, is used.

// headers decodes headers by gopacket into structs that it reuses.
type headers struct {
	gopacket.PacketBuilder // nil: of its methods decoders call those below

	reused gopacket.DecodingLayerSparse
	geneve layers.Geneve
	gtp    layers.GTPv1U
	radio  layers.RadioTap

	added gopacket.Layer // by a decoder without a struct to reuse
	view  [4 * viewed]byte
}

// viewed is how many bytes of a packet gopacket sees. As many zeros follow that an extension of GTP
// ends in them, else gopacket prints to standard output.
const viewed = 512

func newHeaders() *headers {
	h := &headers{}
	h.reuse(&h.gtp, &h.radio, &layers.Dot11{}, &layers.GRE{}, &layers.VXLAN{}, &layers.ERSPANII{}, &layers.LLC{}, &layers.SNAP{})
	return h
}

func (h *headers) reuse(all ...gopacket.DecodingLayer) {
	for _, l := range all {
		h.reused = h.reused.Put(l).(gopacket.DecodingLayerSparse)
	}
}

// decode decodes the header at the beginning of b. gopacket sees a copy, as some of its decoders
// change the packet, and zeros behind it, as others refuse packets that were cut, or read past
// them. So the caller must compare the header's length with those of the packet.
func (h *headers) decode(t gopacket.LayerType, b []byte) (l gopacket.Layer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("gopacket: %v", p)
		}
	}()
	view := h.view[:]
	clear(view[copy(view[:viewed], b):viewed])
	switch t {
	case layers.LayerTypeGeneve:
		h.geneve.Options = h.geneve.Options[:0]             // it appends
		return &h.geneve, h.geneve.DecodeFromBytes(view, h) // it is not quite a DecodingLayer
	case layers.LayerTypePPPoE:
		clear(view[4:6]) // the payload's length, which it expects there
	case layers.LayerTypeGTPv1U:
		clear(view[2:4]) // likewise
		h.gtp.GTPExtensionHeaders = h.gtp.GTPExtensionHeaders[:0]
		if view[0]&4 != 0 && view[11] == 0 {
			view[0] ^= 6 // it takes "no extension" for one; a sequence number is as long
		}
	case layers.LayerTypeRadioTap:
		h.radio = layers.RadioTap{} // absent fields remain
		// It copies what follows, and computes a check sequence.
		view = view[:min(viewed/2+int(binary.LittleEndian.Uint16(view[2:])), len(view))]
	}
	if reused, ok := h.reused.Decoder(t); ok {
		return reused.(gopacket.Layer), reused.DecodeFromBytes(view, h)
	}
	h.added = nil
	err = t.Decode(view, h)
	if h.added == nil && err == nil {
		err = fmt.Errorf("gopacket: no %v", t)
	}
	return h.added, err
}

// AddLayer implements gopacket.PacketBuilder.
func (h *headers) AddLayer(l gopacket.Layer) { h.added = l }

// SetLinkLayer implements gopacket.PacketBuilder.
func (h *headers) SetLinkLayer(gopacket.LinkLayer) {}

// SetTruncated implements gopacket.PacketBuilder.
func (h *headers) SetTruncated() {}

// NextDecoder implements gopacket.PacketBuilder. It ends the decoding.
func (h *headers) NextDecoder(gopacket.Decoder) error { return nil }

// layer decodes a header of type t by gopacket, and what follows it.
func (d *decoder) layer(t gopacket.LayerType, b []byte, n int) Reason {
	if d.headers == nil {
		d.headers = newHeaders()
	}
	for padded := false; ; {
		if d.tooDeep() {
			return TooDeep
		}
		d.note(t, b)
		l, err := d.headers.decode(t, b)
		if err != nil {
			if len(b) < min(n, viewed) {
				return CutHeader
			}
			return Malformed
		}
		size := len(l.LayerContents())
		switch l := l.(type) {
		case *layers.PPP:
			if l.HasPPTPHeader {
				size += 2 // address and control
			}
		case *layers.Geneve:
			size = 8 + int(l.OptionsLength) // it counts to 255
		case *layers.RadioTap:
			if len(b) < 8 {
				return truncated(8, n)
			}
			if size < 8 {
				return Malformed
			}
		case *layers.GRE:
			if l.AckPresent && l.Version != 1 {
				size -= 4 // RFC 2784 §2.3: ignored
			}
		case *layers.Dot11:
			const noData = 0x40 // in the subtype
			if len(b) > 1 && (l.Type.MainType() != layers.Dot11TypeData || b[0]&noData != 0 || l.Flags.WEP()) {
				return NotIP // control frames, which it may take for longer ones; encryption
			}
			if padded {
				size = (size + 3) &^ 3
			}
		}
		if size > len(b) {
			return truncated(size, n)
		}
		header := b[:size]
		if b, n = b[size:], n-size; len(b) < min(n, 1) {
			return CutHeader
		}
		switch l := l.(type) {
		case *layers.LLC:
			switch sap := [3]byte(header); sap {
			case [3]byte{0xaa, 0xaa, 3}:
				t = layers.LayerTypeSNAP
			case [3]byte{6, 6, 3}:
				return d.ip(b, n)
			default:
				return NotIP
			}
		case *layers.SNAP:
			if l.Type <= 1500 {
				return NotIP
			}
			return d.ethertype(uint16(l.Type), b, n)
		case *layers.FDDI:
			if header[0]&0xf0 != byte(layers.FDDIFrameControlLLC) {
				return NotIP
			}
			t = layers.LayerTypeLLC
		case *layers.PPPoE:
			if l.Version != 1 || l.Type != 1 {
				return Malformed
			}
			if l.Code != layers.PPPoECodeSession {
				return NotIP
			}
			d.addOuter(etherPPPoE, uint64(l.SessionId))
			t = layers.LayerTypePPP
		case *layers.PPP:
			switch l.PPPType {
			case layers.PPPTypeIPv4, layers.PPPTypeIPv6:
				return d.ip(b, n)
			case layers.PPPTypeMPLSUnicast:
				t = layers.LayerTypeMPLS
			default:
				return NotIP
			}
		case *layers.MPLS:
			if l.StackBottom {
				return d.labelled(b, n)
			}
		case *layers.GRE:
			return d.gre(l, b, n)
		case *layers.ERSPANII:
			return d.innerFrame(b, n)
		case *layers.VXLAN:
			if !l.ValidIDFlag {
				return Malformed
			}
			d.addOuter(portVXLAN, uint64(l.VNI))
			return d.innerFrame(b, n)
		case *layers.Geneve:
			if header[0]>>6 != 0 { // the version
				return Malformed
			}
			d.addOuter(portGeneve, uint64(l.VNI))
			return d.ethertype(uint16(l.Protocol), b, n)
		case *layers.GTPv1U:
			return d.ip(b, n) // its tunnel number is of one direction
		case *layers.RadioTap:
			t, padded = layers.LayerTypeDot11, l.Flags.Datapad()
		case *layers.Dot11:
			return d.wlan(l, header, b, n)
		}
	}
}

// wlan decodes what follows the header of an 802.11 data frame.
func (d *decoder) wlan(l *layers.Dot11, header, b []byte, n int) Reason {
	const aggregate = 0x80 // in the QoS control field
	control := 24
	if l.Flags.FromDS() && l.Flags.ToDS() {
		control += 6
	}
	if l.Type.QOS() && header[control]&aggregate != 0 {
		// The first subframe: addresses and length, as Ethernet has them.
		const subframe = 14
		if len(b) < subframe {
			return truncated(subframe, n)
		}
		b, n = b[subframe:], n-subframe
	}
	return d.layer(layers.LayerTypeLLC, b, n)
}

// gre decodes what GRE, or PPTP's variant, carries: IP, Ethernet frames (NVGRE), MPLS, PPP, and
// frames mirrored by a switch (ERSPAN).
func (d *decoder) gre(l *layers.GRE, b []byte, n int) Reason {
	const (
		erspan1or2 = 0x88be
		erspan3    = 0x22eb
	)
	if l.RoutingPresent || n == 0 { // of RFC 1701; a keepalive, or an acknowledgement of PPTP
		return OtherProtocol
	}
	if l.KeyPresent && l.Version != 1 { // PPTP's key is a call, of one direction
		d.addOuter(protoGRE, uint64(l.Key))
	}
	header := 0
	switch l.Protocol {
	case erspan1or2:
		if l.SeqPresent {
			return d.layer(layers.LayerTypeERSPANII, b, n)
		}
	case erspan3:
		d.noteOurs("ERSPAN III")
		if len(b) < 12 {
			return truncated(12, n)
		}
		if header = 12; b[11]&1 != 0 {
			header = 20
		}
		if len(b) < header {
			return truncated(header, n)
		}
	default:
		return d.ethertype(uint16(l.Protocol), b, n)
	}
	return d.innerFrame(b[header:], n-header)
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
	d.note(layers.LayerTypeUDP, b)
	src, dst := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	b, n = b[8:], n-8
	got := UDP
	switch {
	case dst == portVXLAN || dst == portVXLANOld:
		got = d.layer(layers.LayerTypeVXLAN, b, n)
	case dst == portGeneve:
		got = d.layer(layers.LayerTypeGeneve, b, n)
	case src == portGTPU || dst == portGTPU:
		// Version 1 of GTP itself, with user data (3GPP TS 29.281 §5).
		if len(b) < 2 || b[0]>>4 == 3 && b[1] == 0xff {
			got = d.layer(layers.LayerTypeGTPv1U, b, n)
		}
	}
	if got == Malformed {
		return UDP
	}
	return got
}

// labelled decodes what follows the last MPLS label. It guesses: an Ethernet frame, with or without
// a control word, if it looks like one, else IP by its version.
func (d *decoder) labelled(b []byte, n int) Reason {
	if n < 1 || len(b) < min(n, 40) { // no segment is shorter, and less is ambiguous
		return truncated(1, n)
	}
	switch version := b[0] >> 4; {
	case (version == 4 || version == 6) && !looksLikeFrame(b, n):
		return d.ip(b, n)
	case version == 0 && len(b) < 4:
		return truncated(4, n)
	case version == 0 && !looksLikeFrame(b, n): // a control word
		return d.innerFrame(b[4:], n-4)
	}
	return d.innerFrame(b, n)
}

// looksLikeFrame reports whether b is an Ethernet frame with IP in it, by more than its addresses.
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
