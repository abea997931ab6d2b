package script

import (
	"encoding/binary"

	"tcpwheel/netstack/tcp"
)

// toHost makes the remote end's packet. The host parses it, so that options are read as from the
// wire.
func (f *flow) toHost(p *Packet) *Arrival {
	if p.HasWin {
		f.win = p.Win
	}
	h := tcp.Header{
		SrcPort: f.remote.Port(), DstPort: f.local.Port(),
		Seq: f.liveSeq(p.Seq.Start), Flags: p.Flags, Window: f.win, Urgent: p.Urg,
	}
	ack := p.Flags.Has(tcp.ACK)
	if ack {
		h.Ack = f.liveAck(p.Ack)
	}
	b := h.AppendTo(nil)
	for _, o := range p.Options {
		if ack { // otherwise the echo is undefined, RFC 7323 §3.2
			o.Ecr += f.tsOffset()
		}
		blocks := o.Blocks
		o.Blocks = nil
		for _, r := range blocks {
			o.Blocks = append(o.Blocks, tcp.SeqRange{Start: f.liveAck(r.Start), End: f.liveAck(r.End)})
		}
		b = o.appendTo(b)
	}
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	b[12] = byte(len(b)/4) << 4
	return &Arrival{Src: f.remote, Dst: f.local, Header: b, Len: p.Seq.Len(), CE: p.Mark == "ce"}
}

// appendTo appends the option as on the wire.
func (o *TCPOption) appendTo(b []byte) []byte {
	switch o.Kind {
	case optMSS:
		return append(b, o.Kind, 4, byte(o.Value>>8), byte(o.Value))
	case optWindowScale:
		return append(b, o.Kind, 3, byte(o.Value))
	case optSACKPermitted:
		return append(b, o.Kind, 2)
	case optTimestamps:
		b = binary.BigEndian.AppendUint32(append(b, o.Kind, 10), o.Value)
		return binary.BigEndian.AppendUint32(b, o.Ecr)
	case optSACK:
		b = append(b, o.Kind, byte(2+8*len(o.Blocks)))
		for _, r := range o.Blocks {
			b = binary.BigEndian.AppendUint32(b, uint32(r.Start))
			b = binary.BigEndian.AppendUint32(b, uint32(r.End))
		}
		return b
	}
	return append(b, o.Kind)
}

// toScript converts a packet of the engine to the script's form.
func (f *flow) toScript(p *tcp.Packet) *Packet {
	h := &p.Header
	s := &Packet{Sent: true, Mark: "noecn", Flags: h.Flags, HasWin: true, Win: h.Window, Urg: h.Urgent}
	if p.ECT {
		s.Mark = "ect0"
	}
	s.Seq.Start = f.scriptSeq(h.Seq)
	s.Seq.End = s.Seq.Start.Add(p.Len)
	if h.Flags.Has(tcp.ACK) {
		s.Ack = f.scriptAck(h.Ack)
	}
	s.Options = f.toScriptOptions(h)
	return s
}

// toScriptOptions reads the options of a header in wire order, with padding.
func (f *flow) toScriptOptions(h *tcp.Header) (all []TCPOption) {
	b := h.AppendTo(nil)[tcp.HeaderLen:]
	for len(b) > 0 {
		o := TCPOption{Kind: b[0]}
		n := 1
		if o.Kind > optNOP {
			n = int(b[1])
		}
		switch o.Kind {
		case optMSS:
			o.Value = uint32(binary.BigEndian.Uint16(b[2:]))
		case optWindowScale:
			o.Value = uint32(b[2])
		case optTimestamps:
			o.Value = binary.BigEndian.Uint32(b[2:]) - f.tsOffset()
			o.Ecr = binary.BigEndian.Uint32(b[6:])
		case optSACK:
			for i := 2; i < n; i += 8 {
				o.Blocks = append(o.Blocks, tcp.SeqRange{
					Start: f.scriptAck(tcp.Seq(binary.BigEndian.Uint32(b[i:]))),
					End:   f.scriptAck(tcp.Seq(binary.BigEndian.Uint32(b[i+4:]))),
				})
			}
		}
		all = append(all, o)
		b = b[n:]
	}
	return all
}
