package tcp

import (
	"math"

	"tcpwheel/wheel"
)

// Wrote reports that the application has written n more bytes. The owner keeps them until Acked has
// passed them. It is all or nothing: it is a no-op if CanWrite is false, or if more than 2^30 bytes
// would be unacknowledged.
func (c *Conn) Wrote(now wheel.Time, n uint32, flags WriteFlags, o *Output) {
	if !c.CanWrite() || !c.snd.wrote(n, flags) {
		return
	}
	c.output(now, o)
	c.life.watchUser(c, now, o)
}

// CanWrite reports whether Wrote accepts data: from the open until Shutdown, Close or the end.
func (c *Conn) CanWrite() bool {
	switch c.state {
	case StateSynSent, StateSynReceived, StateEstablished, StateCloseWait:
		return !c.snd.writes.fin
	}
	return false
}

// WriteRoom returns how many bytes SocketOptions.NotSentLowat lets the application write at once,
// while pending bytes of writes were not reported yet. As in Linux a write takes one buffer after
// the other while less than the bound is unsent, and a buffer has the full segments of half the
// peer's largest window, 64 KiB at most.
func (c *Conn) WriteRoom(pending uint32) uint32 {
	snd := &c.snd
	switch low := snd.opts.NotSentLowat; {
	case low == 0:
		return math.MaxUint32
	case uint64(snd.queued())+uint64(pending) >= uint64(low):
		return 0
	}
	mss := max(snd.mss, 1)
	return max(min(snd.wnd.MaxWnd/2, 1<<16)/mss, 1) * mss
}

// LittleUnsent reports whether an application that waits for room, as in poll(2), is woken: less
// than half of SocketOptions.NotSentLowat is unsent, as in Linux, so that not each segment wakes
// it.
func (c *Conn) LittleUnsent(pending uint32) bool {
	low := c.snd.opts.NotSentLowat
	return low == 0 || 2*(uint64(c.snd.queued())+uint64(pending)) < uint64(low)
}

// output sends what may be sent: retransmissions, new data, the FIN, and an ACK if one is due and
// no other segment carried it. It also starts the timers that watch unsent data.
func (c *Conn) output(now wheel.Time, o *Output) {
	full := !c.LittleUnsent(0)
	if c.state >= StateEstablished && c.state != StateTimeWait {
		c.snd.next(now, o)
	}
	if full && c.LittleUnsent(0) {
		o.Events |= EventWritable
	}
	if c.state >= StateEstablished {
		c.snd.updateMeter(now)
	}
	if c.rcv.ackDue && c.state >= StateEstablished {
		c.snd.sendAck(now, o)
	}
	if c.snd.fl.sent.Len() == 0 && c.snd.fl != &atRest && c.snd.ep.calm() {
		c.snd.returnFlight(o)
	}
}
