package tcp

import (
	"fmt"

	"tcpwheel/tcptimers"
)

// Check returns an error if an invariant of c does not hold. It is for tests and costs O(segments
// in flight).
func (c *Conn) Check() error {
	if c.state == StateClosed {
		if c.life.all(c).running != 0 || c.snd.fl.sent.Len() != 0 {
			return fmt.Errorf("tcp: closed, with timers %#x and %d segments", c.life.all(c).running, c.snd.fl.sent.Len())
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
	if err := c.snd.fl.check(c.snd.una, c.snd.iss); err != nil {
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
