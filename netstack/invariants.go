package netstack

import (
	"fmt"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// checkInvariants panics if an invariant of the connection does not hold: see
// Config.CheckInvariants. The caller holds the baton and the lock.
func checkInvariants(e *Endpoint) {
	err := e.conn.Check()
	if err == nil {
		err = checkQueues(e)
	}
	if err == nil {
		err = checkTimers(e)
	}
	if err != nil {
		id := e.info.ID
		panic(fmt.Sprintf("BUG: %v in %v: %v", addrPort(id.LocalAddress, id.LocalPort), e.conn.State(), err))
	}
}

// checkQueues compares the queues with the engine's sequence numbers.
func checkQueues(e *Endpoint) error {
	acked, snd, rcv := e.conn.Acked(), &e.snd, &e.rcv
	switch {
	case snd.start != acked || snd.end < acked:
		return fmt.Errorf("netstack: the send queue holds bytes %d to %d, but %d are acknowledged", snd.start, snd.end, acked)
	case e.closed:
		return nil // Close dropped the received data
	case rcv.end != e.conn.Received():
		return fmt.Errorf("netstack: the receive queue ends at byte %d, want %d", rcv.end, e.conn.Received())
	}
	at, held := rcv.end, 0
	for i := range rcv.later {
		c := &rcv.later[i]
		held += int(c.data.Size())
		// The first chunk begins after a gap, and each chunk after the end of the previous one.
		if c.start < at || i == 0 && c.start == at || c.data.Size() == 0 {
			return fmt.Errorf("netstack: out-of-order chunk of %d bytes at %d, after a chunk that ends at %d", c.data.Size(), c.start, at)
		}
		at = c.end()
	}
	if held != rcv.held {
		return fmt.Errorf("netstack: %d bytes out of order, counted as %d", held, rcv.held)
	}
	return nil
}

// checkTimers compares the running timers with the engine: one for each segment in flight that is
// not SACKed, and perhaps one for a first one that is; or one for all.
func checkTimers(e *Endpoint) error {
	s := e.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || e.conn.State() == tcp.StateClosed {
		return nil
	}
	info := e.conn.Info(e.now)
	flight, missing := int(info.Unacked), int(info.Unacked-info.Sacked)
	t := e.timers
	if t == nil {
		if flight > 0 {
			return fmt.Errorf("netstack: %d segments in flight without a timer", flight)
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
	if e.conn.Config().Policy.SharedTimer {
		one = one || t.kinds[tcptimers.TLP].state != timerIdle || t.kinds[tcptimers.Reorder].state != timerIdle
	}
	switch {
	case s.owners[t.index] != e:
		return fmt.Errorf("netstack: the timers of owner %d belong to another connection", t.index)
	case kinds+segments != t.busy:
		return fmt.Errorf("netstack: %d running timers, want %d", kinds+segments, t.busy)
	case segments != missing && segments != min(missing+1, flight) && !(segments == 0 && one) && e.conn.State() != tcp.StateTimeWait:
		return fmt.Errorf("netstack: %d segments in flight have %d timers, want %d", flight, segments, missing)
	}
	return nil
}
