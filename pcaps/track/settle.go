package track

import (
	"slices"

	"tcpwheel/wheel"
)

// settling holds closed episodes until Config.Settled gets them, in the order of their ends.
type settling struct {
	now   wheel.Time // of the last packet
	queue []unsettled
	head  int
}

// unsettled is an episode that closed or was abandoned at a time of the capture's clock.
type unsettled struct {
	f  *Flow
	e  *Episode
	at wheel.Time
}

// settleLater queues e, which has ended.
func (f *Flow) settleLater(e *Episode) {
	if s := f.conn.settling; s != nil {
		if s.head > 64 && s.head >= len(s.queue)/2 {
			n := copy(s.queue, s.queue[s.head:])
			clear(s.queue[n:])
			s.queue, s.head = s.queue[:n], 0
		}
		s.queue = append(s.queue, unsettled{f, e, s.now})
	}
}

// settleAt settles the episodes whose time has come at that of the next packet.
func (t *Tracker) settleAt(now wheel.Time) {
	s := &t.settling
	if s.now.Sub(now) > clockStep { // the clock was set: settle all rather than none
		t.Advance(s.now.Add(settleAfter))
		s.now = now
	}
	s.now = max(s.now, now)
	t.Advance(s.now)
}

// Advance settles the episodes whose time has come by now, as no packet says it. Packets of before
// may follow: they may have waited in another program.
func (t *Tracker) Advance(now wheel.Time) {
	s := &t.settling
	for s.head < len(s.queue) {
		u := &s.queue[s.head]
		if now.Sub(u.at) < settleAfter {
			break
		}
		if !u.e.settled {
			u.f.conn.setVantage()
			u.f.settle(u.e)
			u.f.forget(u.e)
			if !u.f.conn.Twin {
				t.cfg.Settled(u.f.conn, u.f, u.e)
			}
		}
		*u = unsettled{}
		s.head++
	}
}

// forget drops a settled episode of a connection that goes on.
func (l *Recoveries) forget(e *Episode) {
	if i := slices.Index(l.Episodes, e); i >= 0 {
		l.Episodes = slices.Delete(l.Episodes, i, i+1)
	}
	if i := slices.Index(l.recent, e.last); i >= 0 {
		l.recent = slices.Delete(l.recent, 0, i+1)
	}
	e.last = nil
}
