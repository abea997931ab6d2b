package tcp

import (
	"fmt"

	"tcpwheel/tcptimers"
)

// Check returns an error if an invariant of c does not hold. It is for tests and costs O(segments
// in flight).
func (c *Conn) Check() error {
	if c.state == StateClosed {
		if c.running().running != 0 || c.snd.fl.sent.Len() != 0 {
			return fmt.Errorf("tcp: closed, with timers %#x and %d segments", c.running().running, c.snd.fl.sent.Len())
		}
		return nil
	}
	if c.snd.una.After(c.snd.nxt) {
		return fmt.Errorf("tcp: SND.UNA %d after SND.NXT %d", c.snd.una-c.snd.iss, c.snd.nxt-c.snd.iss)
	}
	if c.state != StateTimeWait {
		if out, want := c.snd.fl.sent.Outstanding().Bytes, c.snd.nxt.Sub(c.snd.una); out != want {
			return fmt.Errorf("tcp: %d bytes outstanding, SND.NXT-SND.UNA is %d", out, want)
		}
	}
	if !c.snd.writes.finSent && c.snd.nxt.After(c.snd.end) {
		return fmt.Errorf("tcp: SND.NXT %d after what was written, %d", c.snd.nxt-c.snd.iss, c.snd.end-c.snd.iss)
	}
	if err := c.snd.checkFlight(); err != nil {
		return err
	}
	if c.snd.writes.hasRecords {
		for i, end := range c.snd.marks.records {
			if end.After(c.snd.end) || i > 0 && !end.After(c.snd.marks.records[i-1]) {
				return fmt.Errorf("tcp: a record ends at %d, after %d or not in order", end-c.snd.iss, c.snd.end-c.snd.iss)
			}
		}
	}
	if err := c.snd.timer().check(&c.snd); err != nil {
		return err
	}
	if c.state.synchronized() && c.state != StateTimeWait && c.snd.fl.sent.Len() == 0 && !c.snd.allSent() &&
		!c.snd.timers.runs(tcptimers.Persist) && !c.snd.timers.runs(tcptimers.Pacing) {
		return fmt.Errorf("tcp: %d bytes wait to be sent, nothing is in flight, and no timer runs", c.snd.queued())
	}
	return nil
}

// checkFlight compares the sums over the flight with its segments.
func (snd *sender) checkFlight() error {
	var pipe, sacked, lost tally
	waiting := uint32(0)
	seq := snd.una
	for id := snd.fl.sent.Front(); id != 0; id = snd.fl.sent.Next(id) {
		s := snd.fl.sent.Get(id)
		if s.Seq != seq {
			return fmt.Errorf("tcp: segment at %d, want %d", s.Seq-snd.iss, seq-snd.iss)
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
	case pipe != snd.fl.sent.Pipe():
		return fmt.Errorf("tcp: pipe %v, want %v", snd.fl.sent.Pipe(), pipe)
	case sacked != snd.fl.sent.Sacked():
		return fmt.Errorf("tcp: sacked %v, want %v", snd.fl.sent.Sacked(), sacked)
	case lost != snd.fl.sent.Lost():
		return fmt.Errorf("tcp: lost %v, want %v", snd.fl.sent.Lost(), lost)
	case waiting != snd.fl.sent.pendingRexmits():
		return fmt.Errorf("tcp: %d lost segments wait, want %d", snd.fl.sent.pendingRexmits(), waiting)
	}
	return nil
}
