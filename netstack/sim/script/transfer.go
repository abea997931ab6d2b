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
	flags &^= constants["MSG_DONTWAIT"] | constants["MSG_NOSIGNAL"] | constants["MSG_EOR"]
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
		if f.conn == nil {
			return fails("ENOTCONN"), true
		}
		k := min(f.conn.readable(), n)
		if f.noRead {
			k = 0
		}
		if k > 0 && flags&peek == 0 {
			f.conn.read += k
			r.engine.Consumed(r.now, f.conn.socket, uint32(k))
			n -= k
		}
		total += int64(k)
		switch {
		case total > 0 && (n == 0 || flags&all == 0 || !wait), n == 0 && total == 0:
			return result{value: total}, true
		case f.conn.errno != "" && total == 0:
			return fails(f.conn.takeError()), true
		case f.conn.peerClosed, f.conn.closed, f.noRead:
			return result{value: total}, true
		case !f.conn.connected && !f.reported && f.conn.socket.Conn().State() == tcp.StateClosed:
			return fails("ENOTCONN"), true
		case !wait:
			return fails("EAGAIN"), true
		}
		return result{}, false
	}
}

func (r *runner) write(f *file, c *Call, n uint64, flags int64, wait bool) try {
	more, urgent := constants["MSG_MORE"], constants["MSG_OOB"]
	if flags&^(more|urgent) != 0 {
		r.unsupported(c, "one of the flags", "MSG_DONTWAIT, MSG_MORE, MSG_OOB, MSG_NOSIGNAL, MSG_EOR")
	}
	total := uint64(0)
	return func() (result, bool) {
		switch {
		case f.conn == nil:
			return fails("EPIPE"), true
		case f.conn.errno != "" && total == 0:
			return fails(f.conn.takeError()), true
		case total > 0 && !r.canWrite(f):
			return result{value: int64(total)}, true
		case !r.canWrite(f):
			return fails("EPIPE"), true
		}
		k := min(n-total, r.room(f))
		if k > 0 {
			var how tcp.WriteFlags
			if flags&more != 0 {
				how |= tcp.WriteMore
			}
			if flags&urgent != 0 && total+k == n {
				how |= tcp.WriteUrgent
			}
			total += k
			f.conn.written += k
			r.engine.Wrote(r.now, f.conn.socket, uint32(k), how)
		}
		switch {
		case total == n, total > 0 && !wait:
			return result{value: int64(total)}, true
		case !wait:
			return fails("EAGAIN"), true
		}
		return result{}, false
	}
}

func (r *runner) canWrite(f *file) bool {
	return !f.noWrite && !f.conn.closed && f.conn.socket.Conn().CanWrite()
}

// room returns the free bytes in the send buffer.
func (r *runner) room(f *file) uint64 {
	return uint64(max(0, f.sendBuffer-int64(f.conn.unacked())))
}

func (r *runner) ioctl(f *file, c *Call) result {
	var v uint64
	switch op := r.integer(c.Args[1]); {
	case f.conn == nil:
		return fails("EINVAL")
	case op == constants["SIOCINQ"]:
		v = f.conn.readable()
	case op == constants["SIOCOUTQ"]:
		v = f.conn.unacked()
	case op == constants["SIOCOUTQNSD"]:
		v = info(f.conn.socket, r.now).NotSent
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
	set := func(on bool, names ...string) {
		for _, name := range names {
			if on {
				events |= constants[name]
			}
		}
	}
	switch {
	case f == nil:
		return 0x20 // POLLNVAL
	case f.listener != nil:
		set(f.listener.Len() > 0, "POLLIN", "POLLRDNORM")
		return events
	case f.conn == nil:
		set(true, "POLLOUT", "POLLHUP", "POLLWRNORM")
		return events
	}
	c := f.conn
	up := c.connected || f.reported
	ended := c.peerClosed || c.closed || f.noRead
	set(c.readable() > 0 || ended, "POLLIN", "POLLRDNORM")
	set(ended, "POLLRDHUP")
	set(up && r.canWrite(f) && r.room(f) > 0 || c.closed || f.noWrite, "POLLOUT", "POLLWRNORM")
	set(c.errno != "", "POLLERR")
	set(c.closed || ended && f.noWrite, "POLLHUP")
	return events
}
