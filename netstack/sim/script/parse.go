package script

import (
	"strings"
)

// Limits of Parse, so that a hostile file does not exhaust memory.
const (
	maxSize   = 1 << 20 // bytes of a file
	maxErrors = 10      // reported faults
)

// Parse reads a script. name is for messages and for the result.
//
// On a fault the error is an ErrorList with up to ten faults, one a line, and the script is nil.
// Parse never panics. Its time and memory are proportional to src, which may be up to 1 MiB.
func Parse(name string, src []byte) (*Script, error) {
	if len(src) > maxSize {
		return nil, ErrorList{{name, Pos{1, 1}, "script has more than 1 MiB"}}
	}
	script := &Script{Name: name}
	var errs ErrorList
	line := 0
	for text := range strings.Lines(string(src)) {
		line++
		text, _, _ := strings.Cut(text, "//")
		s := &scanner{file: name, line: line, text: strings.TrimRight(text, "\n"+blanks)}
		if err := script.read(s); err != nil {
			if errs = append(errs, err); len(errs) == maxErrors {
				break
			}
		}
	}
	if errs != nil {
		return nil, errs
	}
	return script, nil
}

// read adds the option or event of a line to the script.
func (script *Script) read(s *scanner) (fault *Error) {
	defer func() {
		switch err := recover().(type) {
		case nil:
		case *Error:
			fault = err
		default:
			panic(err)
		}
	}()
	switch start := s.pos(s.off); {
	case s.peek() == 0:
	case s.accept("--"):
		if script.Events != nil {
			s.fail(0, "options come before the first event")
		}
		name, value, ok := strings.Cut(s.text[s.off:], "=")
		if !ok || name == "" || value == "" || strings.ContainsAny(name+value, blanks) {
			s.fail(0, "want --name=value, without blanks")
		}
		script.Options = append(script.Options, Option{start, name, value})
	default:
		script.event(s)
	}
	return nil
}

// event reads an event, or the events of a handshake by name.
func (script *Script) event(s *scanner) {
	s.peek()
	start := s.off
	e := &Event{Pos: s.pos(start), Time: s.time()}
	at := s.text[start:s.off]
	switch c := s.peek(); {
	case c == '<' || c == '>':
		e.Action = s.packet()
	case c == '%':
		e.Action = s.assert()
	case s.acceptWord("established"):
		for text := range strings.Lines(s.established().source(at)) {
			if err := script.read(&scanner{file: s.file, line: s.line, fix: start + 1, text: strings.TrimSpace(text)}); err != nil {
				panic(err)
			}
		}
	case isLetter(c):
		e.Action = s.call()
	default:
		s.want("a packet (< or >), a system call or %%{ assert … }%%")
	}
	if s.peek() != 0 {
		s.want("the end of the event")
	}
	p, _ := e.Action.(*Packet)
	if e.Time.Any && (p == nil || !p.Sent) {
		s.fail(start, "the time * is for packets to send (>)")
	}
	if _, call := e.Action.(*Call); e.Time.Blocks && !call {
		s.fail(start, "a time with ... is for system calls that block")
	}
	if e.Action != nil {
		script.Events = append(script.Events, e)
	}
}

// time reads the time of an event.
func (s *scanner) time() (t Time) {
	switch {
	case s.accept("*"):
		t.Any = true
		return t
	case s.accept("+"):
		t.Relative = true
	case isDigit(s.peek()) || s.peek() == '.':
	default:
		s.want("a time (0.1, +0.1, *, 0.1...0.2)")
	}
	t.At = s.seconds()
	if t.Blocks = s.accept("..."); t.Blocks {
		at := s.off
		if t.Return = s.seconds(); t.Return < t.At {
			s.fail(at, "the call returns before it is made")
		}
	}
	return t
}
