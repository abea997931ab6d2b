package testbed

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Resend is a segment that was sent again.
type Retransmission struct {
	Conn    uint64 // tcp.Socket.ID
	At      wheel.Time
	Seq     tcp.Seq
	Len     uint32
	Attempt int        // 2 for the first time that it is sent again
	First   wheel.Time // when it was sent first
	Last    wheel.Time // when it was sent the last time before this
	// Timed says that Timer has caused it, and not an ACK. A probe for the tail is caused by tcptimers.TLP, and so on.
	Timed bool
	Timer tcptimers.Kind
}

// Wait returns how long after the transmission before it left: from loss to resend.
func (r *Retransmission) Wait() time.Duration { return r.At.Sub(r.Last) }

// Record is a tcp.Tracer that keeps what was sent again, and when each segment with payload was sent. Its memory grows with
// what was sent.
type Record struct {
	Retransmissions []Retransmission
	Sent            int // segments with payload, those sent again included
	// Next, if it is set, has each event too.
	Next tcp.Tracer

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
			was = sentTimes{first: ev.T, last: ev.T} // it was cut otherwise the first time
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
