package tcp

import (
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
