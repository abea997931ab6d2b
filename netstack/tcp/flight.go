package tcp

import (
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/wheel"
)

// flight is what a connection keeps only while something is in flight: most of its memory. An
// engine's connections hand theirs on, through Output, so that those at rest cost little and
// starting anew allocates nothing.
type flight struct {
	sent sentQueue

	l6675      loss6675
	prr        congestion.PRR
	frto       congestion.FRTO
	sndcnt     uint32 // bytes that may be sent by PRR's leave
	rexmitHint Seq    // below it no segment is lost and not retransmitted

	lossAt     wheel.Time // the last timeout that was an event
	timeoutRTO time.Duration
	probedAt   wheel.Time // when the loss probe left that is in flight
	rexmitAt   wheel.Time // when the only retransmission timer expires, if it runs
	probeAt    wheel.Time // when the loss probe is due, if its timer runs
	timedAt    wheel.Time // when the segment left that is being timed: Policy.OneSample

	delAckEvidence delAckEvidence // Policy.AckEvidence
	probeEarly     bool           // the loss probe is due early
}

// atRest is the flight of all connections that have nothing in flight. It is never written.
var atRest flight

const (
	maxSpareFlights = 64      // that an Output keeps
	maxSpareArena   = 1 << 12 // segments that one of them has room for
)

// needFlight gives c a flight of its own, if it has none.
func (c *Conn) needFlight(o *Output) {
	if c.fl != &atRest {
		return
	}
	if n := len(o.spareFlights); n > 0 {
		c.fl = o.spareFlights[n-1]
		o.spareFlights = o.spareFlights[:n-1]
	} else {
		c.fl = new(flight)
	}
	c.fl.sent.max = uint32(c.cfg.MaxSegments)
	c.fl.l6675.SMSS = max(c.mss, 1)
	c.fl.rexmitHint = c.sndNxt
}

// returnFlight gives the flight back, when nothing is left of it. Output.Reset makes it fit for
// others.
func (c *Conn) returnFlight(o *Output) {
	o.returnedFlights = append(o.returnedFlights, c.fl)
	c.fl = &atRest
}

// reuseFlights makes the flights that were given back fit for other connections.
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
