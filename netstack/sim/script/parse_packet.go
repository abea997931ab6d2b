package script

import (
	"maps"
	"math"
	"slices"
	"strings"

	"tcpwheel/netstack/tcp"
)

// flagLetters are the letters of the flags by bit, from FIN on (RFC 9293 §3.1).
const flagLetters = "FSRP.UEW"

// icmpKinds are the supported errors of RFC 792, in packetdrill's names of type and code.
var icmpKinds = map[string]tcp.ICMPKind{
	"unreachable net_unreachable":      tcp.ICMPNetUnreachable,
	"unreachable host_unreachable":     tcp.ICMPHostUnreachable,
	"unreachable protocol_unreachable": tcp.ICMPProtocolUnreachable,
	"unreachable port_unreachable":     tcp.ICMPPortUnreachable,
	"unreachable frag_needed":          tcp.ICMPTooBig,
	"time_exceeded ttl_exceeded":       tcp.ICMPTimeExceeded,
	"parameter_problem":                tcp.ICMPParameterProblem,
	"source_quench":                    tcp.ICMPSourceQuench,
}

// packet reads a TCP segment or an ICMP message.
func (s *scanner) packet() Action {
	start := s.off
	p := &Packet{Sent: s.accept(">")}
	if !p.Sent {
		s.accept("<")
	}
	if s.accept("[") {
		marks := []string{"ect0", "ce"}
		if p.Sent {
			marks = []string{"ect0", "noecn"}
		}
		if p.Mark = s.word(); !slices.Contains(marks, p.Mark) {
			s.want("a mark (%s)", strings.Join(marks, ", "))
		}
		s.accept(p.Mark)
		s.expect("]", "after a mark")
	}
	if !p.Sent && s.acceptWord("icmp") {
		return s.icmp(start)
	}
	if isDigit(s.peek()) {
		p.SrcPort = s.port()
		s.expect(">", "between the ports of a packet")
		p.DstPort = s.port()
	}
	p.Flags = s.flags()
	p.Seq = s.segment()
	if p.Flags.Has(tcp.ACK) {
		s.expect("ack", "of a packet with the ACK flag (.)")
		p.Ack = tcp.Seq(s.uint("ack", math.MaxUint32))
	}
	if p.HasWin = s.acceptWord("win"); p.HasWin {
		p.Win = uint16(s.uint("win", math.MaxUint16))
	}
	if s.acceptWord("urg") {
		p.Urg = uint16(s.uint("urg", math.MaxUint16))
	}
	if s.accept("<") {
		at, size := s.off, 0
		for more := true; more; more = s.accept(",") {
			o := s.tcpOption()
			size += len(o.appendTo(nil))
			p.Options = append(p.Options, o)
		}
		s.expect(">", "or \",\" after a TCP option")
		if size > tcp.MaxHeaderLen-tcp.HeaderLen {
			s.fail(at, "options of %d bytes, want at most 40", size)
		}
	}
	return p
}

func (s *scanner) port() uint16 {
	s.peek()
	at := s.off
	n := s.uint("port", math.MaxUint16)
	if n == 0 {
		s.fail(at, "port 0, want 1..65535")
	}
	return uint16(n)
}

func (s *scanner) flags() (f tcp.Flags) {
	if s.accept("-") {
		return 0
	}
	for s.peek(); s.off < len(s.text); s.off++ {
		i := strings.IndexByte(flagLetters, s.text[s.off])
		if i < 0 || f.Has(1<<i) {
			break
		}
		f |= 1 << i
	}
	if s.off < len(s.text) && s.text[s.off] != ' ' || f == 0 {
		s.want("flags (F S R P U E W, a dot for ACK, each once, or a dash for none)")
	}
	return f
}

// segment reads start:end(len).
func (s *scanner) segment() (r tcp.SeqRange) {
	s.peek()
	at := s.off
	r = s.seqRange()
	s.expect("(", "in start:end(length)")
	n := uint32(s.uint("length", math.MaxUint16))
	s.expect(")", "in start:end(length)")
	if r.Len() != n {
		s.fail(at, "range %v:%v(%d): from %v, %d bytes end at %v", r.Start, r.End, n, r.Start, n, r.Start.Add(n))
	}
	return r
}

// seqRange reads start:end.
func (s *scanner) seqRange() (r tcp.SeqRange) {
	r.Start = tcp.Seq(s.uint("start of the range", math.MaxUint32))
	s.expect(":", "in start:end")
	r.End = tcp.Seq(s.uint("end of the range", math.MaxUint32))
	return r
}

func (s *scanner) tcpOption() (o TCPOption) {
	w := s.word()
	at := s.off
	s.accept(w)
	switch w {
	case "mss":
		o.Kind, o.Value = optMSS, uint32(s.uint("mss", math.MaxUint16))
	case "wscale":
		o.Kind, o.Value = optWindowScale, uint32(s.uint("wscale", math.MaxUint8))
	case "sackOK":
		o.Kind = optSACKPermitted
	case "nop":
		o.Kind = optNOP
	case "TS":
		o.Kind = optTimestamps
		s.expect("val", "in TS val n ecr n")
		o.Value = uint32(s.uint("TS val", math.MaxUint32))
		s.expect("ecr", "in TS val n ecr n")
		o.Ecr = uint32(s.uint("TS ecr", math.MaxUint32))
	case "sack":
		for o.Kind = optSACK; len(o.Blocks) == 0 || isDigit(s.peek()); {
			o.Blocks = append(o.Blocks, s.seqRange())
		}
	default:
		s.off = at
		s.want("a TCP option (mss n, wscale n, sackOK, sack a:b …, TS val n ecr n, nop)")
	}
	return o
}

func (s *scanner) icmp(start int) *ICMP {
	m := &ICMP{}
	s.peek()
	at := s.off
	name := s.takeWord()
	if s.word() != "" && s.word() != "mtu" {
		name += " " + s.takeWord()
	}
	var ok bool
	if m.Kind, ok = icmpKinds[name]; !ok {
		s.fail(at, "icmp %q, want one of %s", name, strings.Join(slices.Sorted(maps.Keys(icmpKinds)), ", "))
	}
	if m.Kind == tcp.ICMPTooBig {
		s.expect("mtu", "of icmp unreachable frag_needed")
		m.MTU = uint16(s.uint("mtu", math.MaxUint16))
	}
	s.expect("[", "before the range that an icmp message quotes")
	m.Quoted = s.segment()
	s.expect("]", "after the quoted range")
	m.Text = s.text[start:s.off]
	return m
}
