package delack

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel/stat"
)

// rule is the timers of a sender of odd bursts and even ones.
type rule struct {
	name   string
	timers testbed.Timers
}

// The names of the rules. ruleOdd has no run of its own: it is ruleLonger for odd bursts and
// ruleNone for even ones. Even bursts come before each burst, so both begin with the same estimate.
const (
	ruleNone   = "no floor"
	ruleLonger = "longer timeout"
	ruleFloor  = "floor"
	ruleOdd    = "longer after odd bursts"
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

// oddCells returns the cells of a rule, and of either parity: 1 is odd.
func oddCells(cells []Cell, delay time.Duration, name string, parity int) []Cell {
	return experiments.Select(of(cells, kindOdd), func(c *Cell) bool {
		run := name
		if run == ruleOdd {
			run = []string{ruleNone, ruleLonger}[c.Burst%2]
		}
		return c.Delay == delay && c.Policy == run && c.Burst%2 == parity
	})
}

// meanWait returns the mean wait of cells, in ms.
func meanWait(cells []Cell) float64 {
	return stat.Mean(experiments.Values(cells, func(c *Cell) float64 { return ms(c.Wait) }))
}

// allPoints returns the points of cells.
func allPoints(cells []Cell) []Point { return points(cells, func(*Cell, *Point) bool { return true }) }

// oddNames returns the names of the rules, the composed one included.
func (p *Plan) oddNames() []string {
	all := []string{ruleNone, ruleOdd, ruleLonger, ruleFloor}
	for _, clock := range p.OddClocks {
		all = append(all, clockRule(clock))
	}
	return all
}

func oddTable(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "odd", Title: fmt.Sprintf("Bursts with a spurious retransmission, and the wait for a lost last segment; the floor is %v", p.OddFloor),
		Columns: []string{"receiver", "sender", "odd bursts, %", "even bursts, %", "odd bursts, mean wait, ms", "even bursts, mean wait, ms"},
	}
	for _, delay := range p.Delays {
		for _, name := range p.oddNames() {
			one, two := oddCells(cells, delay, name, 1), oddCells(cells, delay, name, 0)
			t.Add(peerName(p, delay), name, share(allPoints(one)), share(allPoints(two)), meanWait(one), meanWait(two))
		}
	}
	return t
}

func oddFigure(p *Plan, cells []Cell) figure.Figure {
	f := figure.Figure{
		Name: "odd", Title: fmt.Sprintf("The wait for the last segment of a burst, if it is lost; ACKs wait %v", p.Delays[0]),
		X: figure.Axis{Label: "segments of the burst"}, Y: figure.Axis{Label: "until its retransmission, ms", Log: true},
		Caption: fmt.Sprintf("Without a floor each odd burst has a spurious retransmission, if nothing is lost. A floor of %v avoids it and costs each loss. "+
			"A longer timeout after odd bursts avoids it too, and costs odd bursts alone.", p.OddFloor),
	}
	for _, name := range []string{ruleNone, ruleOdd, ruleFloor} {
		s := figure.Series{Name: name, Kind: figure.Line}
		for _, burst := range p.OddBursts {
			for _, c := range oddCells(cells, p.Delays[0], name, burst%2) {
				if c.Burst == burst {
					s.Add(float64(burst), ms(c.Wait))
				}
			}
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// oddClaims judges the rule of Psaras and Tsaoussidis.
func oddClaims(p *Plan, cells []Cell) []experiments.Claim {
	const source, again = "Psaras and Tsaoussidis, Computer Networks 53, 2009, summary", "the delayed ACK is not the only cause, or the receiver counts segments otherwise"
	if len(of(cells, kindOdd)) == 0 {
		return nil
	}
	var without, with, longer experiments.Tally
	count := func(t *experiments.Tally, cells []Cell, spurious bool) {
		for _, x := range allPoints(cells) {
			t.Cases += x.Tails
			t.Exceptions += x.Spurious
			if spurious {
				t.Exceptions += x.Tails - 2*x.Spurious
			}
		}
	}
	slower, costs := 0.0, ""
	for _, delay := range p.Delays {
		for parity := range 2 {
			none, odd := oddCells(cells, delay, ruleNone, parity), oddCells(cells, delay, ruleOdd, parity)
			count(&without, none, parity == 1)
			count(&with, odd, false)
			for i := range odd {
				want := time.Duration(parity) * (delay + p.Tick)
				longer.Add((odd[i].Wait - none[i].Wait - want).Abs() < p.Tick)
			}
		}
		slower = max(slower, meanWait(oddCells(cells, delay, ruleOdd, 0))/meanWait(oddCells(cells, delay, ruleFloor, 0)))
	}
	claims := []experiments.Claim{
		{Name: "odd-bursts", Class: experiments.Law, Text: "without a floor each odd burst has a spurious retransmission, and no even one",
			Measured: without.Measure("bursts off"), Expected: experiments.None(), Otherwise: again},
		{Name: "odd-rule", Class: experiments.OfOthers, Text: "without a floor and with a longer timeout after odd bursts alone, no timeout is spurious", Published: "extend the timeout after odd bursts, and have no floor",
			Source: source, Tag: experiments.FromPrint, Basis: "no number was read: none at all", Measured: with.Measure("bursts"), Expected: experiments.None(), Otherwise: again},
		{Name: "odd-cost", Class: experiments.Law, Text: "a lost last segment waits longer under that rule by the delay and a tick in odd bursts, and no longer in even ones",
			Measured: longer.Measure("bursts off; even bursts wait %s %% of what a floor of %v costs, at most", experiments.Number(100*slower), p.OddFloor), Expected: experiments.None(), Otherwise: "the loss changes which timer repairs it"},
	}
	if len(p.OddClocks) > 0 {
		ratio := func(name string) float64 {
			return meanWait(oddCells(cells, p.Delays[0], ruleFloor, 0)) / meanWait(oddCells(cells, p.Delays[0], name, 0))
		}
		first := ratio(ruleNone)
		costs = fmt.Sprintf("%s times the wait without a floor", experiments.Number(first))
		falls := true
		for _, clock := range p.OddClocks {
			next := ratio(clockRule(clock))
			falls, first = falls && next < first, next
			costs += fmt.Sprintf(", %s with a clock of %v", experiments.Number(next), clock)
		}
		claims = append(claims, experiments.Claim{Name: "odd-clocks", Class: experiments.OfOthers, Text: fmt.Sprintf("a coarser clock hides the cost of a floor of %v", p.OddFloor), Published: "a coarse clock hides what the floor costs",
			Source: source, Tag: experiments.FromPrint, Basis: "the order as printed", Measured: experiments.MeasuredText("%s", costs),
			Expected: experiments.Whether(falls, "less with each coarser clock"), Otherwise: "the clock does not lengthen the timeout"})
	}
	return claims
}
