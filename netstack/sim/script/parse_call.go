package script

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// calls are the supported system calls, with the least and the largest number of arguments.
var calls = map[string][2]int{
	"socket": {3, 3}, "bind": {3, 3}, "listen": {2, 2}, "accept": {3, 3}, "connect": {3, 3},
	"read": {3, 3}, "readv": {3, 3}, "recv": {4, 4}, "recvfrom": {6, 6}, "recvmsg": {3, 3},
	"write": {3, 3}, "writev": {3, 3}, "send": {4, 4}, "sendto": {6, 6}, "sendmsg": {3, 3},
	"close": {1, 1}, "shutdown": {2, 2}, "poll": {3, 3}, "fcntl": {2, 3}, "ioctl": {3, 3},
	"getsockopt": {5, 5}, "setsockopt": {5, 5},
}

// call reads a system call with its result.
func (p *parser) call() *Call {
	w := p.peekWord()
	start := p.off
	arity, ok := calls[w]
	if !ok {
		p.unsupported(start, "system call "+strconv.Quote(abridged(w)), strings.Join(slices.Sorted(maps.Keys(calls)), ", "))
	}
	p.accept(w)
	c := &Call{Pos: p.pos(start), Name: w}
	p.expect("(", "after "+w)
	c.Args = p.args(")")
	if n := len(c.Args); n < arity[0] || n > arity[1] {
		want := strconv.Itoa(arity[0])
		if arity[1] > arity[0] {
			want = fmt.Sprintf("%d..%d", arity[0], arity[1])
		}
		p.fail(start, "%s has %d arguments, want %s", w, n, want)
	}
	p.expect("=", "and the result of "+w)
	p.skipSpace()
	at := p.off
	switch c.Result = p.callPrimary(); c.Result.(type) {
	case *Int, *Wildcard:
	default:
		p.fail(at, "result of %s: want an integer or ...", w)
	}
	if e := p.peekWord(); e != "" {
		if !isErrno(e) {
			p.fail(p.off, "errno %s, want a name such as EAGAIN", strconv.Quote(abridged(e)))
		}
		if r, ok := c.Result.(*Int); !ok || r.Value != -1 {
			p.fail(at, "result of %s with errno %s: want -1", w, abridged(e))
		}
		c.Errno = e
		p.accept(e)
	}
	if p.peek() == '(' {
		c.Note = p.note()
	}
	return c
}

func isErrno(w string) bool {
	return len(w) > 1 && w[0] == 'E' && strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// note reads any text in round brackets.
func (p *parser) note() string {
	start := p.off
	line, _, _ := strings.Cut(p.src[start:p.limit], "\n")
	n := strings.IndexByte(line, ')')
	if n < 0 {
		p.fail(start, "note is not closed on its line: want )")
	}
	p.off += n + 1
	p.end = p.off
	return strings.Join(strings.FieldsFunc(line[1:n], func(r rune) bool {
		return r < 0x80 && isBlank(byte(r))
	}), " ")
}

// args reads expressions separated by commas, and the closing bracket.
func (p *parser) args(closing string) (args []Expr) {
	if p.accept(closing) {
		return nil
	}
	for {
		args = append(args, p.callExpr(closing == "}"))
		if p.accept(closing) {
			return args
		}
		if !p.accept(",") {
			p.want(fmt.Sprintf("\",\" or %q", closing))
		}
	}
}

// node counts operators and brackets.
func (p *parser) node(off int) {
	if p.nodes++; p.nodes > maxNodes {
		p.fail(off, "expression has more than %d operators and brackets", maxNodes)
	}
}

// callExpr reads a|b, and field = a|b where fields are allowed.
func (p *parser) callExpr(fields bool) Expr {
	x := p.bar()
	if p.peek() != '=' {
		return x
	}
	at := p.off
	_, name := x.(*Name)
	_, apply := x.(*Apply)
	if !fields || !name && !apply {
		p.fail(at, "field = value is allowed only between braces, with a name on the left")
	}
	p.accept("=")
	return &Binary{Pos: p.pos(at), Op: "=", X: x, Y: p.bar()}
}

func (p *parser) bar() Expr {
	x := p.callPrimary()
	for p.peek() == '|' {
		at := p.off
		p.node(at)
		p.accept("|")
		x = &Binary{Pos: p.pos(at), Op: "|", X: x, Y: p.callPrimary()}
	}
	return x
}

func (p *parser) callPrimary() Expr {
	c := p.peek()
	start := p.off
	pos := p.pos(start)
	switch {
	case isDigit(c) || c == '-':
		return p.integer()
	case c == '"':
		return &String{pos, p.quoted()}
	case p.accept("..."):
		return &Wildcard{pos}
	case c == '[' || c == '{' || c == '(':
		p.node(start)
		p.off++
		switch c {
		case '[':
			return &List{pos, p.args("]"), false}
		case '{':
			return &List{pos, p.args("}"), true}
		}
		x := p.bar()
		p.expect(")", "to close the bracket")
		return x
	case isLetter(c):
		w := p.peekWord()
		p.accept(w)
		if p.peek() != '(' {
			return &Name{pos, w}
		}
		p.node(start)
		p.accept("(")
		return &Apply{pos, w, p.args(")")}
	}
	p.want("an expression (integer, NAME, \"string\", ..., [list], {fields}, function(…))")
	return nil
}

// integer reads a decimal number, negative ones only in calls, or a hexadecimal one.
func (p *parser) integer() *Int {
	start := p.off
	hex := strings.HasPrefix(p.src[start:p.limit], "0x")
	n := start + 1
	for n < p.limit && isWord(p.src[n]) {
		n++
	}
	text := p.src[start:n]
	base := 10
	if hex {
		text, base = text[2:], 16
	}
	v, err := strconv.ParseInt(text, base, 64)
	if err != nil {
		p.fail(start, "integer %s, want a decimal or 0x… of 64 bits with sign", strconv.Quote(abridged(p.src[start:n])))
	}
	p.off, p.end = n, n
	return &Int{p.pos(start), v, hex}
}
