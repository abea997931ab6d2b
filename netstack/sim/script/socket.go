package script

import (
	"net/netip"
	"slices"
)

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
	s, err := r.host.Socket(SocketConfig{Conn: r.setup.Engine.Conn, SendBuffer: r.setup.SendBuffer})
	if err != nil {
		r.fail("%v", err)
	}
	r.files[want.Value] = &file{socket: s, nonblock: kind&constants["SOCK_NONBLOCK"] != 0}
	return result{value: want.Value}
}

// errnoResult is the result of a call that returns 0 or an error.
func errnoResult(errno string) result {
	if errno != "" {
		return fails(errno)
	}
	return result{}
}

// bind binds to the call's port, or to the run's.
func (r *runner) bind(f *file, c *Call) result {
	port := r.portOf(c.Args[1])
	if port == 0 {
		port = r.setup.BindPort
	}
	return r.bindTo(f, port)
}

func (r *runner) bindTo(f *file, port uint16) result {
	f.local = netip.AddrPortFrom(r.setup.LocalIP, port)
	return errnoResult(f.socket.Bind(f.local))
}

func (r *runner) listen(f *file, c *Call) result {
	if f.flow != nil {
		return fails("EINVAL")
	}
	if !f.local.IsValid() {
		if res := r.bindTo(f, r.setup.BindPort); res.errno != "" {
			return res
		}
	}
	if r.setup.passiveECN {
		cfg := f.socket.Config()
		cfg.Conn.ECN = true
		r.configure(f, cfg)
	}
	res := errnoResult(f.socket.Listen(int(max(0, r.integer(c.Args[1])))))
	f.listening = res.errno == ""
	return res
}

// configure changes the options of a socket.
func (r *runner) configure(f *file, cfg SocketConfig) {
	if err := f.socket.Configure(cfg); err != nil {
		r.fail("%v", err)
	}
}

// listeners returns the listening files by port.
func (r *runner) listeners() (all []*file) {
	for _, f := range r.files {
		if f.listening {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *file) int { return int(a.local.Port()) - int(b.local.Port()) })
	return all
}

func (r *runner) accept(f *file, c *Call) try {
	return func() (result, bool) {
		s, local, remote, errno := f.socket.Accept()
		switch {
		case errno == "EAGAIN" && !f.nonblock:
			return result{}, false
		case errno != "":
			return fails(errno), true
		}
		want, ok := c.Result.(*Int)
		if !ok || r.files[want.Value] != nil {
			r.fail("accept: want the number of a descriptor that is not open as the result")
		}
		if want.Value >= 0 {
			r.files[want.Value] = &file{socket: s, local: local, flow: r.flow(local, remote), nonblock: f.nonblock}
		}
		return result{value: want.Value}, true
	}
}

// connect opens a connection and makes it the one under test.
func (r *runner) connect(f *file, c *Call) try {
	port := r.portOf(c.Args[1])
	if port == 0 {
		port = r.setup.ConnectPort
	}
	remote := netip.AddrPortFrom(r.setup.RemoteIP, port)
	return func() (result, bool) {
		if !f.local.IsValid() {
			if res := r.bindTo(f, r.freePort); res.errno != "" {
				return res, true
			}
			r.freePort++
		}
		errno := f.socket.Connect(remote)
		if errno == "EINPROGRESS" {
			f.flow = r.flow(f.local, remote)
			r.current = f.flow
		}
		if !f.nonblock && (errno == "EINPROGRESS" || errno == "EALREADY") {
			return result{}, false
		}
		return errnoResult(errno), true
	}
}

func (r *runner) shutdown(f *file, c *Call) result {
	how := r.integer(c.Args[1])
	return errnoResult(f.socket.Shutdown(how != constants["SHUT_WR"], how != constants["SHUT_RD"]))
}

func (r *runner) close(fd int64, f *file) try {
	var done func() bool
	return func() (result, bool) {
		if done == nil {
			delete(r.files, fd)
			done = f.socket.Close()
		}
		return result{}, f.nonblock || done()
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
