package replay

import (
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// ackers are the ways of acknowledging that are tried: the likelier ones first, as the first of equals is taken.
var ackers = func() (all []tcptimers.DelAckConfig) {
	const ms = time.Millisecond
	for _, quick := range []int{16, 0, 1, 4, 8, 32, 64} {
		all = append(all,
			tcptimers.DelAckConfig{Every: 2, Quick: quick, Delay: 40 * ms, Min: 40 * ms, Max: 200 * ms},
			tcptimers.DelAckConfig{Every: 2, Quick: quick, Delay: 40 * ms, Min: 40 * ms, Max: 40 * ms},
		)
	}
	all = append(all, tcptimers.DelAckConfig{Every: 1})
	for _, delay := range []time.Duration{100 * ms, 200 * ms, 50 * ms, 20 * ms, 10 * ms, 500 * ms} {
		for _, quick := range []int{0, 1, 16} {
			all = append(all, tcptimers.DelAckConfig{Every: 2, Quick: quick, Delay: delay, Min: delay, Max: delay})
		}
	}
	return append(all, tcptimers.DelAckConfig{Every: 2, Heartbeat: 200 * ms, Max: 200 * ms})
}()

// acknowledging finds the policy that tells best when an end acknowledged, and the share of its ACKs that it tells.
func (m *maker) acknowledging(d int) (best tcptimers.DelAckConfig, right float64) {
	best, right = ackers[0], -1
	candidates := ackers
	if delay := m.conn.Flows[1-d].Delayed; delay.Count >= 5 && delay.Timer == "fixed" {
		// A delay that none of the usual ones is.
		c := tcptimers.DelAckConfig{Every: 2, Quick: 0, Delay: delay.Median, Min: delay.Median, Max: delay.Median}
		if c.Max <= 500*time.Millisecond {
			candidates = append(slices.Clone(ackers), c)
		}
	}
	for _, c := range candidates {
		if share := m.foretold(d, &c); share > right {
			best, right = c, share
		}
	}
	return best, max(right, 0)
}

// foretold returns the share of an end's bare ACKs that a policy tells: that were sent within 2 ms of then, and are for the same octets.
func (m *maker) foretold(d int, c *tcptimers.DelAckConfig) float64 {
	hits, all := m.simulate(d, c)
	return float64(hits) / float64(max(all, 1))
}

// simulate has an end acknowledge what it received. It returns how many of its bare ACKs the policy tells, of how many, or if they are
// more, of how many that it tells of.
func (m *maker) simulate(d int, c *tcptimers.DelAckConfig) (hits, all int) {
	var (
		delack  tcp.DelAck
		got     prefix
		due     wheel.Time
		pending bool
		told    []Event
	)
	fire := func(at wheel.Time) {
		told = append(told, Event{At: at, Ack: uint64(got.end)})
		delack.OnAckSent()
		pending = false
	}
	timeout := func(now wheel.Time) {
		if pending && due <= now {
			if delack.OnTimeout(c) == tcp.AckNow {
				fire(due)
			}
			pending = false
		}
	}
	next := 0
	for _, x := range m.deeds[d] {
		timeout(x.at)
		switch {
		case x.reset || x.start == 0:
			if x.data {
				got.add(x.start, x.end)
			}
		case !x.sends && x.data:
			gap, filled, twice := got.add(x.start, x.end)
			size := m.ways[1-d].size
			for n := x.end - x.start; n > 0; n -= size {
				when, delay := delack.OnSegment(x.at, c, tcp.SegmentIn{
					Len: uint32(min(n, size)), PSH: x.push, FIN: x.fin && n <= size, Duplicate: twice, FilledGap: filled, Gap: gap,
				})
				switch when {
				case tcp.AckNow:
					fire(x.at)
				case tcp.AckDelayed:
					pending, due = true, x.at.Add(delay)
					if beat := wheel.Time(c.Heartbeat); beat > 0 {
						due = (x.at/beat + 1) * beat
					}
				}
			}
		case x.sends && x.data:
			if x.ack > 0 {
				delack.OnAckSent()
				pending = false
			}
		case x.sends && x.ack > 1:
			all++
			slack := 2 * time.Millisecond
			for next < len(told) && told[next].At < x.at.Add(-slack) {
				next++
			}
			for k := next; k < len(told) && told[k].At <= x.at.Add(slack); k++ {
				if told[k].Ack == uint64(x.ack) {
					hits++
					next = k + 1
					break
				}
			}
			if pending && got.end == x.ack && due < x.at.Add(2*slack) && due > x.at.Add(-slack) {
				hits++ // by a timer that is a little late
				delack.OnTimeout(c)
				delack.OnAckSent()
				pending = false
				told = append(told, Event{At: x.at, Ack: uint64(x.ack)})
				next = len(told)
			}
		}
	}
	return hits, max(all, len(told))
}
