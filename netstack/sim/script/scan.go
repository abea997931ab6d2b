package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parser reads a script byte by byte, without tokens: the meaning of a dot depends on its place. A
// fault ends its item by a panic with an *Error, which item recovers; no panic leaves Parse.
type parser struct {
	name  string
	src   string
	off   int // of the next byte
	end   int // after the last byte that is not space or comment
	safe  int // no later item starts before this
	limit int // end of the file, or of the code or command being read
	lines []int
	place Pos // of everything, if the text is that of a handshake by name

	code     bool // inside %{ }%: comments are Python's
	newlines bool // space includes line ends
	nodes    int  // of the current expression

	script  *Script
	events  bool // an event has been read
	pending []*Comment
	seen    int // comments before this are in pending
	errs    ErrorList
}

func newParser(name, src string) *parser {
	p := &parser{name: name, src: src, limit: len(src), lines: []int{0}, newlines: true, script: &Script{Name: name}}
	for i := 0; i < len(src); i++ {
		if src[i] == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	return p
}

// pos returns the position of an offset.
func (p *parser) pos(off int) Pos {
	if p.place.Line > 0 {
		return p.place
	}
	line, found := slices.BinarySearch(p.lines, off)
	if found {
		line++
	}
	return Pos{Line: line, Column: off - p.lines[line-1] + 1}
}

func (p *parser) errorAt(off int, unsupported bool, format string, args ...any) *Error {
	return &Error{File: p.name, Pos: p.pos(off), Unsupported: unsupported, Msg: fmt.Sprintf(format, args...)}
}

// fail ends the current item.
func (p *parser) fail(off int, format string, args ...any) {
	panic(p.errorAt(off, false, format, args...))
}

// unsupported ends the current item at an unsupported construct, and lists supported ones.
func (p *parser) unsupported(off int, construct, supported string) {
	panic(p.errorAt(off, true, "%s not supported; supported: %s", construct, supported))
}

// want ends the current item because something else was expected.
func (p *parser) want(what string) {
	p.fail(p.off, "want %s, found %s", what, p.found())
}

// found describes the text at the current place.
func (p *parser) found() string {
	rest := p.src[p.off:p.limit]
	n := 0
	for n < len(rest) && isWord(rest[n]) {
		n++
	}
	switch {
	case rest == "" && p.limit < len(p.src):
		return strconv.Quote(p.src[p.limit:min(p.limit+2, len(p.src))])
	case rest == "":
		return "the end of the file"
	case rest[0] == '\n':
		return "the end of the line"
	case n > 20:
		return strconv.Quote(rest[:20]) + "…"
	}
	return strconv.Quote(rest[:max(n, 1)])
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' }

const blanks = " \t\r\f\v"

// peek returns the next byte after space and comments, or 0 at the end.
func (p *parser) peek() byte {
	p.skipSpace()
	if p.off == p.limit {
		return 0
	}
	return p.src[p.off]
}

// skipSpace skips space and comments. Comments stay pending until the item ends: those inside it go
// before it, later ones are read again.
func (p *parser) skipSpace() {
	for p.off < p.limit {
		rest := p.src[p.off:p.limit]
		switch {
		case isBlank(rest[0]), rest[0] == '\n' && p.newlines:
			p.off++
			continue
		case rest[0] == '#', !p.code && strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			p.comment(strings.TrimRight(rest[:n], blanks))
			p.off += n
			continue
		case !p.code && strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				start := p.off
				p.safe = p.limit
				p.fail(start, "comment is not closed: want */")
			}
			p.comment(rest[:n+4])
			p.off += n + 4
			continue
		}
		return
	}
}

func (p *parser) comment(text string) {
	if p.off < p.seen {
		return
	}
	p.seen = p.off + 1
	p.pending = append(p.pending, &Comment{Span: Span{p.pos(p.off), p.pos(p.off + len(text))}, Text: text})
}

// accept skips text if it is next, and reports whether it was.
func (p *parser) accept(text string) bool {
	p.skipSpace()
	if !strings.HasPrefix(p.src[p.off:p.limit], text) {
		return false
	}
	p.off += len(text)
	p.end = p.off
	return true
}

// expect skips text, or ends the item if text is not next.
func (p *parser) expect(text, where string) {
	if !p.accept(text) {
		p.want(strconv.Quote(text) + " " + where)
	}
}

// peekWord returns the next word of letters, digits and underscores, or "". It does not start with
// a digit.
func (p *parser) peekWord() string {
	if !isLetter(p.peek()) {
		return ""
	}
	n := p.off
	for n < p.limit && isWord(p.src[n]) {
		n++
	}
	return p.src[p.off:n]
}

// acceptWord skips a whole word if it is next, and reports whether it was.
func (p *parser) acceptWord(w string) bool {
	return p.peekWord() == w && p.accept(w)
}

// digits skips and returns the digits that follow without space.
func (p *parser) digits() string {
	start := p.off
	for p.off < p.limit && isDigit(p.src[p.off]) {
		p.off++
	}
	p.end = max(p.end, p.off)
	return p.src[start:p.off]
}

// uint reads a number from 0 to bound. what names it in messages.
func (p *parser) uint(what string, bound uint64) uint64 {
	if !isDigit(p.peek()) {
		p.fail(p.off, "%s: want a number of 0..%d, found %s", what, bound, p.found())
	}
	start := p.off
	text := p.digits()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > bound {
		p.fail(start, "%s %s, want 0..%d", what, abridged(text), bound)
	}
	return n
}

// abridged returns the start of a long text.
func abridged(text string) string {
	if len(text) > 24 {
		return text[:20] + "…"
	}
	return text
}

// quoted reads text in double quotes and returns it without them.
func (p *parser) quoted() string {
	start := p.off
	for i := start + 1; i < p.limit && p.src[i] != '\n' && p.src[i] != '\r'; i++ {
		switch p.src[i] {
		case '\\':
			if i+1 < p.limit && p.src[i+1] != '\n' && p.src[i+1] != '\r' {
				i++
			}
		case '"':
			p.off, p.end = i+1, i+1
			return p.src[start+1 : i]
		}
	}
	p.fail(start, "string is not closed on its line: want \"")
	return ""
}
