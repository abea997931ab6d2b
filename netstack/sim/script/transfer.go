package script

import (
	"math"

	"tcpwheel/netstack/tcp"
)

// size returns the number of bytes and the flags of a call that reads or writes, and whether the
// call waits.
func (r *runner) size(f *file, c *Call) (n uint32, flags int64, wait bool) {
	size := c.Args[2].Value
	if size < 0 || size > math.MaxInt32 {
		r.fail("%s of %d bytes, want 0..%d", c.Name, size, math.MaxInt32)
	}
	if len(c.Args) == 4 {
		flags = c.Args[3].Value
	}
	never := constants["MSG_DONTWAIT"]
	return uint32(size), flags &^ never, !f.nonblock && flags&never == 0
}

func (r *runner) read(f *file, c *Call) try {
	n, flags, wait := r.size(f, c)
	if flags != 0 {
		r.fail("%s: flags %#x, want MSG_DONTWAIT at most", c.Name, flags)
	}
	return func() (result, bool) {
		k, errno := f.socket.Read(n)
		switch {
		case errno == "EAGAIN" && wait:
			return result{}, false
		case errno != "":
			return fails(errno), true
		}
		return result{value: int64(k)}, true
	}
}

func (r *runner) write(f *file, c *Call) try {
	n, flags, wait := r.size(f, c)
	var how tcp.WriteFlags
	for name, flag := range map[string]tcp.WriteFlags{"MSG_MORE": tcp.WriteMore, "MSG_OOB": tcp.WriteUrgent, "MSG_EOR": tcp.WriteEOR} {
		if flags&constants[name] != 0 {
			how |= flag
			flags &^= constants[name]
		}
	}
	if flags != 0 {
		r.fail("%s: flags %#x, want MSG_DONTWAIT, MSG_MORE, MSG_OOB and MSG_EOR at most", c.Name, flags)
	}
	total := uint32(0)
	return func() (result, bool) {
		k, errno := f.socket.Write(n-total, how)
		total += k
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
	if f.flow == nil {
		return fails("EINVAL")
	}
	unread, unacked := f.socket.Queued()
	switch c.Args[1].Value {
	case constants["SIOCINQ"]:
		r.wantValue(c, c.Args[2], int64(unread))
	case constants["SIOCOUTQ"]:
		r.wantValue(c, c.Args[2], int64(unacked))
	case constants["SIOCOUTQNSD"]:
		r.wantValue(c, c.Args[2], int64(r.info(f.flow).NotSent))
	default:
		r.fail("ioctl: want SIOCINQ, SIOCOUTQ or SIOCOUTQNSD")
	}
	return result{}
}

// wantValue compares a call's output argument.
func (r *runner) wantValue(c *Call, want Arg, got int64) {
	if want.Value != got {
		r.fail("%s gives %d, want %d", c.Name, got, want.Value)
	}
}

// poll waits for an event of one descriptor, or does not wait with the timeout 0.
func (r *runner) poll(c *Call) try {
	want, timeout := c.Args[0].Fields, c.Args[2].Value
	f := r.files[want["fd"]]
	if f == nil || len(want) != 3 || c.Args[1].Value != 1 || timeout != 0 && timeout != -1 {
		r.fail("poll: want [{fd=3, events=POLLIN, revents=POLLIN}], 1, and 0 or -1")
	}
	return func() (result, bool) {
		got := f.socket.Ready() & (want["events"] | constants["POLLERR"] | constants["POLLHUP"])
		if got == 0 && timeout != 0 {
			return result{}, false
		}
		if got != want["revents"] {
			r.fail("poll gives revents %#x, want %#x", got, want["revents"])
		}
		return result{value: min(got, 1)}, true
	}
}
