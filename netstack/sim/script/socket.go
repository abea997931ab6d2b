package script

import (
	"net/netip"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
)

// socket is a program's socket: new, listening, or one end of a connection.
type socket struct {
	cfg   tcp.Config // for listen or connect
	local netip.AddrPort

	listener *tcp.Listener
	backlog  int
	deferred time.Duration // TCP_DEFER_ACCEPT

	conn       *conn // nil before connect
	flow       *flow
	reported   bool // connect has returned success
	sendBuffer int64
	lingers    bool
	linger     time.Duration
	noRead     bool // shut down
	noWrite    bool
}

// open makes a socket.
func (r *runner) open(c *Call) result {
	want, ok := c.Result.(*Int)
	if !ok || want.Value < 0 {
		r.fail("socket: want the number of the descriptor as the result")
	}
	if r.files[want.Value] != nil {
		r.fail("socket: descriptor %d is open", want.Value)
	}
	kind := r.integer(c.Args[1])
	f := &file{nonblock: kind&constants["SOCK_NONBLOCK"] != 0}
	f.cfg = r.plan.conn
	f.sendBuffer = r.plan.sendBuffer
	r.files[want.Value] = f
	return result{value: want.Value}
}

// bind binds to the call's port, or to the run's.
func (r *runner) bind(f *file, c *Call) result {
	port := r.portOf(c.Args[1])
	if port == 0 {
		port = r.plan.bindPort
	}
	f.local = netip.AddrPortFrom(r.plan.local, port)
	return result{}
}

func (r *runner) listen(f *file, c *Call) result {
	if f.conn != nil {
		return fails("EINVAL")
	}
	if !f.local.IsValid() {
		f.local = netip.AddrPortFrom(r.plan.local, r.plan.bindPort)
	}
	f.backlog = int(max(1, r.integer(c.Args[1])))
	cfg := f.cfg
	if r.plan.passiveECN {
		cfg.ECN = true
	}
	l, err := r.engine.Listen(f.local, tcp.ListenConfig{Backlog: f.backlog, Conn: &cfg, DeferAccept: f.deferred})
	if err != nil {
		r.note("%v", err)
		return fails("EADDRINUSE")
	}
	f.listener = l
	return result{}
}

// listeners returns the listening files by port.
func (r *runner) listeners() (all []*file) {
	for _, f := range r.files {
		if f.listener != nil {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *file) int { return int(a.local.Port()) - int(b.local.Port()) })
	return all
}

func (r *runner) accept(f *file, c *Call) try {
	return func() (result, bool) {
		if f.listener == nil {
			return fails("EINVAL"), true
		}
		s, ok := f.listener.Accept()
		switch {
		case !ok && f.nonblock:
			return fails("EAGAIN"), true
		case !ok:
			return result{}, false
		}
		want, ok := c.Result.(*Int)
		if !ok || r.files[want.Value] != nil {
			r.fail("accept: want the number of a descriptor that is not open as the result")
		}
		n := &file{socket: f.socket}
		n.listener, n.backlog, n.reported = nil, 0, true
		n.conn, n.flow = r.conn(s), r.flow(s.Local(), s.Remote())
		n.flow.socket = s
		if now := f.cfg.Socket; now != s.Conn().Options() {
			r.engine.SetOptions(r.now, s, now) // options set after listen
		}
		if want.Value >= 0 {
			r.files[want.Value] = n
		}
		return result{value: want.Value}, true
	}
}

func (r *runner) connect(f *file, c *Call) try {
	first := f.conn == nil
	return func() (result, bool) {
		switch {
		case f.listener != nil:
			return fails("EISCONN"), true
		case f.conn == nil:
			if res, failed := r.dial(f, c); failed {
				return res, true
			}
			if f.nonblock {
				return fails("EINPROGRESS"), true
			}
		}
		switch {
		case f.conn.errno != "":
			return fails(f.conn.takeError()), true
		case f.reported:
			return fails("EISCONN"), true
		case f.conn.connected:
			f.reported = true
			return result{}, true
		case f.conn.closed:
			return fails("ECONNABORTED"), true
		case f.nonblock && !first:
			return fails("EALREADY"), true
		}
		return result{}, false
	}
}

// dial opens the connection and makes it the one under test.
func (r *runner) dial(f *file, c *Call) (res result, failed bool) {
	port := r.portOf(c.Args[1])
	if port == 0 {
		port = r.plan.connectPort
	}
	if !f.local.IsValid() {
		f.local = netip.AddrPortFrom(r.plan.local, r.freePort)
		r.freePort++
	}
	remote := netip.AddrPortFrom(r.plan.remote, port)
	cfg := f.cfg
	s, err := r.engine.Dial(r.now, f.local, remote, &cfg)
	if err != nil {
		r.note("%v", err)
		return fails("EADDRNOTAVAIL"), true
	}
	f.conn, f.flow = r.conn(s), r.flow(f.local, remote)
	f.flow.socket = s
	r.current = f.flow
	return result{}, false
}

func (r *runner) shutdown(f *file, c *Call) result {
	how := r.integer(c.Args[1])
	if f.conn == nil || !f.conn.connected {
		return fails("ENOTCONN")
	}
	if how != constants["SHUT_WR"] {
		f.noRead = true
	}
	if how != constants["SHUT_RD"] && !f.noWrite {
		f.noWrite = true
		r.engine.Shutdown(r.now, f.conn.socket)
	}
	return result{}
}

func (r *runner) close(fd int64, f *file) try {
	begun := false
	return func() (result, bool) {
		linger := tcp.NoLinger
		if f.lingers {
			linger = f.linger
		}
		if !begun {
			begun = true
			delete(r.files, fd)
			switch {
			case f.listener != nil:
				f.listener.Close(r.now)
				return result{}, true
			case f.conn == nil:
				return result{}, true
			}
			f.conn.sent = false
			r.engine.Close(r.now, f.conn.socket, linger)
			if len(r.engine.Notices()) > 0 {
				for _, n := range r.engine.Notices() {
					r.conn(n.Socket).record(n.Events)
				}
			}
		}
		done := linger <= 0 || f.nonblock || f.conn.sent || f.conn.lingered || f.conn.closed
		return result{}, done
	}
}

func (r *runner) fcntl(f *file, c *Call) result {
	nonblock := constants["O_NONBLOCK"]
	switch r.integer(c.Args[1]) {
	case constants["F_GETFL"]:
		v := constants["O_RDWR"]
		if f.nonblock {
			v |= nonblock
		}
		return result{value: v}
	case constants["F_SETFL"]:
		if len(c.Args) == 3 {
			f.nonblock = r.integer(c.Args[2])&nonblock != 0
			return result{}
		}
	}
	r.unsupported(c, "this", "F_GETFL, F_SETFL with flags")
	return result{}
}
