package script

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tcpwheel/netstack/tcp"
)

// eachFlag are the flags' letters in Format's order.
var eachFlag = []struct {
	letter byte
	flag   Flags
}{{'F', FIN}, {'S', SYN}, {'R', RST}, {'P', PSH}, {'U', URG}, {'E', ECE}, {'W', CWR}, {'.', ACK}}

var ecnNames = map[string]ECN{"noecn": NoECN, "ect0": ECT0, "ect1": ECT1, "ect01": ECT01, "ce": CE}

// packet reads a TCP segment or an ICMP message. rest describes what may follow.
func (p *parser) packet() (a Action, rest string) {
	start := p.off
	dir := Inbound
	if !p.accept("<") {
		p.accept(">")
		dir = Outbound
	}
	ecn := p.ecn(dir)
	switch w := p.peekWord(); w {
	case "icmp":
		return p.icmp(start, dir, ecn), "mtu n, [seq:end(len)] or "
	case "udp", "ipv4", "ipv6", "gre", "GREv0", "mpls":
		p.unsupported(p.off, w+" packet", "TCP segments (flags first) and icmp")
	}
	pk := &Packet{Pos: p.pos(start), Dir: dir, ECN: ecn}
	if isDigit(p.peek()) {
		pk.SrcPort = p.port("source port")
		p.expect(">", "between the ports of a packet")
		pk.DstPort = p.port("destination port")
	}
	pk.Flags = p.flags()
	pk.Seq = p.segment("sequence range")
	if p.acceptWord("ack") {
		pk.HasAck, pk.Ack = true, tcp.Seq(p.uint("ack", 1<<32-1))
	}
	if p.acceptWord("win") {
		pk.HasWin, pk.Win = true, uint16(p.uint("win", 1<<16-1))
	}
	if p.acceptWord("urg") {
		pk.HasUrg, pk.Urg = true, uint16(p.uint("urg", 1<<16-1))
	}
	if p.peek() == '<' {
		p.options(pk)
	}
	if w := p.peekWord(); w == "ack" || w == "win" || w == "urg" {
		p.fail(p.off, "%s is out of order: want ack n, win n, urg n, <options>, each once", w)
	}
	switch ack := pk.Flags&ACK != 0; {
	case ack && !pk.HasAck:
		p.fail(start, "packet has the ACK flag (.) and no ack number: write ack n")
	case !ack && pk.HasAck:
		p.fail(start, "packet has ack %v and no ACK flag: write the flags with a dot", pk.Ack)
	}
	return pk, "ack n, win n, urg n, <options> in this order, or "
}

func (p *parser) port(what string) uint16 {
	p.peek()
	at := p.off
	n := p.uint(what, 1<<16-1)
	if n == 0 {
		p.fail(at, "%s 0, want 1..65535", what)
	}
	return uint16(n)
}

func (p *parser) ecn(dir Direction) ECN {
	closing := "]"
	if !p.accept("[") {
		if closing = ")"; !p.accept("(") {
			return ECNUnset
		}
	}
	w := p.peekWord()
	ecn, ok := ecnNames[w]
	switch {
	case !ok:
		p.unsupported(p.off, "IP mark "+p.found(), "noecn, ect0, ect1, ect01, ce")
	case ecn == ECT01 && dir == Inbound:
		p.fail(p.off, "[ect01] is for packets to send (>); an arriving one has ect0 or ect1")
	}
	p.accept(w)
	p.expect(closing, "after the IP mark "+w)
	return ecn
}

func (p *parser) flags() (f Flags) {
	const supported = "F S R P U E W, a dot for ACK, a dash for none"
	p.skipSpace()
	start := p.off
	if p.accept("-") {
		return 0
	}
	for ; p.off < p.limit && !isBlank(p.src[p.off]) && p.src[p.off] != '\n'; p.off++ {
		c := p.src[p.off]
		var flag Flags
		for _, e := range eachFlag {
			if e.letter == c {
				flag = e.flag
			}
		}
		switch {
		case flag == 0 && p.off == start && !isLetter(c):
			p.want("flags (" + supported + ")")
		case flag == 0:
			p.unsupported(p.off, fmt.Sprintf("flag %q", c), supported)
		case f&flag != 0:
			p.fail(p.off, "flag %q is repeated", c)
		}
		f |= flag
	}
	if f == 0 {
		p.want("flags (" + supported + ")")
	}
	p.end = p.off
	return f
}

// segment reads start:end(len).
func (p *parser) segment(what string) (r tcp.SeqRange) {
	p.skipSpace()
	start := p.off
	r.Start = tcp.Seq(p.uint(what, 1<<32-1))
	p.expect(":", "in start:end(length)")
	r.End = tcp.Seq(p.uint("end of the "+what, 1<<32-1))
	p.expect("(", "in start:end(length)")
	n := uint32(p.uint("length", 1<<16-1))
	p.expect(")", "in start:end(length)")
	if r.Len() != n {
		p.fail(start, "%s %v:%v(%d): from %v, %d bytes end at %v", what, r.Start, r.End, n, r.Start, n, r.Start.Add(n))
	}
	return r
}

const supportedTCPOptions = "mss n, wscale n, sackOK, sack a:b …, TS val n ecr n, nop, eol, ..."

func (p *parser) options(pk *Packet) {
	start := p.off
	p.accept("<")
	size := 0
	for {
		p.skipSpace()
		if at := p.off; p.accept("...") {
			if pk.Dir == Inbound {
				p.fail(at, "... in options is for packets to send (>)")
			}
			pk.AnyOptions = true
			break
		}
		o := p.tcpOption(pk.Dir)
		size += o.wireLen()
		pk.Options = append(pk.Options, o)
		if size > 40 {
			p.fail(start, "options exceed the 40 bytes of a header")
		}
		if !p.accept(",") {
			break
		}
	}
	if !p.accept(">") {
		if pk.AnyOptions {
			p.want("\">\" after ..., which matches all further options")
		}
		p.want("\",\" or \">\" after a TCP option")
	}
}

// wireLen returns the option's length in bytes.
func (o *TCPOption) wireLen() int {
	switch o.Kind {
	case OptMSS:
		return 4
	case OptWindowScale:
		return 3
	case OptSACKPermitted:
		return 2
	case OptTimestamps:
		return 10
	case OptSACK:
		return 2 + 8*max(len(o.Blocks), 1)
	}
	return 1
}

func (p *parser) tcpOption(dir Direction) TCPOption {
	w := p.peekWord()
	start := p.off
	o := TCPOption{Pos: p.pos(start)}
	p.accept(w)
	switch w {
	case "mss":
		o.Kind, o.Value = OptMSS, p.num("mss", 1<<16-1, dir)
	case "wscale":
		o.Kind, o.Value = OptWindowScale, p.num("wscale", 255, dir)
	case "sackOK":
		o.Kind = OptSACKPermitted
	case "nop":
		o.Kind = OptNOP
	case "eol":
		o.Kind = OptEOL
	case "TS":
		o.Kind = OptTimestamps
		if !p.acceptWord("val") {
			p.want("\"val\" in TS val n ecr n")
		}
		o.Value = p.num("TS val", 1<<32-1, dir)
		if !p.acceptWord("ecr") {
			p.want("\"ecr\" in TS val n ecr n")
		}
		o.Ecr = p.num("TS ecr", 1<<32-1, dir)
	case "sack":
		p.blocks(&o, dir)
	case "":
		p.want("a TCP option (" + supportedTCPOptions + ")")
	default:
		p.unsupported(start, "TCP option "+strconv.Quote(abridged(w)), supportedTCPOptions)
	}
	return o
}

// num reads a number of an option, or "..." in an outbound packet.
func (p *parser) num(what string, bound uint64, dir Direction) Num {
	if dir == Outbound && p.accept("...") {
		return Num{Any: true}
	}
	return Num{Value: uint32(p.uint(what, bound))}
}

func (p *parser) blocks(o *TCPOption, dir Direction) {
	o.Kind = OptSACK
	if dir == Outbound && p.accept("...") {
		o.AnyBlocks = true
		return
	}
	for len(o.Blocks) == 0 || isDigit(p.peek()) {
		if len(o.Blocks) == 4 {
			p.want("at most 4 SACK blocks")
		}
		var r tcp.SeqRange
		r.Start = tcp.Seq(p.uint("start of the SACK block", 1<<32-1))
		p.expect(":", "in a SACK block")
		r.End = tcp.Seq(p.uint("end of the SACK block", 1<<32-1))
		o.Blocks = append(o.Blocks, r)
	}
}

func (p *parser) icmp(start int, dir Direction, ecn ECN) *ICMP {
	p.accept("icmp")
	m := &ICMP{Pos: p.pos(start), Dir: dir, ECN: ecn, Type: p.peekWord()}
	t, ok := icmpTypes[m.Type]
	if !ok {
		p.unsupported(p.off, "icmp type "+p.found(), strings.Join(slices.Sorted(maps.Keys(icmpTypes)), ", "))
	}
	p.accept(m.Type)
	if w := p.peekWord(); w != "" && w != "mtu" {
		if !slices.Contains(t.codes, w) {
			supported := strings.Join(t.codes, ", ")
			if supported == "" {
				supported = "no code"
			}
			p.unsupported(p.off, "code "+p.found()+" of icmp "+m.Type, supported)
		}
		m.Code = w
		p.accept(w)
	}
	if at := p.off; p.acceptWord("mtu") {
		if m.Code != "frag_needed" {
			p.fail(at, "mtu is for icmp unreachable frag_needed")
		}
		m.HasMTU, m.MTU = true, uint16(p.uint("mtu", 1<<16-1))
	}
	if p.accept("[") {
		if w := p.peekWord(); w != "" {
			p.unsupported(p.off, "icmp about "+p.found(), "a TCP segment, [start:end(length)]")
		}
		m.HasQuoted, m.Quoted = true, p.segment("quoted range")
		p.expect("]", "after the quoted range")
	}
	return m
}
