package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scanner reads one line byte by byte, without tokens: the meaning of a dot depends on its place. A
// fault ends the line by a panic with an *Error, which parser.line recovers; no panic leaves Parse.
type scanner struct {
	file string
	text string // of the line, without its comment
	off  int    // of the next byte
	line int
	fix  int // if not 0, the column of everything: the text is that of a handshake by name
}

// pos returns the position of an offset.
func (s *scanner) pos(off int) Pos {
	if s.fix > 0 {
		off = s.fix - 1
	}
	return Pos{s.line, off + 1}
}

// fail ends the line.
func (s *scanner) fail(off int, format string, args ...any) {
	panic(&Error{File: s.file, Pos: s.pos(off), Msg: fmt.Sprintf(format, args...)})
}

// want ends the line because something else was expected.
func (s *scanner) want(format string, args ...any) {
	found := "the end of the line"
	if s.peek() != 0 {
		rest := s.text[s.off:]
		n := 0
		for n < min(len(rest), 20) && isWord(rest[n]) {
			n++
		}
		found = strconv.Quote(rest[:max(n, 1)])
	}
	s.fail(s.off, "want %s, found %s", fmt.Sprintf(format, args...), found)
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) }

const blanks = " \t\r\f\v"

// peek returns the next byte after blanks, or 0 at the end.
func (s *scanner) peek() byte {
	for s.off < len(s.text) && strings.IndexByte(blanks, s.text[s.off]) >= 0 {
		s.off++
	}
	if s.off == len(s.text) {
		return 0
	}
	return s.text[s.off]
}

// accept skips text if it is next, and reports whether it was.
func (s *scanner) accept(text string) bool {
	s.peek()
	if !strings.HasPrefix(s.text[s.off:], text) {
		return false
	}
	s.off += len(text)
	return true
}

// expect skips text, or ends the line if text is not next.
func (s *scanner) expect(text, where string) {
	if !s.accept(text) {
		s.want("%q %s", text, where)
	}
}

// word returns the next word of letters, digits and underscores, or "". It does not start with a
// digit.
func (s *scanner) word() string {
	if !isLetter(s.peek()) {
		return ""
	}
	n := s.off
	for n < len(s.text) && isWord(s.text[n]) {
		n++
	}
	return s.text[s.off:n]
}

// acceptWord skips a whole word if it is next, and reports whether it was.
func (s *scanner) acceptWord(w string) bool { return s.word() == w && s.accept(w) }

// takeWord skips and returns the next word, which may be "".
func (s *scanner) takeWord() string {
	w := s.word()
	s.off += len(w)
	return w
}

// uint reads a number from 0 to bound. what names it in messages.
func (s *scanner) uint(what string, bound uint64) uint64 {
	s.peek()
	start := s.off
	for s.off < len(s.text) && isDigit(s.text[s.off]) {
		s.off++
	}
	text := s.text[start:s.off]
	if text == "" {
		s.want("%s: a number of 0..%d", what, bound)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > bound {
		s.fail(start, "%s %.24s, want 0..%d", what, text, bound)
	}
	return n
}

// seconds reads a time in seconds, with up to nine decimals.
func (s *scanner) seconds() time.Duration {
	s.peek()
	start := s.off
	for s.off < len(s.text) && (isDigit(s.text[s.off]) || s.text[s.off] == '.' && !strings.HasPrefix(s.text[s.off:], "..")) {
		s.off++
	}
	text := s.text[start:s.off]
	_, decimals, _ := strings.Cut(text, ".")
	d, err := time.ParseDuration(text + "s")
	if err != nil || len(decimals) > 9 || d > 1e9*time.Second {
		s.fail(start, "time %.24q, want seconds of 0..1000000000 with at most 9 decimals", text)
	}
	return d
}
