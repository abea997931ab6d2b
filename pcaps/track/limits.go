package track

import (
	"slices"
	"time"

	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// Limits is what kept a sender from sending faster, by its own clock, from its first data to its last
// ACK. Time in a recovery counts as the wait that it was.
type Limits struct {
	Receiver    time.Duration // the receiver's window was full
	Application time.Duration // there was nothing to send
	Congestion  time.Duration // data waited for ACKs, though the receiver's window had room

	RTT50, RTT95 time.Duration // quantiles of the round trips; 0 is unknown
}

// Span is the sum of the shares.
func (l *Limits) Span() time.Duration { return l.Receiver + l.Application + l.Congestion }

// limiting is how the Limits of a flow come about.
type limiting struct {
	Limits
	last  wheel.Time // of the time that is accounted for
	ack   wheel.Time // the latest ACK
	open  time.Duration
	round stat.Sample[time.Duration]
}

const (
	keptRounds = 1 << 10

	// replyTime is how soon after an ACK a sender sends that had waited for it: 2 ms, or a sixteenth of
	// a round trip.
	replyTime     = 2 * time.Millisecond
	replyFraction = 16
)

// Limits returns what limited Src, if Config.Limits is set and it has sent data.
func (w *Windows) Limits() (l Limits, ok bool) {
	if w.limiting == nil {
		return l, false
	}
	l = w.limiting.Limits
	l.Application += w.limiting.open // nothing followed
	rounds := slices.Sorted(slices.Values(w.limiting.round.Kept()))
	if n := len(rounds); n > 0 {
		l.RTT50, l.RTT95 = rounds[stat.Rank(n, 0.5)], rounds[stat.Rank(n, 0.95)]
	}
	return l, true
}

// account accounts for the time up to now, in which nothing was sent and no ACK came.
func (l *limiting) account(f *Flow, now wheel.Time) {
	d := now.Sub(l.last)
	if d <= 0 {
		return
	}
	l.last = now
	switch {
	case f.max <= f.una:
		l.Application += d
	case f.window.known && f.window.bytes >= 0 && f.max+f.segmentSize() > f.window.edge:
		l.Receiver += d
	default:
		l.open += d // what comes next decides
	}
}

// limitSent accounts for new data that leaves at a time.
func (f sending) limitSent(at wheel.Time) {
	l := f.limiting
	if l == nil {
		f.limiting = &limiting{last: at, ack: at}
		return
	}
	l.account(f.Flow, at)
	if at.Sub(l.ack) <= max(replyTime, f.RTT.Min/replyFraction) {
		l.Congestion += l.open // an ACK let it go
	} else {
		l.Application += l.open // it came when it was there
	}
	l.open = 0
}

// limitACK accounts for an ACK that reaches Src.
func (f hearing) limitACK(at wheel.Time) {
	if l := f.limiting; l != nil {
		l.account(f.Flow, at)
		l.ack = max(l.ack, at)
	}
}
