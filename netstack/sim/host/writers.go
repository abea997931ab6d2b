package host

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Bulk writes as fast as the connection takes it.
type Bulk struct {
	Bytes  uint64 // in all; 0 is no limit
	Buffer uint32 // most bytes written and not acknowledged; 0 is 2^30
	Chunk  uint32 // most bytes of one write; 0 is Buffer
	More   bool   // each write but the last has tcp.WriteMore
	Record bool   // each write has tcp.WriteEOR
	Finish bool   // shut down writing after the last byte

	done bool
}

// OnEvents implements App.
func (b *Bulk) OnEvents(now wheel.Time, s *Session, ev tcp.Events) {
	if b.done || ev&(tcp.EventConnected|tcp.EventWritable|tcp.EventSent) == 0 || ev.Has(tcp.EventClosed) {
		return
	}
	buffer := uint64(b.Buffer)
	if buffer == 0 {
		buffer = 1 << 30
	}
	chunk := uint64(b.Chunk)
	if chunk == 0 {
		chunk = buffer
	}
	room := buffer - min(buffer, s.Unacked())
	s.WaitForRoom(b.Bytes == 0 || b.Bytes-s.wrote > room)
	if b.Bytes == 0 && room < buffer/2 {
		return // enough is left in the buffer
	}
	for room > 0 && s.Conn().CanWrite() && (b.Bytes == 0 || s.wrote < b.Bytes) {
		n := min(room, chunk, uint64(s.Conn().WriteRoom(0)))
		if n == 0 {
			return // EventWritable follows
		}
		if b.Bytes != 0 {
			n = min(n, b.Bytes-s.wrote)
		}
		room -= n
		var flags tcp.WriteFlags
		if b.More && s.wrote+n != b.Bytes {
			flags = tcp.WriteMore
		}
		if b.Record {
			flags |= tcp.WriteEOR
		}
		s.Write(uint32(n), flags)
	}
	if b.Bytes != 0 && s.wrote >= b.Bytes {
		b.done = true
		if b.Finish {
			s.Shutdown()
		}
	}
}

// OnOff writes bursts with pauses between them.
type OnOff struct {
	Burst  uint32        // bytes
	Pause  time.Duration // from one burst to the next
	Bursts int           // in all; 0 is no limit
	Finish bool          // shut down writing after the last burst

	session *Session
	done    int
	alarm   alarm
}

// OnEvents implements App.
func (o *OnOff) OnEvents(now wheel.Time, s *Session, ev tcp.Events) {
	if ev.Has(tcp.EventClosed) {
		o.alarm.free()
		return
	}
	if ev.Has(tcp.EventConnected) {
		o.session = s
		o.burst(now)
	}
}

func (o *OnOff) burst(now wheel.Time) {
	s := o.session
	if !s.Conn().CanWrite() {
		return
	}
	s.Write(o.Burst, 0)
	if o.done++; o.Bursts != 0 && o.done >= o.Bursts {
		if o.Finish {
			s.Shutdown()
		}
		return
	}
	o.alarm.startOnce(now, o.Pause, s, o.burst)
}

// Requests sends requests and waits for each response before the next.
type Requests struct {
	Request, Response uint32        // bytes, at least 1
	Count             int           // in all; 0 is no limit
	Think             time.Duration // from a response to the next request
	Finish            bool          // shut down writing after the last response

	// Latency has the time of each response, from its request to its last byte, if Keep is set.
	Keep    bool
	Latency []time.Duration

	session *Session
	asked   int
	since   wheel.Time
	alarm   alarm
}

// OnEvents implements App.
func (r *Requests) OnEvents(now wheel.Time, s *Session, ev tcp.Events) {
	if ev.Has(tcp.EventClosed) {
		r.alarm.free()
		return
	}
	if ev.Has(tcp.EventConnected) {
		r.session = s
		r.ask(now)
	}
	for s.Readable() >= uint64(r.Response) && r.asked > 0 {
		s.Consume(r.Response)
		if r.Keep {
			r.Latency = append(r.Latency, now.Sub(r.since))
		}
		switch {
		case r.Count != 0 && r.asked >= r.Count:
			if r.Finish {
				s.Shutdown()
			}
		case r.Think > 0:
			r.alarm.startOnce(now, r.Think, s, r.ask)
		default:
			r.ask(now)
		}
	}
}

func (r *Requests) ask(now wheel.Time) {
	if !r.session.Conn().CanWrite() {
		return
	}
	r.asked++
	r.since = now
	r.session.Write(r.Request, 0)
}

// Responder answers each request.
type Responder struct {
	Request, Response uint32 // bytes, at least 1
}

// OnEvents implements App.
func (r *Responder) OnEvents(_ wheel.Time, s *Session, ev tcp.Events) {
	for s.Readable() >= uint64(r.Request) && !ev.Has(tcp.EventClosed) {
		s.Consume(r.Request)
		if s.Conn().CanWrite() {
			s.Write(r.Response, 0)
		}
	}
}
