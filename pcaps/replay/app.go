package replay

import (
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// app does what an application did. It reads all at once.
type app struct {
	run     *run
	flow    int
	writes  []Write
	next    int
	session *host.Session
	timer   wheel.Timer
	since   wheel.Time // the write before, or the opening
	got     []Delay    // Took counts octets: how much had come when, as far as it is still of use
	total   uint64     // octets and FIN
	open    bool
	closed  bool
}

func newApp(r *run, flow int) *app {
	a := &app{run: r, flow: flow, writes: r.script.Ends[flow].Writes}
	a.timer = r.world.Net.NewTimer(a)
	return a
}

// OnEvents implements host.App.
func (a *app) OnEvents(now wheel.Time, s *host.Session, ev tcp.Events) {
	a.session = s
	if ev.Has(tcp.EventClosed) {
		a.closed = true
		return
	}
	if !a.open && (ev.Has(tcp.EventConnected) || s.Readable() > 0) {
		a.open, a.since = true, now
	}
	if n := s.Readable(); n > 0 {
		s.Consume(uint32(n))
	}
	if pos := a.received() + 1; len(a.got) == 0 || wheel.Time(pos) > wheel.Time(a.got[len(a.got)-1].Took) {
		a.got = append(a.got, Delay{Sent: now, Took: 0})
		a.got[len(a.got)-1].Took = spanOf(pos)
	}
	a.act(now)
}

// Expire implements sim.Handler: it is time for the next write.
func (a *app) Expire(now wheel.Time) { a.act(now) }

// act does all that is due.
func (a *app) act(now wheel.Time) {
	for a.open && !a.closed && a.next < len(a.writes) {
		w := &a.writes[a.next]
		from := a.since
		if w.Received > 0 {
			for len(a.got) > 0 && a.got[0].Took < spanOf(w.Received) {
				a.got = a.got[1:]
			}
			if len(a.got) == 0 {
				return // it waits
			}
			from = a.got[0].Sent
		}
		if at := from.Add(w.After); at > now {
			a.run.world.Net.StartTimer(a.timer, at)
			return
		}
		a.next++
		a.since = now
		a.do(w)
	}
}

func (a *app) do(w *Write) {
	for n := w.Octets; n > 0; {
		k := min(n, 1<<30)
		flags := tcp.WriteFlags(0)
		if n > k || w.FIN {
			flags = tcp.WriteMore
		}
		a.session.Write(uint32(k), flags)
		a.total += k
		n -= k
	}
	switch {
	case w.Reset:
		a.session.Abort()
	case w.FIN:
		a.total++
		a.session.Shutdown()
	}
}

func (a *app) finished() bool { return a.open && a.next == len(a.writes) }

// written and received count the FIN too.
func (a *app) written() uint64 { return a.total }

func (a *app) received() uint64 {
	if a.session == nil {
		return 0
	}
	n := a.session.Read()
	if a.session.Ended() {
		n++
	}
	return n
}

func (a *app) unacked() uint64 {
	if a.session == nil {
		return 0
	}
	return a.session.Unacked()
}
