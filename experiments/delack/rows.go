package delack

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
)

// Row is what a sender met at a peer: a column for each measure, zero where the kind has none.
type Row struct {
	Kind    string        `json:"kind" help:"arrivals, quantile, wait, grid, remedy, policy or odd"`
	Peer    string        `json:"peer" help:"the receiver's delay of ACKs, in words"`
	Delay   time.Duration `json:"delay_ns" help:"of the peer's timer; 0s is the heartbeat"`
	DelayMS string        `json:"delay_ms" help:"the same as a text in ms, or beat"`
	Seed    int           `json:"seed"`
	RTT     time.Duration `json:"rtt_ns"`
	Burst   int           `json:"burst" unit:"segments"`
	Odd     bool          `json:"odd" help:"whether the burst is"`
	Policy  string        `json:"policy" help:"of policy and odd"`
	Clock   time.Duration `json:"clock_ns" help:"of the round trips, of odd; 0s is exact"`
	Second  bool          `json:"second" help:"whether the floor is on the timeout, not on the variation"`

	Mean     float64 `json:"mean_delay" unit:"ms" help:"of a burst's last ACK; of a quantile its value"`
	P99      float64 `json:"p99_delay" unit:"ms" help:"the 99th percentile"`
	Least    float64 `json:"least_delay" unit:"ms"`
	Greatest float64 `json:"greatest_delay" unit:"ms"`
	Even     float64 `json:"even" help:"p-value of delays that are even over a beat"`
	Quantile float64 `json:"quantile" help:"from 0 to 1, under the first seed"`

	Period time.Duration `json:"period_ns" help:"of a sender that waits"`
	Law    time.Duration `json:"law_ns" help:"what its period should be"`

	Floor    time.Duration `json:"floor_ns" help:"of grid and remedy"`
	Each     bool          `json:"per_segment" help:"a timer per segment, or one timer"`
	Tails    int           `json:"tails" help:"or bursts"`
	Spurious int           `json:"spurious" unit:"tails" help:"with a spurious retransmission"`
	Against  int           `json:"against" unit:"tails" help:"that break the rule"`

	Wait    time.Duration `json:"wait_ns" help:"for the lost last segment, of odd"`
	Without time.Duration `json:"without_floor_ns" help:"the same without a floor"`
}

// ruleOdd has no run of its own: it is ruleLonger for odd bursts and ruleNone for even ones. Even
// bursts come before each burst, so both begin with the same estimate.
const ruleOdd = "longer after odd bursts"

// rows returns the rows of the cells.
func rows(p *Plan, cells []Cell) (all []Row) {
	for _, c := range cells {
		row := Row{
			Kind: string(c.Kind), Peer: fmt.Sprintf("timer of %v", c.Delay), Delay: c.Delay,
			DelayMS: experiments.Number(ms(c.Delay)), Seed: c.Seed, RTT: c.RTT, Burst: c.Burst, Odd: c.Burst%2 == 1,
			Policy: c.Policy, Second: c.Second, Mean: c.Mean, P99: c.P99, Least: c.Least, Greatest: c.Greatest,
			Even: c.KS, Period: c.Period, Law: c.RTT + c.Delay, Wait: c.Wait,
		}
		if c.Delay == 0 {
			row.Peer, row.DelayMS = fmt.Sprintf("heartbeat of %v", p.Heartbeat), "beat"
			row.Law = p.Heartbeat * ((c.RTT + p.Heartbeat - 1) / p.Heartbeat)
		}
		switch c.Kind {
		case kindArrivals:
			all = append(all, row)
			for q, x := range c.Quantiles {
				of := row
				of.Kind, of.Quantile, of.Mean = "quantile", float64(q)/float64(len(c.Quantiles)-1), x
				all = append(all, of)
			}
		case kindWait:
			all = append(all, row)
		case kindOdd:
			all = append(all, p.oddRows(row, &c, cells)...)
		default:
			for _, x := range c.Grid {
				all = append(all, row.with(x))
			}
		}
	}
	return all
}

// with returns the row of a point.
func (r Row) with(x Point) Row {
	r.Floor, r.Each, r.Tails, r.Spurious, r.Against = x.Floor, x.Each, x.Tails, x.Spurious, x.Against
	return r
}

// oddRows returns the row of a cell, and behind one without a floor that of ruleOdd.
func (p *Plan) oddRows(row Row, c *Cell, cells []Cell) []Row {
	for _, clock := range p.OddClocks {
		if c.Policy == clockRule(clock) {
			row.Clock = clock
		}
	}
	row = row.with(c.Grid[0])
	if c.Policy != ruleNone {
		return []Row{row}
	}
	run := c
	if row.Odd {
		for i := range cells {
			x := &cells[i]
			if x.Kind == kindOdd && x.Delay == c.Delay && x.Burst == c.Burst && x.Policy == ruleLonger {
				run = x
			}
		}
	}
	composed := row.with(run.Grid[0])
	composed.Policy, composed.Wait, composed.Without = ruleOdd, run.Wait, c.Wait
	return []Row{row, composed}
}
