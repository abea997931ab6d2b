package host

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Sink reads what arrives: all at once, or at most Chunk octets every Pause, which makes a rate.
type Sink struct {
	Chunk uint32
	Pause time.Duration
	Delay time.Duration // before the first octet is read

	session *Session
	awake   bool // Delay is over
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
		k.alarm.in(now, k.Delay, s, k.read)
		return
	}
	k.read(now)
}

// read reads, and is what the alarm calls.
func (k *Sink) read(now wheel.Time) {
	s := k.session
	n := s.Readable()
	if n == 0 || s.closed {
		return
	}
	if k.Pause > 0 && k.Chunk > 0 {
		n = min(n, uint64(k.Chunk))
		k.alarm.in(now, k.Pause, s, k.read)
	}
	s.Consume(uint32(n))
	s.nudge()
}

// Closer closes the connection once the peer has done so, its octets are read, and nothing is left to be written.
type Closer struct {
	// Octets is what is to be written before: 0 for nothing.
	Octets uint64

	// Shutdown ends writing only, which comes to the same on the wire, and leaves the rest to the end of the connection.
	Shutdown bool

	done bool
}

// OnEvents implements App.
func (c *Closer) OnEvents(_ wheel.Time, s *Session, ev tcp.Events) {
	if c.done || ev.Has(tcp.EventClosed) || !s.ended || s.Readable() > 0 || s.wrote < c.Octets {
		return
	}
	c.done = true
	if c.Shutdown {
		s.Shutdown()
	} else {
		s.Close(tcp.NoLinger)
	}
}
