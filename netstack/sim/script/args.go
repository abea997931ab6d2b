package script

import (
	"strings"
)

// constants are the names allowed in arguments of calls, with Linux's values.
var constants = map[string]int64{
	"AF_INET": 2, "AF_INET6": 10, "SOCK_STREAM": 1, "SOCK_NONBLOCK": 0x800, "SOCK_CLOEXEC": 0x80000, "IPPROTO_TCP": 6, "IPPROTO_IP": 0,
	"SOL_SOCKET": 1, "SOL_TCP": 6,
	"SO_REUSEADDR": 2, "SO_ERROR": 4, "SO_SNDBUF": 7, "SO_RCVBUF": 8, "SO_KEEPALIVE": 9, "SO_LINGER": 13,
	"TCP_NODELAY": 1, "TCP_MAXSEG": 2, "TCP_CORK": 3, "TCP_KEEPIDLE": 4, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 6,
	"TCP_DEFER_ACCEPT": 9, "TCP_QUICKACK": 12, "TCP_CONGESTION": 13, "TCP_USER_TIMEOUT": 18,
	"F_GETFL": 3, "F_SETFL": 4, "O_RDWR": 2, "O_NONBLOCK": 0x800,
	"SIOCINQ": 0x541b, "FIONREAD": 0x541b, "SIOCOUTQ": 0x5411, "SIOCOUTQNSD": 0x894b,
	"SHUT_RD": 0, "SHUT_WR": 1, "SHUT_RDWR": 2,
	"MSG_OOB": 1, "MSG_PEEK": 2, "MSG_TRUNC": 0x20, "MSG_DONTWAIT": 0x40, "MSG_EOR": 0x80, "MSG_WAITALL": 0x100,
	"MSG_NOSIGNAL": 0x4000, "MSG_MORE": 0x8000,
	"POLLIN": 1, "POLLPRI": 2, "POLLOUT": 4, "POLLERR": 8, "POLLHUP": 0x10, "POLLRDNORM": 0x40, "POLLWRNORM": 0x100, "POLLRDHUP": 0x2000,
	"INADDR_ANY": 0,
}

// errnos are the errors that a connection may have, with Linux's values.
var errnos = map[string]int64{
	"EAGAIN": 11, "EPIPE": 32, "EPROTO": 71, "EMSGSIZE": 90, "ENETUNREACH": 101, "ECONNABORTED": 103, "ECONNRESET": 104,
	"ETIMEDOUT": 110, "ECONNREFUSED": 111, "EHOSTUNREACH": 113, "EINPROGRESS": 115,
}

// integer returns the value of an argument.
func (r *runner) integer(e Expr) int64 {
	switch e := e.(type) {
	case *Int:
		return e.Value
	case *Name:
		v, ok := constants[e.Name]
		if !ok {
			v, ok = errnos[e.Name]
		}
		if !ok {
			r.pos = e.Pos
			r.fail("unknown constant %s", e.Name)
		}
		return v
	case *Binary:
		if e.Op == "|" {
			return r.integer(e.X) | r.integer(e.Y)
		}
	case *Apply:
		if (e.Func == "htons" || e.Func == "htonl") && len(e.Args) == 1 {
			return r.integer(e.Args[0])
		}
	case *List:
		if len(e.Elems) == 1 {
			return r.integer(e.Elems[0])
		}
	}
	r.pos = e.Position()
	r.fail("want an integer here")
	return 0
}

// isAny reports whether an argument is "...".
func isAny(e Expr) bool {
	_, ok := e.(*Wildcard)
	return ok
}

// field returns the value of a field of {name = value, …}, or nil. msg_iov(1) is the field msg_iov.
// Alternative names of a field may be given, such as onoff and l_onoff.
func field(e Expr, names ...string) Expr {
	l, ok := e.(*List)
	if !ok {
		return nil
	}
	for _, elem := range l.Elems {
		b, ok := elem.(*Binary)
		if !ok || b.Op != "=" {
			continue
		}
		var name string
		switch x := b.X.(type) {
		case *Name:
			name = x.Name
		case *Apply:
			name = x.Func
		}
		for _, n := range names {
			if strings.EqualFold(n, name) {
				return b.Y
			}
		}
	}
	return nil
}

// lengths returns the sum of the lengths in [{..., 1000}, {..., 2000}].
func (r *runner) lengths(e Expr) (n int64) {
	l, ok := e.(*List)
	if !ok {
		r.pos = e.Position()
		r.fail("want a list such as [{..., 1000}, {..., 500}]")
	}
	for _, elem := range l.Elems {
		v, ok := elem.(*List)
		if !ok || len(v.Elems) != 2 {
			r.pos = elem.Position()
			r.fail("want {..., length}")
		}
		n += r.integer(v.Elems[1])
	}
	return n
}

// portOf returns the port of a socket address, or 0.
func (r *runner) portOf(e Expr) uint16 {
	p := field(e, "sin_port", "sin6_port")
	if p == nil {
		return 0
	}
	return uint16(r.integer(p))
}
