package script

import (
	"math"
	"time"

	"tcpwheel/netstack/tcp"
)

// transfer returns the try of a call that reads or writes.
func (r *runner) transfer(f *file, c *Call) try {
	var n, flags int64
	write := false
	switch c.Name {
	case "write", "send", "sendto", "writev", "sendmsg":
		write = true
	}
	switch c.Name {
	case "read", "write":
		n = r.integer(c.Args[2])
	case "recv", "recvfrom", "send", "sendto":
		n, flags = r.integer(c.Args[2]), r.integer(c.Args[3])
	case "readv", "writev":
		n = r.lengths(c.Args[1])
	case "recvmsg", "sendmsg":
		iov := field(c.Args[1], "msg_iov")
		if iov == nil {
			r.fail("%s: want a field msg_iov(n)=[{..., length}, …]", c.Name)
		}
		n, flags = r.lengths(iov), r.integer(c.Args[2])
	}
	if n < 0 || n > math.MaxInt32 {
		r.fail("%s of %d bytes, want 0..%d", c.Name, n, math.MaxInt32)
	}
	wait := !f.nonblock && flags&constants["MSG_DONTWAIT"] == 0
	flags &^= constants["MSG_DONTWAIT"] | constants["MSG_NOSIGNAL"]
	if write {
		return r.write(f, c, uint64(n), flags, wait)
	}
	return r.read(f, c, uint64(n), flags, wait)
}

func (r *runner) read(f *file, c *Call, n uint64, flags int64, wait bool) try {
	peek, all := constants["MSG_PEEK"], constants["MSG_WAITALL"]
	if flags&^(peek|all|constants["MSG_TRUNC"]) != 0 {
		r.unsupported(c, "one of the flags", "MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC, MSG_WAITALL")
	}
	total := int64(0)
	return func() (result, bool) {
		k, errno := f.socket.Read(uint32(n), flags&peek != 0)
		ended := errno == "" && k == 0 && n > 0
		if flags&peek == 0 {
			n -= uint64(k)
		}
		total += int64(k)
		switch {
		case total > 0 && (n == 0 || flags&all == 0 || !wait), ended, n == 0 && total == 0:
			return result{value: total}, true
		case errno == "EAGAIN" && wait, errno == "":
			return result{}, false
		case total > 0:
			return result{value: total}, true
		}
		return fails(errno), true
	}
}

func (r *runner) write(f *file, c *Call, n uint64, flags int64, wait bool) try {
	more, urgent, record := constants["MSG_MORE"], constants["MSG_OOB"], constants["MSG_EOR"]
	if flags&^(more|urgent|record) != 0 {
		r.unsupported(c, "one of the flags", "MSG_DONTWAIT, MSG_MORE, MSG_OOB, MSG_NOSIGNAL, MSG_EOR")
	}
	var how tcp.WriteFlags
	if flags&more != 0 {
		how |= tcp.WriteMore
	}
	if flags&urgent != 0 {
		how |= tcp.WriteUrgent
	}
	if flags&record != 0 {
		how |= tcp.WriteEOR
	}
	total := uint64(0)
	return func() (result, bool) {
		k, errno := f.socket.Write(uint32(n-total), how)
		total += uint64(k)
		switch {
		case total == n && errno == "", total > 0 && (!wait || errno != "" && errno != "EAGAIN"):
			return result{value: int64(total)}, true
		case wait && (errno == "" || errno == "EAGAIN"):
			return result{}, false
		case errno == "":
			errno = "EAGAIN"
		}
		return fails(errno), true
	}
}

func (r *runner) ioctl(f *file, c *Call) result {
	var v uint64
	switch op := r.integer(c.Args[1]); {
	case f.flow == nil:
		return fails("EINVAL")
	case op == constants["SIOCINQ"]:
		v, _ = f.socket.Queued()
	case op == constants["SIOCOUTQ"]:
		_, v = f.socket.Queued()
	case op == constants["SIOCOUTQNSD"]:
		v = r.info(f.flow).NotSent
	default:
		r.unsupported(c, "this", "SIOCINQ, SIOCOUTQ, SIOCOUTQNSD")
	}
	r.wantValue(c, c.Args[2], int64(v))
	return result{}
}

// wantValue compares a call's output argument.
func (r *runner) wantValue(c *Call, e Expr, got int64) {
	if l, ok := e.(*List); ok && len(l.Elems) == 1 {
		e = l.Elems[0]
	}
	if isAny(e) {
		return
	}
	if want := r.integer(e); got != want {
		r.fail("%s gives %d, want %d", c.Name, got, want)
	}
}

// poll waits for an event or its timeout.
func (r *runner) poll(c *Call, b *blocked) try {
	list, ok := c.Args[0].(*List)
	if !ok {
		r.fail("poll: want a list such as [{fd=3, events=POLLIN, revents=POLLIN}]")
	}
	timeout := r.integer(c.Args[2])
	if timeout > 0 {
		b.wake, b.wakeAt = true, r.now.Add(time.Duration(timeout)*time.Millisecond)
	}
	return func() (result, bool) {
		n := int64(0)
		got := make([]int64, len(list.Elems))
		for i, e := range list.Elems {
			fd, events := field(e, "fd"), field(e, "events")
			if fd == nil || events == nil {
				r.fail("poll: want {fd=…, events=…, revents=…}")
			}
			if got[i] = r.ready(r.files[r.integer(fd)]) & (r.integer(events) | 0x38); got[i] != 0 {
				n++
			}
		}
		if n == 0 && timeout != 0 && !(b.wake && r.now >= b.wakeAt) {
			return result{}, false
		}
		for i, e := range list.Elems {
			if want := field(e, "revents"); want != nil && !isAny(want) && r.integer(want) != got[i] {
				r.fail("poll gives revents %#x for the descriptor %d, want %#x", got[i], r.integer(field(e, "fd")), r.integer(want))
			}
		}
		return result{value: n}, true
	}
}

// ready returns the poll events of a descriptor.
func (r *runner) ready(f *file) (events int64) {
	if f == nil {
		return 0x20 // POLLNVAL
	}
	return f.socket.Ready()
}
