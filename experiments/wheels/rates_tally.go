package wheels

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// tally is a tcp.Tracer that counts the operations on timers. It counts from reset on. Before that
// it only follows which timers run.
type tally struct {
	kinds    [tcptimers.Kinds]kindTally
	now      int // running timers of all kinds
	peak     int
	sent     uint64 // data segments
	segments uint64 // all segments sent
	received uint64
	data     uint64 // data segments received

	started map[uint64][]wheel.Time // by connection and slot: start of a running timer, else -1
}

type kindTally struct {
	ratesKind
	running  int
	since    wheel.Time
	area     float64 // timers times nanoseconds
	lifetime time.Duration
}

func newTally() *tally { return &tally{started: map[uint64][]wheel.Time{}} }

// reset sets all counts to 0.
func (t *tally) reset(now wheel.Time) {
	t.peak, t.sent, t.segments, t.received, t.data = t.now, 0, 0, 0, 0
	for i := range t.kinds {
		k := &t.kinds[i]
		of := ratesKind{Name: tcptimers.Kind(i).String(), Before: k.running}
		*k = kindTally{ratesKind: of, running: k.running, since: now}
	}
}

// side returns the counts since reset. before and after are the wheel's.
func (t *tally) side(now wheel.Time, watched time.Duration, before, after wheel.Counts) ratesSide {
	w := after.Sub(before)
	s := ratesSide{Peak: t.peak, Starts: w.Starts, Stops: w.Stops, Expiries: w.Expiries, Looks: w.Visits()}
	for i := range t.kinds {
		k := &t.kinds[i]
		k.turn(now, 0)
		k.After, k.Mean = k.running, k.area/float64(watched)
		if ended := k.Stopped + k.Expired; ended > 0 {
			k.Lived = k.lifetime / time.Duration(ended)
		}
		if k.Started+k.Moved+k.Stopped+k.Expired > 0 || k.running > 0 {
			s.Kinds = append(s.Kinds, k.ratesKind)
		}
	}
	return s
}

// turn records that from now on that many more timers run.
func (k *kindTally) turn(now wheel.Time, more int) {
	k.area += float64(float64(k.running) * float64(now-k.since))
	k.since = now
	k.running += more
}

// Trace implements tcp.Tracer.
func (t *tally) Trace(ev *tcp.TraceEvent) {
	switch ev.Kind {
	case tcp.TraceSent:
		t.segments++
		if ev.Len > 0 {
			t.sent++
		}
		return
	case tcp.TraceReceived:
		t.received++
		if ev.Len > 0 {
			t.data++
		}
		return
	case tcp.TraceArmed, tcp.TraceStopped, tcp.TraceExpired:
	default:
		return
	}
	slots, k := t.started[ev.Conn], &t.kinds[ev.Timer]
	for int(ev.Slot) >= len(slots) {
		slots = append(slots, -1)
	}
	t.started[ev.Conn] = slots
	switch at := &slots[ev.Slot]; {
	case ev.Kind == tcp.TraceArmed && *at >= 0:
		k.Moved++
	case ev.Kind == tcp.TraceArmed:
		k.Started++
		*at = ev.T
		k.turn(ev.T, +1)
		t.now++
		t.peak = max(t.peak, t.now)
	default:
		if ev.Kind == tcp.TraceStopped {
			k.Stopped++
		} else {
			k.Expired++
		}
		k.lifetime += ev.T.Sub(*at)
		*at = -1
		k.turn(ev.T, -1)
		t.now--
	}
}
