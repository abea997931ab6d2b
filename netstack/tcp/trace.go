package tcp

import (
	"net/netip"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Tracer receives the events of an engine in order. It must not call the engine. ev is valid until
// Trace returns.
type Tracer interface {
	Trace(ev *TraceEvent)
}

// TraceKind is the kind of a TraceEvent.
type TraceKind uint8

const (
	TraceOpened   TraceKind = iota // a connection was created: Local, Remote
	TraceReceived                  // a segment arrived: Header, Len, CE
	TraceSent                      // a segment was sent: Header, Len, ECT, Rexmit, and Timer if Timed
	TraceArmed                     // a timer was started or moved: Timer, Slot, Seq, Armed, Deadline
	TraceStopped                   // a running timer was stopped: as TraceArmed
	TraceExpired                   // a timer expired: as TraceArmed; T - Deadline is its lateness
	TraceUpdated                   // variables changed: Vars and Changed
	TraceClosed                    // the connection closed: Err

	traceKinds
)

var traceNames = [traceKinds]string{
	"connection_opened", "segment_received", "segment_sent", "timer_started", "timer_stopped", "timer_expired",
	"vars_updated", "connection_closed",
}

// String returns the event's name, as package events has it.
func (k TraceKind) String() string {
	if k >= traceKinds {
		return "TraceKind(?)"
	}
	return traceNames[k]
}

// TraceEvent is one event. Its kind decides which fields are valid; the others are 0.
type TraceEvent struct {
	T    wheel.Time
	Conn uint64 // Socket.ID; 0 for segments of no connection
	Kind TraceKind

	Local, Remote netip.AddrPort // for TraceOpened and segments of no connection

	// Segments, as on the wire.
	Header Header
	Len    uint32
	CE     bool
	ECT    bool
	Rexmit uint8
	Timed  bool // Timer caused the segment

	// Timers.
	Timer    tcptimers.Kind
	Slot     Slot
	Seq      Seq // start of the timer's segment, or 0
	Armed    wheel.Time
	Deadline wheel.Time

	Vars    TraceVars
	Changed TraceMask

	Err error // for TraceClosed; nil is an orderly end
}

// TraceVars are the traced variables of a connection. Sequence numbers are those on the wire.
type TraceVars struct {
	State    State
	CAState  CAState
	Cwnd     uint32 // bytes; 0 before ESTABLISHED
	Ssthresh uint32
	SndWnd   uint32
	SndUna   Seq
	SndNxt   Seq
	RcvNxt   Seq
	RTO      time.Duration
	SRTT     time.Duration
	RTTVar   time.Duration
}

// TraceMask has a bit for each changed field of TraceVars, in their order.
type TraceMask uint16

const (
	TraceState TraceMask = 1 << iota
	TraceCAState
	TraceCwnd
	TraceSsthresh
	TraceSndWnd
	TraceSndUna
	TraceSndNxt
	TraceRcvNxt
	TraceRTO
	TraceSRTT
	TraceRTTVar
)

// diff returns which fields of v and was differ.
func (v *TraceVars) diff(was *TraceVars) (m TraceMask) {
	set := func(bit TraceMask, changed bool) {
		if changed {
			m |= bit
		}
	}
	set(TraceState, v.State != was.State)
	set(TraceCAState, v.CAState != was.CAState)
	set(TraceCwnd, v.Cwnd != was.Cwnd)
	set(TraceSsthresh, v.Ssthresh != was.Ssthresh)
	set(TraceSndWnd, v.SndWnd != was.SndWnd)
	set(TraceSndUna, v.SndUna != was.SndUna)
	set(TraceSndNxt, v.SndNxt != was.SndNxt)
	set(TraceRcvNxt, v.RcvNxt != was.RcvNxt)
	set(TraceRTO, v.RTO != was.RTO)
	set(TraceSRTT, v.SRTT != was.SRTT)
	set(TraceRTTVar, v.RTTVar != was.RTTVar)
	return m
}

// tracing is an engine's trace state. All events share ev, so that tracing does not allocate.
type tracing struct {
	to      Tracer
	ev      TraceEvent
	sockets map[uint64]*traceSocket // by Socket.ID
}

// traceSocket is the trace state of a connection.
type traceSocket struct {
	vars   TraceVars
	timers map[Slot]traceTimer // running timers
}

type traceTimer struct {
	seq             Seq
	armed, deadline wheel.Time
}

// event starts an event of s, or of no connection.
func (e *Engine) event(s *Socket, kind TraceKind) *TraceEvent {
	ev := &e.trace.ev
	*ev = TraceEvent{T: e.now, Kind: kind}
	if s != nil {
		ev.Conn = s.id
	}
	return ev
}

func (e *Engine) traceOpened(s *Socket) {
	e.trace.sockets[s.id] = &traceSocket{timers: map[Slot]traceTimer{}}
	ev := e.event(s, TraceOpened)
	ev.Local, ev.Remote = s.Local(), s.Remote()
	e.trace.to.Trace(ev)
}

func (e *Engine) traceReceived(s *Socket, p *Packet) {
	ev := e.event(s, TraceReceived)
	if s == nil {
		ev.Local, ev.Remote = p.Dst, p.Src
	}
	ev.Header, ev.Len, ev.CE = p.Header, p.Len, p.CE
	ev.Header.SrcPort, ev.Header.DstPort = p.Src.Port(), p.Dst.Port()
	e.trace.to.Trace(ev)
}

func (e *Engine) traceSent(s *Socket, p *Packet, timed bool, cause tcptimers.Kind) {
	ev := e.event(s, TraceSent)
	if s == nil {
		ev.Local, ev.Remote = p.Src, p.Dst
	}
	ev.Header, ev.Len, ev.ECT, ev.Rexmit = p.Header, p.Len, p.ECT, p.Rexmit
	ev.Timed, ev.Timer = timed, cause
	e.trace.to.Trace(ev)
}

func (e *Engine) traceTimer(s *Socket, kind TraceKind, slot Slot, t traceTimer) {
	ev := e.event(s, kind)
	ev.Timer, ev.Slot, ev.Seq, ev.Armed, ev.Deadline = slot.Kind(), slot, t.seq, t.armed, t.deadline
	e.trace.to.Trace(ev)
}

func (e *Engine) traceExpired(s *Socket, slot Slot) {
	timers := e.trace.sockets[s.id].timers
	t := timers[slot]
	delete(timers, slot)
	e.traceTimer(s, TraceExpired, slot, t)
}

// traceOutput traces the output of a call: variables, then timers, then segments, which are
// completed as in Engine.apply.
func (e *Engine) traceOutput(s *Socket) {
	o, known := &e.out, e.trace.sockets[s.id]
	if vars := traceVars(&s.conn); vars != known.vars {
		ev := e.event(s, TraceUpdated)
		ev.Vars, ev.Changed = vars, vars.diff(&known.vars)
		known.vars = vars
		e.trace.to.Trace(ev)
	}
	for _, op := range o.Timers {
		if op.Start {
			t := traceTimer{traceSegment(&s.conn, op.Slot.segment()), e.now, op.At}
			known.timers[op.Slot] = t
			e.traceTimer(s, TraceArmed, op.Slot, t)
		} else if t, ok := known.timers[op.Slot]; ok {
			delete(known.timers, op.Slot)
			e.traceTimer(s, TraceStopped, op.Slot, t)
		}
	}
	for i := range o.Segments {
		out := &o.Segments[i]
		p := Packet{Header: out.Header, Len: out.Len, ECT: out.ECT, Rexmit: out.Rexmit}
		p.Header.SrcPort, p.Header.DstPort = s.Local().Port(), s.Remote().Port()
		e.traceSent(s, &p, out.Timed, out.Cause)
	}
	if o.Events.Has(EventClosed) {
		ev := e.event(s, TraceClosed)
		ev.Err = s.conn.Err()
		e.trace.to.Trace(ev)
	}
}

// traceVars returns the traced variables of c.
func traceVars(c *Conn) TraceVars {
	v := TraceVars{
		State: c.state, CAState: c.snd.ep.kind,
		SndWnd: c.snd.wnd.Wnd, SndUna: c.snd.una, SndNxt: c.snd.nxt, RcvNxt: c.rcv.nxt(),
		RTO: c.snd.rtt.est.RTO(), SRTT: c.snd.rtt.est.SRTT(), RTTVar: c.snd.rtt.est.RTTVar(),
	}
	if c.snd.established() {
		v.Cwnd, v.Ssthresh = c.snd.cc.Cwnd(), c.snd.cc.Ssthresh()
	}
	return v
}

// traceSegment returns the start of a segment in flight, 0 if there is none.
func traceSegment(c *Conn, id segmentID) Seq {
	if id == 0 || int(id) > len(c.snd.fl.sent.arena) {
		return 0
	}
	return c.snd.fl.sent.seg(id).Seq
}
