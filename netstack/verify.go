package netstack

import (
	"fmt"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// verify panics if an invariant of the connection does not hold at the end of a pass: see Config.CheckInvariants. The caller has the baton and
// the lock.
func (e *Endpoint) verify() {
	err := e.conn.Check()
	if err == nil {
		err = e.checkQueues()
	}
	if err == nil {
		err = e.checkTimers()
	}
	if err != nil {
		id := e.info.ID
		panic(fmt.Sprintf("BUG: %v in %v: %v", end(id.LocalAddress, id.LocalPort), e.conn.State(), err))
	}
}

// checkQueues compares what is queued with what the connection knows of it.
func (e *Endpoint) checkQueues() error {
	acked, snd, rcv := e.conn.Acked(), &e.snd, &e.rcv
	switch {
	case snd.start != acked || snd.end < acked:
		return fmt.Errorf("netstack: octets %d to %d wait to be acknowledged, and %d are", snd.start, snd.end, acked)
	case e.closed:
		return nil // what was received is dropped
	case rcv.end != e.conn.Received():
		return fmt.Errorf("netstack: %d octets were received in order, want %d", rcv.end, e.conn.Received())
	}
	at := rcv.end
	for i := range rcv.later {
		c := &rcv.later[i]
		// The first chunk begins after a gap, and none before the end of the one before it.
		if c.start < at || i == 0 && c.start == at || c.data.Size() == 0 {
			return fmt.Errorf("netstack: %d octets at %d out of order, after %d", c.data.Size(), c.start, at)
		}
		at = c.end()
	}
	return nil
}

// checkTimers compares the timers in the wheel with what the connection wants: one for each segment in flight, or one for all.
func (e *Endpoint) checkTimers() error {
	s := e.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || e.conn.State() == tcp.StateClosed {
		return nil
	}
	flight := int(e.conn.Info(e.now).Unacked)
	t := e.timers
	if t == nil {
		if flight > 0 {
			return fmt.Errorf("netstack: %d segments in flight and no timer at all", flight)
		}
		return nil
	}
	kinds, segments := 0, 0
	for i := range t.kinds {
		if t.kinds[i].state != timerIdle {
			kinds++
		}
	}
	for i := range t.segments {
		if t.segments[i].state != timerIdle {
			segments++
		}
	}
	one := t.kinds[tcptimers.Rexmit].state != timerIdle
	switch {
	case s.owners[t.index] != e:
		return fmt.Errorf("netstack: the timers of owner %d are another's", t.index)
	case kinds+segments != t.busy:
		return fmt.Errorf("netstack: %d timers run, want %d", kinds+segments, t.busy)
	case segments != flight && !(segments == 0 && one) && e.conn.State() != tcp.StateTimeWait:
		return fmt.Errorf("netstack: %d segments in flight, with %d timers of their own", flight, segments)
	}
	return nil
}
