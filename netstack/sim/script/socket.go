package script

import (
	"net/netip"
)

// open makes a socket.
func (r *runner) open(c *Call) result {
	if r.files[c.Result] != nil {
		r.fail("socket: descriptor %d is open", c.Result)
	}
	cfg := SocketConfig{Conn: r.setup.Engine.Conn}
	s, err := r.host.Socket(cfg)
	if err != nil {
		r.fail("%v", err)
	}
	r.files[c.Result] = &file{socket: s, cfg: cfg, nonblock: c.Args[1].Value&constants["SOCK_NONBLOCK"] != 0}
	return result{value: c.Result}
}

// errnoResult is the result of a call that returns 0 or an error.
func errnoResult(errno string) result {
	if errno != "" {
		return fails(errno)
	}
	return result{}
}

func (r *runner) bind(f *file, port uint16) result {
	f.local = netip.AddrPortFrom(r.setup.local, port)
	return errnoResult(f.socket.Bind(f.local))
}

func (r *runner) listen(f *file, c *Call) result {
	if f.flow != nil {
		return fails("EINVAL")
	}
	if !f.local.IsValid() {
		if res := r.bind(f, servicePort); res.errno != "" {
			return res
		}
	}
	res := errnoResult(f.socket.Listen(int(max(0, c.Args[1].Value))))
	f.listening = res.errno == ""
	return res
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
		if c.Result < 0 || r.files[c.Result] != nil {
			r.fail("accept: want the number of a descriptor that is not open as the result")
		}
		r.files[c.Result] = &file{socket: s, local: local, cfg: f.cfg, flow: r.flow(local, remote), nonblock: f.nonblock}
		return result{value: c.Result}, true
	}
}

// connect opens a connection and makes it the one under test.
func (r *runner) connect(f *file) try {
	remote := netip.AddrPortFrom(r.setup.remote, servicePort)
	return func() (result, bool) {
		if !f.local.IsValid() {
			if res := r.bind(f, r.freePort); res.errno != "" {
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

func shutdown(f *file, c *Call) result {
	how := c.Args[1].Value
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

func fcntl(f *file, c *Call) result {
	if c.Args[1].Value != constants["F_SETFL"] {
		return fails("EINVAL")
	}
	f.nonblock = c.Args[2].Value&constants["O_NONBLOCK"] != 0
	return result{}
}
