package replay

import (
	"slices"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// app does what an application did. It reads everything at once.
type app struct {
	e       *end
	writes  []Write
	next    int
	waiting int    // the first write that waits for more of the peer than got has
	partial uint64 // bytes of the next write that a tape had it write already
	alarm   alarm
	since   wheel.Time // the write before, or the opening
	got     []delivered
	total   uint64 // bytes and FIN written
	bytes   uint64 // without the FIN
	arrived uint64 // bytes of the peer that became readable
	read    uint64 // of these, read
	ended   bool   // the peer's FIN was reached
	open    bool
	closed  bool
}

// told takes in events of the connection.
func (a *app) told(now wheel.Time, events tcp.Events) {
	if events.Has(tcp.EventClosed) {
		a.closed = true
		return
	}
	a.ended = a.ended || events.Has(tcp.EventPeerClosed)
	if !a.open && (events.Has(tcp.EventConnected) || a.arrived > a.read) {
		a.open, a.since = true, now
	}
	if n := a.arrived - a.read; n > 0 {
		a.read = a.arrived
		a.e.conn.Consumed(now, uint32(n), &a.e.out)
		a.e.flush(now)
	}
	a.note(now, a.received()+1)
	if a.e.net != nil {
		a.act(now)
	}
}

// note keeps when so much of the peer's stream had arrived, if a write waits for that.
func (a *app) note(now wheel.Time, place uint64) {
	first := a.waiting
	for a.waiting < len(a.writes) && a.writes[a.waiting].Received <= place {
		a.waiting++
	}
	if slices.ContainsFunc(a.writes[first:a.waiting], func(w Write) bool { return w.Received > 0 }) {
		a.got = append(a.got, delivered{now, int64(place)})
	}
}

// act does all writes whose time has come.
func (a *app) act(now wheel.Time) {
	for a.open && !a.closed && a.next < len(a.writes) {
		w := &a.writes[a.next]
		from := a.since
		if w.Received > 0 {
			a.forget(w.Received)
			if len(a.got) == 0 {
				return // it waits for the peer
			}
			from = a.got[0].at
		}
		if at := from.Add(w.After); at > now {
			a.alarm.set(a.e.net, at)
			return
		}
		a.next++
		a.since = now
		a.write(now, w.Bytes, w.FIN, w.Reset)
	}
}

// forget forgets when what is before a place arrived.
func (a *app) forget(place uint64) {
	for len(a.got) > 0 && a.got[0].bytes < int64(place) {
		a.got = a.got[1:]
	}
}

// write writes bytes, and ends writing.
func (a *app) write(now wheel.Time, bytes uint64, fin, reset bool) {
	e := a.e
	for n := bytes; n > 0; {
		k := min(n, 1<<30)
		flags := tcp.WriteFlags(0)
		if n > k || fin {
			flags = tcp.WriteMore
		}
		e.conn.Wrote(now, uint32(k), flags, &e.out)
		e.flush(now)
		n -= k
	}
	a.total += bytes
	a.bytes += bytes
	switch {
	case reset:
		e.conn.Abort(now, &e.out)
		e.flush(now)
	case fin:
		a.total++
		e.conn.Shutdown(now, &e.out)
		e.flush(now)
	}
}

// copyTo writes what is before a place, which the captured end sent at now: the tape says when.
func (a *app) copyTo(now wheel.Time, place int64) {
	for a.next < len(a.writes) && a.place() < place {
		w := &a.writes[a.next]
		if a.partial == 0 {
			a.since = now
			a.forget(w.Received)
		}
		n := min(w.Bytes-a.partial, uint64(place-a.place()))
		a.partial += n
		last := a.partial == w.Bytes
		fin := last && w.FIN && a.place()+int64(n) < place
		a.write(now, n, fin, false)
		if last && fin == w.FIN {
			a.next++
			a.partial = 0
		}
	}
	if n := place - a.place(); n > 0 && !a.closed {
		a.write(now, uint64(n), false, false) // bytes that were acknowledged and never captured
	}
}

// place returns the place behind all that was written.
func (a *app) place() int64 { return 1 + int64(a.total) }

// fork makes a the application of another end.
func (a *app) fork(e *end) { a.e, a.alarm, a.got = e, alarm{do: a.act}, slices.Clip(a.got) }

// release finishes the write that the captured end had begun to send, and goes on alone.
func (a *app) release(now wheel.Time) {
	if a.partial > 0 {
		w := &a.writes[a.next]
		n := w.Bytes - a.partial
		a.next++
		a.partial = 0
		a.write(now, n, w.FIN, false)
	}
	a.act(now)
}

// finished reports whether all was written.
func (a *app) finished() bool { return a.open && a.next == len(a.writes) }

// received returns how many bytes were read, and the FIN.
func (a *app) received() uint64 {
	if a.ended {
		return a.read + 1
	}
	return a.read
}
