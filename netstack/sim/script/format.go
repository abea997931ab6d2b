package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
)

// formatSeconds formats a time in seconds with as many decimals as needed.
func formatSeconds(d time.Duration) string {
	s := strconv.FormatInt(int64(d/time.Second), 10)
	if frac := d % time.Second; frac != 0 {
		s += "." + strings.TrimRight(fmt.Sprintf("%09d", int64(frac)), "0")
	}
	return s
}

// String returns the time as in a script; "" if unset.
func (t TimeSpec) String() string {
	sign := ""
	if t.Relative {
		sign = "+"
	}
	switch t.Kind {
	case TimeAny:
		return "*"
	case TimeAt:
		return sign + formatSeconds(t.Start)
	case TimeRange:
		return sign + formatSeconds(t.Start) + "~" + sign + formatSeconds(t.End)
	case TimeBlocking:
		return sign + formatSeconds(t.Start) + "..." + formatSeconds(t.End)
	}
	return ""
}

// String returns the flags as in a script: "S.", or "-" for none.
func (f Flags) String() string {
	var b []byte
	for _, e := range eachFlag {
		if f&e.flag != 0 {
			b = append(b, e.letter)
		}
	}
	if b == nil {
		return "-"
	}
	return string(b)
}

// String returns the mark as in a script; "" if unset.
func (e ECN) String() string {
	for name, ecn := range ecnNames {
		if ecn == e {
			return name
		}
	}
	return ""
}

// String returns "<" or ">".
func (d Direction) String() string {
	if d == Inbound {
		return "<"
	}
	return ">"
}

// String returns the number as in a script.
func (n Num) String() string {
	if n.Any {
		return "..."
	}
	return strconv.FormatUint(uint64(n.Value), 10)
}

// String returns the packet as in a script, without its time.
func (p *Packet) String() string {
	f := &formatter{}
	f.packet(p)
	return f.String()
}

// String returns the message as in a script, without its time.
func (m *ICMP) String() string {
	f := &formatter{}
	f.icmp(m)
	return f.String()
}

// String returns the call as in a script, without its time.
func (c *Call) String() string {
	f := &formatter{}
	f.call(c)
	return f.String()
}

// formatter accumulates text.
type formatter struct {
	strings.Builder
}

// print writes its arguments without spaces.
func (f *formatter) print(args ...any) {
	for _, a := range args {
		fmt.Fprint(f, a)
	}
}

func (f *formatter) header(dir Direction, ecn ECN) {
	f.print(dir, " ")
	if ecn != ECNUnset {
		f.print("[", ecn, "] ")
	}
}

func (f *formatter) segment(r tcp.SeqRange) {
	f.print(r.Start, ":", r.End, "(", r.Len(), ")")
}

func (f *formatter) packet(p *Packet) {
	f.header(p.Dir, p.ECN)
	if p.SrcPort != 0 {
		f.print(p.SrcPort, " > ", p.DstPort, " ")
	}
	f.print(p.Flags, " ")
	f.segment(p.Seq)
	if p.HasAck {
		f.print(" ack ", p.Ack)
	}
	if p.HasWin {
		f.print(" win ", p.Win)
	}
	if p.HasUrg {
		f.print(" urg ", p.Urg)
	}
	if p.Options == nil && !p.AnyOptions {
		return
	}
	sep := " <"
	for _, o := range p.Options {
		f.print(sep, o)
		sep = ","
	}
	if p.AnyOptions {
		f.print(sep, "...")
	}
	f.print(">")
}

// String returns the option as in a script.
func (o TCPOption) String() string {
	switch o.Kind {
	case OptEOL:
		return "eol"
	case OptNOP:
		return "nop"
	case OptMSS:
		return "mss " + o.Value.String()
	case OptWindowScale:
		return "wscale " + o.Value.String()
	case OptSACKPermitted:
		return "sackOK"
	case OptTimestamps:
		return "TS val " + o.Value.String() + " ecr " + o.Ecr.String()
	case OptSACK:
		if o.AnyBlocks {
			return "sack ..."
		}
		text := "sack"
		for _, r := range o.Blocks {
			text += " " + r.Start.String() + ":" + r.End.String()
		}
		return text
	}
	return ""
}

func (f *formatter) icmp(m *ICMP) {
	f.header(m.Dir, m.ECN)
	f.print("icmp ", m.Type)
	if m.Code != "" {
		f.print(" ", m.Code)
	}
	if m.HasMTU {
		f.print(" mtu ", m.MTU)
	}
	if m.HasQuoted {
		f.print(" [")
		f.segment(m.Quoted)
		f.print("]")
	}
}

func (f *formatter) call(c *Call) {
	f.print(c.Name, "(")
	f.list(c.Args)
	f.print(") = ")
	f.expr(c.Result, bindAtom)
	if c.Errno != "" {
		f.print(" ", c.Errno)
	}
	if c.Note != "" {
		f.print(" (", c.Note, ")")
	}
}

func (f *formatter) list(exprs []Expr) {
	for i, e := range exprs {
		if i > 0 {
			f.print(", ")
		}
		f.expr(e, bindAssign)
	}
}

// expr writes an expression, in brackets if its precedence is below min.
func (f *formatter) expr(e Expr, min int) {
	l := level(e)
	if _, integer := e.(*Int); l < min && !integer {
		f.print("(")
		defer f.print(")")
	}
	switch e := e.(type) {
	case *Int:
		if e.Hex {
			f.print("0x", strconv.FormatInt(e.Value, 16))
			return
		}
		f.print(e.Value)
	case *Name:
		f.print(e.Name)
	case *String:
		f.print(`"`, e.Value, `"`)
	case *Wildcard:
		f.print("...")
	case *List:
		opening, closing := "[", "]"
		if e.Braced {
			opening, closing = "{", "}"
		}
		f.print(opening)
		f.list(e.Elems)
		f.print(closing)
	case *Apply:
		f.print(e.Func, "(")
		f.list(e.Args)
		f.print(")")
	case *Binary:
		left := l
		if l == bindCompare {
			left++
		}
		f.expr(e.X, left)
		f.print(" ", e.Op, " ")
		f.expr(e.Y, l+1)
	case *Unary:
		f.print(e.Op)
		if e.Op == "not" {
			f.print(" ")
		}
		f.expr(e.X, l)
	}
}
