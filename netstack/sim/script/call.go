package script

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// file is the object of a descriptor.
type file struct {
	socket    Socket
	local     netip.AddrPort
	listening bool
	cfg       SocketConfig
	flow      *flow // of its connection; nil before Connect
	nonblock  bool
}

// result is the result of a call: a number, or -1 and an error.
type result struct {
	value int64
	errno string
}

func (r result) String() string {
	if r.errno != "" {
		return "-1 " + r.errno
	}
	return strconv.FormatInt(r.value, 10)
}

func fails(errno string) result { return result{-1, errno} }

// try attempts a call. done is false if the call must wait; the runner then tries again after each
// step.
type try func() (res result, done bool)

// blocked is a waiting call.
type blocked struct {
	call  *Call
	event Pos
	try   try
	due   time.Duration // time of its return, since the script's start
	done  bool
}

// call makes a system call and compares its result. If the script says that it blocks, the call
// waits.
func (r *runner) call(c *Call, t Time) {
	b := &blocked{call: c, event: r.pos, due: r.timeBase}
	if t.Blocks {
		b.due += t.Return - t.At
	}
	r.note("%s", c.Text)
	line := len(r.trace) - 1
	b.try = r.prepare(c)
	r.checkOverdue()
	res, done := b.try()
	switch {
	case done && b.due > r.timeBase:
		r.failWith(fmt.Sprintf("the call returned %v at once, want it to wait until %s", res, traceTime(b.due)), "", "")
	case done:
		r.returned(c, res, line)
		r.step()
	case !t.Blocks:
		r.fail("%s would block: give it a time such as +0...0.2, or make the descriptor non-blocking by fcntl(fd, F_SETFL, O_RDWR|O_NONBLOCK)",
			c.Name)
	default:
		r.blocked = append(r.blocked, b)
		r.step()
	}
}

// checkOverdue ends the run if a waiting call is overdue.
func (r *runner) checkOverdue() {
	for _, b := range r.blocked {
		if b.due < r.elapsed() {
			r.pos = b.event
			r.failWith(fmt.Sprintf("the call has not returned, want a return at %s", traceTime(b.due)), b.call.Text, "")
		}
	}
}

// retry completes the waiting calls that can complete.
func (r *runner) retry() {
	if r.retrying {
		return
	}
	r.retrying = true
	defer func() { r.retrying = false }()
	for again := true; again; {
		again = false
		for _, b := range slices.Clone(r.blocked) {
			res, done := b.try()
			if r.takePackets() {
				again = true
				r.step()
			}
			if !done {
				continue
			}
			again, b.done = true, true
			r.blocked = slices.DeleteFunc(r.blocked, func(o *blocked) bool { return o == b })
			pos := r.pos
			r.pos = b.event
			if r.elapsed() != b.due {
				r.failWith(fmt.Sprintf("the call returned %v, want a return at %s", res, traceTime(b.due)), b.call.Text, "")
			}
			r.note("… %s", b.call.Text)
			r.returned(b.call, res, len(r.trace)-1)
			r.pos = pos
		}
	}
	r.checkOverdue()
}

// returned compares the result of a call.
func (r *runner) returned(c *Call, res result, line int) {
	if res.value != c.Result || res.errno != c.Errno {
		r.trace = r.trace[:line]
		r.failWith(fmt.Sprintf("%s returns %v", c.Name, res), c.Text, "")
	}
}

// prepare returns the function that attempts the call.
func (r *runner) prepare(c *Call) try {
	switch c.Name {
	case "socket":
		return r.once(func() result { return r.open(c) })
	case "poll":
		return r.poll(c)
	}
	fd := c.Args[0].Value
	f := r.files[fd]
	if f == nil {
		return r.once(func() result { return fails("EBADF") })
	}
	switch c.Name {
	case "bind":
		return r.once(func() result { return r.bind(f, servicePort) })
	case "listen":
		return r.once(func() result { return r.listen(f, c) })
	case "accept":
		return r.accept(f, c)
	case "connect":
		return r.connect(f)
	case "close":
		return r.close(fd, f)
	case "shutdown":
		return r.once(func() result { return shutdown(f, c) })
	case "fcntl":
		return r.once(func() result { return fcntl(f, c) })
	case "ioctl":
		return r.once(func() result { return r.ioctl(f, c) })
	case "setsockopt":
		return r.once(func() result { return r.setsockopt(f, c) })
	case "getsockopt":
		return r.once(func() result { return r.getsockopt(f, c) })
	case "read", "recv":
		return r.read(f, c)
	}
	return r.write(f, c)
}

// once makes a try of a call that never waits.
func (r *runner) once(do func() result) try {
	return func() (result, bool) { return do(), true }
}
