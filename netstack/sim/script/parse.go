package script

import (
	"strconv"
	"strings"
	"time"
)

// Parse reads a script. name is for messages and for the result.
//
// On a fault the error is an ErrorList with up to ten faults, and the script is nil. Parse never
// panics. Its time and memory are proportional to src, which may be up to 1 MiB.
func Parse(name string, src []byte) (*Script, error) {
	p := newParser(name, string(src))
	if len(src) > maxSize {
		return nil, ErrorList{p.errorAt(0, false, "script has %d bytes, want at most %d", len(src), maxSize)}
	}
	for len(p.errs) < maxErrors && p.item() {
	}
	if p.errs != nil {
		return nil, p.errs
	}
	return p.script, nil
}

// item reads the next option or event. It returns false at the end of the file.
func (p *parser) item() (more bool) {
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case *Error:
			p.errs = append(p.errs, fault)
			p.skip()
			more = true
		default:
			panic(fault)
		}
	}()
	p.code, p.newlines, p.limit, p.nodes, p.pending = false, true, len(p.src), 0, nil
	next := p.peek()
	p.comments()
	start := p.off
	switch {
	case next == 0 && start == p.limit:
		return false
	case strings.HasPrefix(p.src[start:], "--"):
		o := p.option()
		o.Span = Span{p.pos(start), p.pos(p.end)}
		p.add(o)
	default:
		e := p.event()
		e.Span = Span{p.pos(start), p.pos(p.end)}
		if handshake, ok := e.Action.(established); ok {
			p.expand(e, handshake)
		} else {
			p.add(e)
		}
		p.events = true
	}
	return true
}

// add adds an option or event to the script. Comments inside it go before it; later ones are read
// again.
func (p *parser) add(item Item) {
	end := item.span().End
	for _, c := range p.pending {
		if c.Start.Line < end.Line || c.Start.Line == end.Line && c.Start.Column < end.Column {
			p.script.Items = append(p.script.Items, c)
		}
	}
	p.script.Items = append(p.script.Items, item)
	p.off, p.seen = p.end, p.end
}

// comments adds the pending comments between two items.
func (p *parser) comments() {
	for _, c := range p.pending {
		p.script.Items = append(p.script.Items, c)
	}
	p.pending = nil
}

// skip goes to the next line that may start an event.
func (p *parser) skip() {
	off := max(p.off, p.safe)
	for off < len(p.src) {
		n := strings.IndexByte(p.src[off:], '\n')
		if n < 0 {
			off = len(p.src)
			break
		}
		off += n + 1
		line := strings.TrimLeft(p.src[off:], blanks)
		if line != "" && startsEvent(line[0]) || strings.HasPrefix(line, "--") {
			break
		}
	}
	p.off, p.end, p.seen = off, off, off
}

func startsEvent(c byte) bool {
	return isDigit(c) || c == '+' || c == '*' || c == '.' || c == '`' || c == '%'
}

// option reads --name=value. It checks packetdrill's own options; Run checks the others.
func (p *parser) option() *Option {
	start := p.off
	p.accept("--")
	o := &Option{Name: p.peekWord()}
	if o.Name == "" {
		p.want("the name of an option after --")
	}
	p.accept(o.Name)
	if p.events {
		p.fail(start, "option --%s: options come before the first event", o.Name)
	}
	p.expect("=", "after --"+o.Name)
	switch o.Name {
	case "tolerance_usecs", "tcp_ts_tick_usecs":
		o.Value = strconv.FormatUint(p.uint(o.Name, 1e9), 10)
	case "mtu":
		o.Value = strconv.FormatUint(p.uint(o.Name, 65535), 10)
	case "ip_version":
		p.skipSpace()
		if o.Value = p.peekWord(); o.Value != "ipv4" && o.Value != "ipv6" {
			p.unsupported(p.off, "ip_version "+p.found(), "ipv4, ipv6")
		}
		p.accept(o.Value)
	default:
		o.Value = p.optionValue(o.Name)
	}
	return o
}

// optionValue reads the characters of numbers, durations and addresses.
func (p *parser) optionValue(name string) string {
	n := p.off
	for n < p.limit && (isWord(p.src[n]) || strings.IndexByte(".:,+-", p.src[n]) >= 0) {
		n++
	}
	value := p.src[p.off:n]
	if value == "" {
		p.want("the value of --" + name + ", without space")
	}
	p.accept(value)
	return value
}

const timeForms = "a time (0.1, +0.1, 0.1~0.2, +0.1~+0.2, *, 0.1...0.2)"

func (p *parser) event() *Event {
	start := p.off
	e := &Event{Time: p.timeSpec()}
	k := e.Time.Kind
	p.skipSpace()
	at := p.off
	var rest string // what could still come
	switch c := p.peek(); {
	case c == '<' || c == '>':
		e.Action, rest = p.packet()
	case c == '`':
		e.Action = p.settings()
	case c == '%':
		e.Action = p.codeBlock()
	case c == 'e' && p.peekWord() == "established":
		e.Action = p.established()
	case isLetter(c):
		e.Action, rest = p.call(), "an errno, a note in brackets, or "
	default:
		p.want("a packet (< or >), a system call, `sysctl …` or %{ code }%")
	}
	_, call := e.Action.(*Call)
	_, settings := e.Action.(*Settings)
	switch {
	case k == TimeUnset && !settings:
		p.off = start
		p.want(timeForms)
	case k == TimeUnset && p.events:
		p.fail(start, "settings after the first event need a time")
	case (k == TimeAny || k == TimeRange) && !outbound(e.Action):
		p.fail(start, "a range of times, or *, is for packets to send (>)")
	case k == TimeBlocking && !call:
		p.fail(start, "a time with ... is for system calls that block")
	}
	if c := p.peek(); c != 0 && !startsEvent(c) {
		if c == '-' && strings.HasPrefix(p.src[p.off:], "--") {
			return e // item reports the fault
		}
		if c == '{' && (p.src[at] == '<' || p.src[at] == '>') {
			p.unsupported(p.off, "fuzz annotation {…}", "packets as they are")
		}
		p.want(rest + "the next event")
	}
	return e
}

func outbound(a Action) bool {
	switch a := a.(type) {
	case *Packet:
		return a.Dir == Outbound
	case *ICMP:
		return a.Dir == Outbound
	}
	return false
}

func (p *parser) timeSpec() (t TimeSpec) {
	start := p.off
	switch c := p.peek(); {
	case p.accept("*"):
		t.Kind = TimeAny
		return t
	case p.accept("+"):
		t.Relative = true
	case isDigit(c) || c == '.':
	case c == '`' || c == '%' || c == '<' || c == '>':
		return t // the caller knows whether that can be
	default:
		p.want(timeForms)
	}
	t.Kind, t.Start = TimeAt, p.seconds()
	t.End = t.Start
	switch {
	case p.accept("~"):
		t.Kind = TimeRange
		if p.accept("+") != t.Relative {
			p.fail(start, "range of times: want both ends relative (+0.1~+0.2) or none (0.1~0.2)")
		}
	case p.accept("..."):
		t.Kind = TimeBlocking
		if p.peek() == '+' {
			p.fail(p.off, "time after ... has no sign: both count from the same instant")
		}
	default:
		t.End = 0
		return t
	}
	if t.End = p.seconds(); t.End < t.Start {
		p.fail(start, "time range is backwards: %s is before %s", formatSeconds(t.End), formatSeconds(t.Start))
	}
	return t
}

// seconds reads a time in seconds, with up to nine decimals.
func (p *parser) seconds() time.Duration {
	p.skipSpace()
	start := p.off
	whole := p.digits()
	var fraction string
	if rest := p.src[p.off:p.limit]; len(rest) > 1 && rest[0] == '.' && isDigit(rest[1]) {
		p.off++
		fraction = p.digits()
	}
	if whole+fraction == "" {
		p.want("a number of seconds")
	}
	if len(fraction) > 9 {
		p.fail(start, "time %s has %d decimals, want at most 9", abridged(p.src[start:p.off]), len(fraction))
	}
	s, err := strconv.ParseUint("0"+whole, 10, 64)
	if err != nil || s > 1e9 || s == 1e9 && strings.Trim(fraction, "0") != "" {
		p.fail(start, "time %s s, want 0..1000000000", abridged(p.src[start:p.off]))
	}
	ns, _ := strconv.ParseUint((fraction + "000000000")[:9], 10, 64) // nine digits
	return time.Duration(s)*time.Second + time.Duration(ns)
}
