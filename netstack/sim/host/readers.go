package host

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Sink reads all that arrives at once, or at most Chunk bytes every Pause.
type Sink struct {
	Chunk uint32
	Pause time.Duration
	Delay time.Duration // before the first read

	session *Session
	awake   bool // Delay has passed
	alarm   alarm
}

// OnEvents implements App.
func (k *Sink) OnEvents(now wheel.Time, s *Session, ev tcp.Events) {
	if ev.Has(tcp.EventClosed) {
		k.alarm.free()
		return
	}
	k.session = s
	if s.Readable() == 0 || k.alarm.set {
		return
	}
	if k.Delay > 0 && !k.awake {
		k.awake = true
		k.alarm.startOnce(now, k.Delay, s, k.read)
		return
	}
	k.read(now)
}

// read reads what the settings allow. The alarm calls it.
func (k *Sink) read(now wheel.Time) {
	s := k.session
	n := s.Readable()
	if n == 0 || s.closed {
		return
	}
	if k.Pause > 0 && k.Chunk > 0 {
		n = min(n, uint64(k.Chunk))
		k.alarm.startOnce(now, k.Pause, s, k.read)
	}
	s.Consume(uint32(n))
	s.notify()
}

// Closer closes the connection when the peer has ended its stream, all of it is read, and Bytes are
// written.
type Closer struct {
	// Bytes is how much must be written before; 0 is nothing.
	Bytes uint64

	// Shutdown ends writing instead of closing: the wire shows the same.
	Shutdown bool

	done bool
}

// OnEvents implements App.
func (c *Closer) OnEvents(_ wheel.Time, s *Session, ev tcp.Events) {
	if c.done || ev.Has(tcp.EventClosed) || !s.ended || s.Readable() > 0 || s.wrote < c.Bytes {
		return
	}
	c.done = true
	if c.Shutdown {
		s.Shutdown()
	} else {
		s.Close(tcp.NoLinger)
	}
}
