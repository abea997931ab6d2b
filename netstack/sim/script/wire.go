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
		Seq:    f.liveSeq(p.Seq.Start),
		Flags:  tcp.Flags(p.Flags),
		Window: f.win,
		Urgent: p.Urg,
	}
	if p.HasAck {
		h.Ack = f.liveAck(p.Ack)
	}
	b := h.AppendTo(nil)
	b = f.appendOptions(b, p)
	b[12] = byte(len(b)/4) << 4
	return &Arrival{Src: f.remote, Dst: f.local, Header: b, Len: p.Seq.Len(), CE: p.ECN == CE}
}

func (f *flow) appendOptions(b []byte, p *Packet) []byte {
	for _, o := range p.Options {
		switch o.Kind {
		case OptMSS:
			b = append(b, 2, 4, byte(o.Value.Value>>8), byte(o.Value.Value))
		case OptWindowScale:
			b = append(b, 3, 3, byte(o.Value.Value))
		case OptSACKPermitted:
			b = append(b, 4, 2)
		case OptTimestamps:
			ecr := o.Ecr.Value
			if p.HasAck { // otherwise it is undefined, RFC 7323 §3.2
				ecr += f.tsOffset()
			}
			b = append(b, 8, 10)
			b = binary.BigEndian.AppendUint32(b, o.Value.Value)
			b = binary.BigEndian.AppendUint32(b, ecr)
		case OptSACK:
			b = append(b, 5, byte(2+8*len(o.Blocks)))
			for _, r := range o.Blocks {
				b = binary.BigEndian.AppendUint32(b, uint32(f.liveAck(r.Start)))
				b = binary.BigEndian.AppendUint32(b, uint32(f.liveAck(r.End)))
			}
		default:
			b = append(b, byte(o.Kind))
		}
	}
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// toScript converts a packet of the engine to the script's form.
func (f *flow) toScript(p *tcp.Packet) *Packet {
	h := &p.Header
	s := &Packet{
		Dir: Outbound, ECN: NoECN, Flags: Flags(h.Flags),
		HasWin: true, Win: h.Window, HasUrg: h.Urgent != 0, Urg: h.Urgent,
	}
	if p.ECT {
		s.ECN = ECT0
	}
	s.Seq.Start = f.scriptSeq(h.Seq)
	s.Seq.End = s.Seq.Start.Add(p.Len)
	if h.Flags.Has(tcp.ACK) {
		s.HasAck, s.Ack = true, f.scriptAck(h.Ack)
	}
	s.Options = f.toScriptOptions(h)
	return s
}

// toScriptOptions reads the options of a header in wire order, with padding.
func (f *flow) toScriptOptions(h *tcp.Header) (all []TCPOption) {
	b := h.AppendTo(nil)[tcp.HeaderLen:]
	for len(b) > 0 {
		o := TCPOption{Kind: OptionKind(b[0])}
		n := 1
		if o.Kind > OptNOP {
			n = int(b[1])
		}
		switch o.Kind {
		case OptMSS:
			o.Value.Value = uint32(binary.BigEndian.Uint16(b[2:]))
		case OptWindowScale:
			o.Value.Value = uint32(b[2])
		case OptTimestamps:
			o.Value.Value = binary.BigEndian.Uint32(b[2:]) - f.tsOffset()
			o.Ecr.Value = binary.BigEndian.Uint32(b[6:])
		case OptSACK:
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

// icmpError makes the engine's form of an ICMP message. By default it quotes una.
func (f *flow) icmpError(m *ICMP, una tcp.Seq) tcp.ICMPError {
	typ, code, _ := m.Numbers()
	e := tcp.ICMPError{MTU: uint32(m.MTU)}
	switch typ {
	case 3:
		e.Kind = unreachable[code]
	case 4:
		e.Kind = tcp.ICMPSourceQuench
	case 11:
		e.Kind = tcp.ICMPTimeExceeded
	case 12:
		e.Kind = tcp.ICMPParameterProblem
	}
	if e.Seq = una; m.HasQuoted {
		e.Seq = f.liveAck(m.Quoted.Start)
	}
	return e
}

// unreachable maps the codes of ICMP's destination unreachable (RFC 1122 §3.2.2.1).
var unreachable = [...]tcp.ICMPKind{
	tcp.ICMPNetUnreachable, tcp.ICMPHostUnreachable, tcp.ICMPProtocolUnreachable, tcp.ICMPPortUnreachable, tcp.ICMPTooBig,
	tcp.ICMPNetUnreachable,                                                   // source route failed
	tcp.ICMPNetUnreachable, tcp.ICMPHostUnreachable, tcp.ICMPHostUnreachable, // unknown, isolated
	tcp.ICMPProhibited, tcp.ICMPProhibited, tcp.ICMPNetUnreachable, tcp.ICMPHostUnreachable,
}
