package tcp

import (
	"fmt"
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/wheel"
)

// flight is the state that a connection needs only while data is in flight: most of its memory. The
// connections of an engine reuse flights through Output, so idle ones cost little and a new flight
// allocates nothing.
type flight struct {
	sent sentQueue

	l6675      loss6675
	prr        congestion.PRR
	frto       congestion.FRTO
	use        windowUse
	rate       rateSample
	sndcnt     uint32 // bytes that PRR still allows
	rexmitHint Seq    // no segment below it waits to be retransmitted

	lossDelivered uint32 // segments that had been delivered at lossAt, see Conn.delivered

	lossAt     wheel.Time // the last timeout that counted as an event
	timeoutRTO time.Duration
	probedAt   wheel.Time // when the loss probe in flight was sent
	rexmitAt   wheel.Time // expiry of the single retransmission timer, or of the last segment's
	probeAt    wheel.Time // expiry of the loss probe timer, if it runs
	timedAt    wheel.Time // Policy.OneSample: when the timed segment was sent
	timedSeq   Seq        // where it begins

	delAckEvidence delAckEvidence // Policy.AckEvidence
	probeEarly     bool           // ACK evidence shortened the probe timeout
}

// atRest is the shared flight of all connections with nothing in flight. It is never written.
var atRest flight

const (
	maxSpareFlights = 64      // unused flights that an Output keeps
	maxSpareArena   = 1 << 12 // capacity of a kept flight, segments
)

// needFlight gives c its own flight, if it has none.
func (snd *sender) needFlight(o *Output) {
	if snd.fl != &atRest {
		return
	}
	if n := len(o.spareFlights); n > 0 {
		snd.fl = o.spareFlights[n-1]
		o.spareFlights = o.spareFlights[:n-1]
	} else {
		snd.fl = new(flight)
	}
	snd.fl.sent.max = uint32(snd.cfg.MaxSegments)
	snd.fl.l6675.SMSS = max(snd.mss, 1)
	snd.fl.rexmitHint = snd.nxt
}

// returnFlight returns c's empty flight. Output.Reset makes it reusable.
func (snd *sender) returnFlight(o *Output) {
	// The segment that Policy.OneSample timed may have been acknowledged together with a
	// retransmission, and was not measured then.
	snd.rtt.timed = false
	o.returnedFlights = append(o.returnedFlights, snd.fl)
	snd.fl = &atRest
}

// dropFlight empties the flight. Its timers are stopped already.
func (snd *sender) dropFlight(o *Output) {
	if snd.fl != &atRest {
		snd.fl.sent.Ack(snd.nxt, nil)
		snd.returnFlight(o)
	}
}

// reuseFlights prepares the returned flights for other connections.
func (o *Output) reuseFlights() {
	for i, f := range o.returnedFlights {
		o.returnedFlights[i] = nil
		f.sent.recycle()
		if len(f.sent.arena) <= maxSpareArena && len(o.spareFlights) < maxSpareFlights {
			*f = flight{sent: f.sent}
			o.spareFlights = append(o.spareFlights, f)
		}
	}
	o.returnedFlights = o.returnedFlights[:0]
}

// markLost marks segment id lost.
func (f *flight) markLost(id segmentID) {
	f.lowerRexmitHint(id)
	f.sent.MarkLost(id)
}

// lowerRexmitHint must be called before segment id is marked lost.
func (f *flight) lowerRexmitHint(id segmentID) {
	if s := f.sent.seg(id); s.Seq.Before(f.rexmitHint) || f.sent.pendingRexmits() == 0 {
		f.rexmitHint = s.Seq
	}
}

// nextToRexmit returns the first segment that is lost and not yet retransmitted, 0 if there is
// none.
func (f *flight) nextToRexmit() segmentID {
	if f.sent.pendingRexmits() == 0 {
		return 0
	}
	if id := f.toRexmitFrom(f.sent.Find(MaxSeq(f.rexmitHint, f.sent.seg(f.sent.Front()).Seq))); id != 0 {
		return id
	}
	// The hint was too high: search once from the start.
	if id := f.toRexmitFrom(f.sent.Front()); id != 0 {
		return id
	}
	panic("BUG: a lost segment that waits is not found")
}

// toRexmitFrom is nextToRexmit from segment id on. It moves the hint to the segment it returns.
func (f *flight) toRexmitFrom(id segmentID) segmentID {
	for id = f.sent.nextUnsacked(id); id != 0; id = f.sent.nextUnsacked(f.sent.seg(id).next) {
		if s := f.sent.seg(id); s.state.needsRexmit() {
			f.rexmitHint = s.Seq
			return id
		}
	}
	return 0
}

// wholeSegments returns the part of a SACK block, inside the flight, that covers whole segments; an
// empty range if none.
func (f *flight) wholeSegments(b SeqRange) SeqRange {
	if id := f.sent.Find(b.Start); id != 0 {
		if s := f.sent.seg(id); s.Seq != b.Start {
			b.Start = s.End()
		}
	}
	if id := f.sent.Find(b.End); id != 0 {
		b.End = f.sent.seg(id).Seq
	}
	if !b.Start.Before(b.End) {
		return SeqRange{}
	}
	return b
}

// sackedAt reports whether the segment in flight with sequence number seq is SACKed.
func (f *flight) sackedAt(seq Seq) bool {
	id := f.sent.Find(seq)
	return id != 0 && f.sent.seg(id).Sacked()
}

// check compares the sums over the flight with its segments. una is SND.UNA.
func (f *flight) check(una, iss Seq) error {
	var pipe, sacked, lost tally
	waiting := uint32(0)
	seq := una
	for id := f.sent.Front(); id != 0; id = f.sent.Next(id) {
		s := f.sent.Get(id)
		if s.Seq != seq {
			return fmt.Errorf("tcp: segment at %d, want %d", s.Seq-iss, seq-iss)
		}
		seq = s.End()
		switch {
		case s.Sacked():
			sacked.add(s.Len)
		default:
			if !s.Lost() {
				pipe.add(s.Len)
			}
			if s.RetransOut() {
				pipe.add(s.Len)
			}
		}
		if s.Lost() {
			lost.add(s.Len)
		}
		if s.state.needsRexmit() {
			waiting++
		}
	}
	switch {
	case pipe != f.sent.Pipe():
		return fmt.Errorf("tcp: pipe %v, want %v", f.sent.Pipe(), pipe)
	case sacked != f.sent.Sacked():
		return fmt.Errorf("tcp: sacked %v, want %v", f.sent.Sacked(), sacked)
	case lost != f.sent.Lost():
		return fmt.Errorf("tcp: lost %v, want %v", f.sent.Lost(), lost)
	case waiting != f.sent.pendingRexmits():
		return fmt.Errorf("tcp: %d lost segments wait, want %d", f.sent.pendingRexmits(), waiting)
	}
	return nil
}
