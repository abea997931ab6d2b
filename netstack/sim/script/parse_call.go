package script

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// calls are the supported system calls, with the number of arguments.
var calls = map[string]int{
	"socket": 3, "bind": 3, "listen": 2, "accept": 3, "connect": 3, "close": 1, "shutdown": 2,
	"read": 3, "recv": 4, "write": 3, "send": 4, "poll": 3, "fcntl": 3, "ioctl": 3, "getsockopt": 5, "setsockopt": 5,
}

// constants are the names allowed in arguments of calls, with Linux's values.
var constants = map[string]int64{
	"SOCK_STREAM": 1, "SOCK_NONBLOCK": 0x800, "IPPROTO_TCP": 6, "SOL_SOCKET": 1, "SOL_TCP": 6,
	"SO_REUSEADDR": 2, "SO_ERROR": 4, "SO_RCVBUF": 8, "SO_KEEPALIVE": 9, "SO_LINGER": 13,
	"TCP_NODELAY": 1, "TCP_MAXSEG": 2, "TCP_CORK": 3, "TCP_KEEPIDLE": 4, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 6,
	"TCP_DEFER_ACCEPT": 9, "TCP_QUICKACK": 12, "TCP_USER_TIMEOUT": 18, "TCP_NOTSENT_LOWAT": 25,
	"F_SETFL": 4, "O_RDWR": 2, "O_NONBLOCK": 0x800,
	"SIOCINQ": 0x541b, "SIOCOUTQ": 0x5411, "SIOCOUTQNSD": 0x894b,
	"SHUT_RD": 0, "SHUT_WR": 1, "SHUT_RDWR": 2,
	"MSG_OOB": 1, "MSG_DONTWAIT": 0x40, "MSG_EOR": 0x80, "MSG_MORE": 0x8000,
	"POLLIN": 1, "POLLOUT": 4, "POLLERR": 8, "POLLHUP": 0x10, "POLLRDNORM": 0x40, "POLLWRNORM": 0x100, "POLLRDHUP": 0x2000,

	"EPIPE": 32, "EPROTO": 71, "EMSGSIZE": 90, "ENETUNREACH": 101, "ECONNABORTED": 103, "ECONNRESET": 104,
	"ETIMEDOUT": 110, "ECONNREFUSED": 111, "EHOSTUNREACH": 113,
}

// call reads a system call with its result.
func (s *scanner) call() *Call {
	at := s.off
	c := &Call{Name: s.takeWord()}
	arity, ok := calls[c.Name]
	if !ok {
		s.fail(at, "system call %.24q, want one of %s", c.Name, strings.Join(slices.Sorted(maps.Keys(calls)), ", "))
	}
	s.expect("(", "after "+c.Name)
	for more := true; more; more = s.accept(",") {
		c.Args = append(c.Args, s.arg())
	}
	s.expect(")", "or \",\" after an argument")
	if n := len(c.Args); n != arity {
		s.fail(at, "%s has %d arguments, want %d", c.Name, n, arity)
	}
	s.expect("=", "and the result of "+c.Name)
	if s.accept("-1") {
		c.Result = -1
		if c.Errno = s.takeWord(); !strings.HasPrefix(c.Errno, "E") {
			s.want("an errno such as EAGAIN")
		}
	} else {
		c.Result = int64(s.uint("result", math.MaxInt32))
	}
	if s.peek() == '(' && strings.HasSuffix(s.text, ")") {
		s.off = len(s.text) // a note for readers
	}
	c.Text = strings.TrimRight(s.text[at:s.off], blanks)
	return c
}

// arg reads an argument.
func (s *scanner) arg() (a Arg) {
	bracket := s.accept("[")
	s.peek()
	at := s.off
	switch {
	case s.accept("..."):
	case s.accept("{"):
		a.Fields = map[string]int64{}
		for more := true; more; more = s.accept(",") {
			name := s.takeWord()
			if name == "" {
				s.want("a field such as fd=3")
			}
			s.expect("=", "after a field")
			a.Fields[name] = s.value()
		}
		s.expect("}", "or \",\" after a field")
	default:
		a.Value = s.value()
	}
	a.Text = s.text[at:s.off]
	if bracket {
		s.expect("]", "to close the bracket")
	}
	return a
}

// value reads a number, or names joined by |.
func (s *scanner) value() (v int64) {
	if isDigit(s.peek()) {
		return int64(s.uint("argument", math.MaxUint32))
	}
	if s.accept("-") {
		return -int64(s.uint("argument", math.MaxInt32))
	}
	for more := true; more; more = s.accept("|") {
		n, ok := constants[s.word()]
		if !ok {
			s.want("an argument (integer, NAME, ..., [value], {field=value})")
		}
		s.takeWord()
		v |= n
	}
	return v
}
