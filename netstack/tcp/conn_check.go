package tcp

import (
	"fmt"

	"tcpwheel/tcptimers"
)

// Check returns an error if an invariant of c does not hold. It is for tests and costs O(segments
// in flight).
func (c *Conn) Check() error {
	if c.state == StateClosed {
		if c.timers.running != 0 || c.fl.sent.Len() != 0 {
			return fmt.Errorf("tcp: closed, with timers %#x and %d segments", c.timers.running, c.fl.sent.Len())
		}
		return nil
	}
	if c.sndUna.After(c.sndNxt) {
		return fmt.Errorf("tcp: SND.UNA %d after SND.NXT %d", c.sndUna-c.iss, c.sndNxt-c.iss)
	}
	if c.state != StateTimeWait {
		if out, want := c.fl.sent.Outstanding().Bytes, c.sndNxt.Sub(c.sndUna); out != want {
			return fmt.Errorf("tcp: %d bytes outstanding, SND.NXT-SND.UNA is %d", out, want)
		}
	}
	if !c.finSent && c.sndNxt.After(c.sndEnd) {
		return fmt.Errorf("tcp: SND.NXT %d after what was written, %d", c.sndNxt-c.iss, c.sndEnd-c.iss)
	}
	if err := c.checkFlight(); err != nil {
		return err
	}
	if c.hasRecords {
		for i, end := range c.rare.records {
			if end.After(c.sndEnd) || i > 0 && !end.After(c.rare.records[i-1]) {
				return fmt.Errorf("tcp: a record ends at %d, after %d or not in order", end-c.iss, c.sndEnd-c.iss)
			}
		}
	}
	if err := c.timer().check(c); err != nil {
		return err
	}
	if c.state.synchronized() && c.state != StateTimeWait && c.fl.sent.Len() == 0 && !c.allSent() &&
		!c.timers.runs(tcptimers.Persist) && !c.timers.runs(tcptimers.Pacing) {
		return fmt.Errorf("tcp: %d bytes wait to be sent, nothing is in flight, and no timer runs", c.queued())
	}
	return nil
}

// checkFlight compares the sums over the flight with its segments.
func (c *Conn) checkFlight() error {
	var pipe, sacked, lost tally
	waiting := uint32(0)
	seq := c.sndUna
	for id := c.fl.sent.Front(); id != 0; id = c.fl.sent.Next(id) {
		s := c.fl.sent.Get(id)
		if s.Seq != seq {
			return fmt.Errorf("tcp: segment at %d, want %d", s.Seq-c.iss, seq-c.iss)
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
	case pipe != c.fl.sent.Pipe():
		return fmt.Errorf("tcp: pipe %v, want %v", c.fl.sent.Pipe(), pipe)
	case sacked != c.fl.sent.Sacked():
		return fmt.Errorf("tcp: sacked %v, want %v", c.fl.sent.Sacked(), sacked)
	case lost != c.fl.sent.Lost():
		return fmt.Errorf("tcp: lost %v, want %v", c.fl.sent.Lost(), lost)
	case waiting != c.fl.sent.pendingRexmits():
		return fmt.Errorf("tcp: %d lost segments wait, want %d", c.fl.sent.pendingRexmits(), waiting)
	}
	return nil
}
