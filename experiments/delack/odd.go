package delack

import (
	"fmt"
	"time"

	"tcpwheel/experiments/internal/testbed"
)

// rule is the timers of a sender of odd bursts and even ones.
type rule struct {
	name   string
	timers testbed.Timers
}

// The names of the rules that run.
const (
	ruleNone   = "no floor"
	ruleLonger = "longer timeout"
	ruleFloor  = "floor"
)

// clockRule names a sender without a floor on a coarse clock.
func clockRule(clock time.Duration) string { return fmt.Sprintf("no floor, clock of %v", clock) }

// rules returns the senders towards a peer with a delay.
func (p *Plan) rules(delay time.Duration) []rule {
	all := []rule{
		{ruleNone, floored(1, true, false)},
		{ruleLonger, floored(delay+p.Tick, false, false)},
		{ruleFloor, floored(p.OddFloor, true, false)},
	}
	for _, clock := range p.OddClocks {
		tm := floored(1, true, false)
		tm.Policy.RTTTick = clock
		all = append(all, rule{clockRule(clock), tm})
	}
	return all
}

// odd counts spurious bursts of a size, and then loses the last segment of one.
func odd(p *Plan, c *Cell) error {
	for _, r := range p.rules(c.Delay) {
		if r.name != c.Policy {
			continue
		}
		pt := Point{}
		if err := tails(p, c, r.timers, c.Delay, &pt); err != nil {
			return err
		}
		c.Grid = []Point{pt}
		b, err := newBed(p, c, r.timers, c.Delay, nil)
		if err != nil {
			return err
		}
		b.evens(p, 0)
		begin := b.now()
		b.lose = b.session.Wrote() + uint64(c.Burst*mss)
		b.burst(c.Burst)
		b.run(time.Minute)
		c.Wait = b.again.Sub(begin)
		if b.session.Unacked() > 0 || c.Wait <= 0 {
			return fmt.Errorf("burst of %d: the lost segment was not repaired", c.Burst)
		}
		return b.faults()
	}
	return fmt.Errorf("no rule %q", c.Policy)
}
