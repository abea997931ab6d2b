package testbed

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Retransmission is one retransmission of a segment.
type Retransmission struct {
	Conn    uint64 // tcp.Socket.ID
	At      wheel.Time
	Seq     tcp.Seq
	Len     uint32
	Attempt int        // 2 for the first retransmission
	First   wheel.Time // first transmission
	Last    wheel.Time // transmission before this one
	// Timed says that Timer caused it, and not an ACK: tcptimers.TLP for a tail loss probe, and so on.
	Timed bool
	Timer tcptimers.Kind
}

// Wait returns the time since the transmission before it.
func (r *Retransmission) Wait() time.Duration { return r.At.Sub(r.Last) }

// Record is a tcp.Tracer that keeps the retransmissions. Its memory grows with the segments sent.
type Record struct {
	Retransmissions []Retransmission
	Sent            int        // data segments, retransmissions included
	Next            tcp.Tracer // gets each event too, if not nil

	sent map[sentKey]sentTimes
}

type sentKey struct {
	conn uint64
	seq  tcp.Seq
}

type sentTimes struct{ first, last wheel.Time }

// Trace implements tcp.Tracer.
func (r *Record) Trace(ev *tcp.TraceEvent) {
	if r.Next != nil {
		r.Next.Trace(ev)
	}
	if ev.Kind != tcp.TraceSent || ev.Len == 0 {
		return
	}
	if r.sent == nil {
		r.sent = map[sentKey]sentTimes{}
	}
	r.Sent++
	k := sentKey{ev.Conn, ev.Header.Seq}
	was, again := r.sent[k]
	if ev.Rexmit > 0 {
		if !again {
			was.first, was.last = ev.T, ev.T // the first transmission had other bounds
		}
		r.Retransmissions = append(r.Retransmissions, Retransmission{
			Conn: ev.Conn, At: ev.T, Seq: ev.Header.Seq, Len: ev.Len, Attempt: int(ev.Rexmit) + 1,
			First: was.first, Last: was.last, Timed: ev.Timed, Timer: ev.Timer,
		})
		r.sent[k] = sentTimes{was.first, ev.T}
		return
	}
	r.sent[k] = sentTimes{ev.T, ev.T}
}
