package wheel

import "time"

// Place says where a wheel keeps the record of a timer.
type Place struct {
	Timer    Timer
	Slot     int  // 0 to Slots-1
	Running  bool // false for a stopped timer whose record is still in the slot's list
	Deadline Time // the tick at which it expires; 0 if it does not run
}

// Slots returns the number of slots.
func (w *Scheme6) Slots() int { return int(w.mask) + 1 }

// Hand returns the slot of the last tick processed, or of the one being processed.
func (w *Scheme6) Hand() int { return int(w.cur) & int(w.mask) }

// Tick returns the length of a tick.
func (w *Scheme6) Tick() time.Duration { return w.ticker.size }

// Walk calls f for each record in a list, by record number. A due or overdue timer is in the slot
// of the hand. Walk is for displays and tests: it costs O(records), and f must not call w.
func (w *Scheme6) Walk(f func(Place)) {
	slots := w.mask + 1
	for i := range w.recs {
		r := &w.recs[i]
		p := Place{Timer: Timer(i), Running: r.deadline != never}
		switch {
		case r.list == recFree || r.list == recIdle:
			continue
		case r.list < 2*slots:
			p.Slot = int(r.list & w.mask)
		default: // pending, or queued as due
			p.Slot = w.Hand()
		}
		if p.Running {
			p.Deadline = w.time(w.up(r.deadline))
		}
		f(p)
	}
}
