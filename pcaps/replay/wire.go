package replay

import (
	"iter"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// WireOutcome is what an engine did that was fed what an end received.
type WireOutcome struct {
	Want, Got []Event // what the end sent in the capture, and the engine

	// First is how many first transmissions of bytes the capture has, and FirstRight how many of
	// them the engine made within 1 ms of then; Retransmissions and RetransmissionsRight are the
	// others.
	First, FirstRight                     int
	Retransmissions, RetransmissionsRight int
	Median, P95                           time.Duration // how far they are off, all of them
	// transmissions of the engine that the capture does not have
	More int

	Divergence *WirePair // the first that the engine has not sent, or more than 1 ms off
}

// CanWire returns the Refusal of Wire, nil if it has none.
func (s *CapturedConn) CanWire() error {
	if s.facts == nil {
		return refuse("the connection was not read from a capture")
	}
	if !s.handshake {
		return refuse("the capture does not have the whole handshake: begin to capture before the connection opens")
	}
	return nil
}

// Wire runs one end, 0 for the client, as an engine under the policy that is fed the captured
// packets of the other end when they arrived, in an open loop: nothing that the engine does changes
// what it hears. Its application is the captured one. It needs the handshake.
func (s *CapturedConn) Wire(end int, o Options) (*WireOutcome, error) {
	if err := s.CanWire(); err != nil {
		return nil, err
	}
	net, err := sim.NewNetwork[struct{}](sim.Config{})
	if err != nil {
		return nil, err
	}
	w := &wireRun{}
	e, err := s.newEnd(end, &o, timers{o.Policy}, net, w)
	if err != nil {
		return nil, err
	}
	e.acks = nil // no peer hears them
	w.feeder = newFeeder(e)
	w.feeder.stamps = []wheel.Time{}
	if end == 0 {
		once(net, s.Begin, e.dial)
	}
	w.feeder.start()
	limit := s.End.Add(lingering)
	for n := eventsMore + eventsEach*s.facts.Len(); n > 0 && net.Now() < limit && net.Step(); n-- {
	}
	return s.compareWire(end, w.log), nil
}

// wireRun is an open loop at work.
type wireRun struct {
	feeder *feeder
	log    []Event
}

// carry implements carrier: the engine has sent a packet.
func (w *wireRun) carry(now wheel.Time, e *end, o *outgoing) {
	if o.header.Flags.Has(tcp.RST) {
		return
	}
	w.feeder.stamps = append(w.feeder.stamps, now)
	w.log = append(w.log, Event{
		At: now, Flow: e.side, Flags: o.header.Flags, Start: uint64(max(o.start, 0)), End: uint64(max(o.end, 0)), Ack: uint64(max(o.ack, 0)),
	})
}

// compareWire holds what the engine sent against what the captured end sent.
func (s *CapturedConn) compareWire(end int, log []Event) *WireOutcome {
	out := &WireOutcome{Got: log}
	half := s.Ends[end].Half / 2
	for e := range s.captured() {
		if e.Flow == end {
			e.At = e.At.Add(-half)
			out.Want = append(out.Want, e)
		}
	}
	var off []time.Duration
	for _, p := range out.Pairs() {
		if p.Want == nil {
			out.More++
			continue
		}
		if d, ok := p.Off(); ok {
			off = append(off, d.Abs())
		}
		n, right := &out.First, &out.FirstRight
		if p.Try > 1 {
			n, right = &out.Retransmissions, &out.RetransmissionsRight
		}
		*n++
		if p.Right() {
			*right++
		} else if out.Divergence == nil {
			out.Divergence = &p
		}
	}
	out.Median, out.P95 = Quantile(off, 0.5), Quantile(off, 0.95)
	return out
}

// Detected returns how long after the n-th transmission of the byte at start the next one left the
// engine, and when, and whether there was one.
func (o *WireOutcome) Detected(start uint64, n int) (after time.Duration, at wheel.Time, ok bool) {
	before := wheel.Time(0)
	for _, e := range o.Got {
		if e.Start > start || e.End <= start {
			continue
		}
		if n--; n < 0 {
			return e.At.Sub(before), e.At, true
		}
		before = e.At
	}
	return 0, 0, false
}

// captured yields the packets as the point of capture saw them, in segments, without keepalives.
func (s *CapturedConn) captured() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for _, x := range s.facts.All() {
			if !x.Counts() || x.Kind == track.ResetSeen {
				continue
			}
			e := Event{At: s.Instant(x.Seen), Flow: int(x.Flow), Ack: uint64(max(x.Ack, 0))}
			for start := x.Start; ; start = int64(e.End) {
				end := x.SegmentEnd(start, s.segments[x.Flow])
				e.Start, e.End, e.Flags = uint64(start), uint64(end), x.Flags
				if end < x.End() {
					e.Flags &^= tcp.PSH | tcp.FIN
				}
				if !yield(e) {
					return
				}
				if end == x.End() {
					break
				}
			}
		}
	}
}

// Wire runs the ends that had losses in open loops, under a choice. What an end cannot do is nil.
func (st *Study) Wire(r *Result, choice int) (ends [2]*WireOutcome, err error) {
	p, ok, err := st.Choices[choice].of(r)
	if err != nil || !ok || r.Captured.CanWire() != nil {
		return ends, err
	}
	for _, l := range r.Captured.Losses {
		if ends[l.Flow] != nil {
			continue
		}
		if ends[l.Flow], err = r.Captured.Wire(l.Flow, Options{Policy: p, Congestion: st.Congestion}); err != nil {
			return ends, err
		}
	}
	return ends, nil
}
