package truth

import (
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// engine records why a simulated sender's engine sends.
type engine struct {
	queue    []tcp.TraceEvent // segments traced and not yet handed to the link
	caOf     map[uint64]tcp.CAState
	begun    bool
	una, max tcp.Seq

	armed          wheel.Time // when a retransmission timer was last armed
	due, dueBefore wheel.Time // its deadline, and the deadline before that

	counts tcp.Counters // at the previous transmission
}

// Trace implements tcp.Tracer.
func (e *engine) Trace(ev *tcp.TraceEvent) {
	switch ev.Kind {
	case tcp.TraceUpdated:
		e.una = ev.Vars.SndUna
		if ev.Changed&tcp.TraceCAState != 0 {
			e.caOf[ev.Conn] = ev.Vars.CAState
		}
	case tcp.TraceArmed:
		if ev.Timer == tcptimers.Rexmit {
			if ev.T > e.armed {
				e.dueBefore = e.due
			}
			e.armed, e.due = ev.T, ev.Deadline
		}
	case tcp.TraceSent:
		e.queue = append(e.queue, *ev)
		e.queue[len(e.queue)-1].Vars.CAState = e.caOf[ev.Conn]
	}
}

// sent returns the truth about a datagram handed to the link, which the engine has just traced. ok
// is false if it has no sequence space.
func (e *engine) sent(now wheel.Time, d *host.Datagram, counts tcp.Counters) (t Sent, ok bool) {
	ev := e.queue[0]
	e.queue = e.queue[1:]
	n := segLen(d)
	if n == 0 {
		return t, false
	}
	h := &d.Body.Header
	probed, expired := counts.TCPLossProbes > e.counts.TCPLossProbes, counts.TCPTimeouts > e.counts.TCPTimeouts
	e.counts = counts
	t = Sent{
		Seq: h.Seq, End: h.Seq.Add(n), una: e.una, max: e.max,
		Retransmission: ev.Rexmit > 0 && (d.Body.Len > 0 || h.Flags.HasAny(tcp.SYN|tcp.FIN)),
	}
	if !e.begun {
		e.begun, e.max = true, h.Seq
	}
	e.max = tcp.MaxSeq(e.max, t.End)
	if !t.Retransmission {
		return t, true
	}
	switch {
	case h.Flags.Has(tcp.SYN):
		t.Kind = track.SYN
	case probed && ev.Timed:
		// A probe replaces a timeout due at the same time, and the trace names that timer.
		t.Kind = track.TLP
		due := e.due
		if e.armed == now {
			due = e.dueBefore
		}
		t.InPlace = due <= now
	case ev.Timed && ev.Timer == tcptimers.Rexmit:
		t.Kind, t.GoBack = track.RTO, !expired
	case ev.Timed && ev.Timer == tcptimers.Persist:
		t.Kind = track.Probe
	case ev.Vars.CAState == tcp.CALoss:
		t.Kind, t.GoBack = track.RTO, true
	default:
		t.Kind = track.Fast
	}
	return t, true
}

// segLen returns the sequence space of a datagram.
func segLen(d *host.Datagram) uint32 {
	h := &d.Body.Header
	return tcp.Arrival{Len: d.Body.Len, SYN: h.Flags.Has(tcp.SYN), FIN: h.Flags.Has(tcp.FIN)}.SegLen()
}
