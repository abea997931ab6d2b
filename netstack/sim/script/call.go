package script

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tcpwheel/wheel"
)

// file is what a descriptor of the script stands for.
type file struct {
	socket
	nonblock bool
}

// result is what a call returns: a number, or -1 and an error.
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

// try is one attempt of a call: its result, or that it has to wait. It is made again after each step.
type try func() (res result, done bool)

// blocked is a call that waits.
type blocked struct {
	call   *Call
	event  Pos
	try    try
	due    time.Duration // when it must return, since the beginning
	wake   bool          // it ends at wakeAt, whatever happens
	wakeAt wheel.Time
	done   bool
}

// call makes a system call, and compares its result; or leaves it to wait if the script says that it blocks.
func (r *runner) call(c *Call, t TimeSpec) {
	b := &blocked{call: c, event: r.pos, due: r.base}
	if t.Kind == TimeBlocking {
		b.due += t.End - t.Start
	}
	r.note("%s", c)
	line := len(r.trace) - 1
	b.try = r.prepare(c, b)
	r.unwait()
	res, done := b.try()
	switch {
	case done && b.due > r.base+r.plan.tolerance:
		r.differ(fmt.Sprintf("the call has returned %v at once, want it to wait until %s", res, seconds9(b.due)), "", "")
	case done:
		r.returned(c, res, line)
		r.step()
	case t.Kind != TimeBlocking:
		r.fail("%s has to wait: give it a time such as +0...0.2, or make the descriptor non-blocking by fcntl(fd, F_SETFL, O_RDWR|O_NONBLOCK)",
			c.Name)
	default:
		r.blocked = append(r.blocked, b)
		r.step()
	}
}

// unwait ends the run if a call that waits should have returned before now.
func (r *runner) unwait() {
	for _, b := range r.blocked {
		if b.due+r.plan.tolerance < r.elapsed() {
			r.pos = b.event
			r.differ(fmt.Sprintf("the call has not returned, want it to at %s", seconds9(b.due)), b.call.String(), "")
		}
	}
}

// retry lets those calls return that can.
func (r *runner) retry() {
	if r.trying {
		return
	}
	r.trying = true
	defer func() { r.trying = false }()
	for again := true; again; {
		again = false
		for _, b := range slices.Clone(r.blocked) {
			res, done := b.try()
			if len(r.engine.Packets())+len(r.engine.Notices()) > 0 {
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
			if d := r.elapsed() - b.due; d > r.plan.tolerance || d < -r.plan.tolerance {
				r.differ(fmt.Sprintf("the call has returned %v, want it to at %s", res, seconds9(b.due)), b.call.String(), "")
			}
			r.note("… %s", b.call)
			r.returned(b.call, res, len(r.trace)-1)
			r.pos = pos
		}
	}
	r.unwait()
}

// returned compares the result of a call.
func (r *runner) returned(c *Call, res result, line int) {
	ok := true
	switch want := c.Result.(type) {
	case *Int:
		ok = res.value == want.Value && (c.Errno == "" || c.Errno == res.errno)
	}
	if !ok {
		r.trace = r.trace[:line]
		r.differ(fmt.Sprintf("%s returns %v", c.Name, res), c.String(), "")
	}
}

// prepare makes ready what the call does.
func (r *runner) prepare(c *Call, b *blocked) try {
	switch c.Name {
	case "socket":
		return r.once(func() result { return r.open(c) })
	case "poll":
		return r.poll(c, b)
	}
	fd := r.integer(c.Args[0])
	f := r.files[fd]
	if f == nil {
		return r.once(func() result { return fails("EBADF") })
	}
	switch c.Name {
	case "bind":
		return r.once(func() result { return r.bind(f, c) })
	case "listen":
		return r.once(func() result { return r.listen(f, c) })
	case "accept":
		return r.accept(f, c)
	case "connect":
		return r.connect(f, c)
	case "close":
		return r.close(fd, f)
	case "shutdown":
		return r.once(func() result { return r.shutdown(f, c) })
	case "fcntl":
		return r.once(func() result { return r.fcntl(f, c) })
	case "ioctl":
		return r.once(func() result { return r.ioctl(f, c) })
	case "setsockopt":
		return r.once(func() result { return r.setsockopt(f, c) })
	case "getsockopt":
		return r.once(func() result { return r.getsockopt(f, c) })
	}
	return r.transfer(f, c)
}

// once is a call that never waits.
func (r *runner) once(do func() result) try {
	return func() (result, bool) { return do(), true }
}

// unsupported ends the run, because a call asks for what there is not.
func (r *runner) unsupported(c *Call, what, supported string) {
	r.fail("%s: %s not supported; supported: %s", c.Name, what, supported)
}
