package delack

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
)

// Row is what a sender met at a peer: a column for each measure, zero where the kind has none.
type Row struct {
	Cell
	Point
	Peer     string        `json:"peer" help:"the receiver's delay of ACKs, in words"`
	DelayMS  string        `json:"delay_ms" help:"the delay as a text in ms, or beat"`
	Odd      bool          `json:"odd" help:"whether the burst is"`
	Clock    time.Duration `json:"clock_ns" help:"of the round trips, of odd; 0s is exact"`
	Quantile float64       `json:"quantile" help:"from 0 to 1, under the first seed"`
	Law      time.Duration `json:"law_ns" help:"what the period of a sender that waits should be"`
	Without  time.Duration `json:"without_floor_ns" help:"the wait without a floor"`
}

// ruleOdd has no run of its own: it is ruleLonger for odd bursts and ruleNone for even ones. Even
// bursts come before each burst, so both begin with the same estimate.
const ruleOdd = "longer after odd bursts"

// rows returns the rows of the cells.
func rows(p *Plan, cells []Cell) (all []Row) {
	for _, c := range cells {
		row := Row{Cell: c, Peer: fmt.Sprintf("timer of %v", c.Delay), DelayMS: experiments.Number(ms(c.Delay)),
			Odd: c.Burst%2 == 1, Law: c.RTT + c.Delay}
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
			for _, row.Point = range c.Grid {
				all = append(all, row)
			}
		}
	}
	return all
}

// oddRows returns the row of a cell, and behind one without a floor that of ruleOdd.
func (p *Plan) oddRows(row Row, c *Cell, cells []Cell) []Row {
	for _, clock := range p.OddClocks {
		if c.Policy == clockRule(clock) {
			row.Clock = clock
		}
	}
	row.Point = c.Grid[0]
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
	composed := row
	composed.Point = run.Grid[0]
	composed.Policy, composed.Wait, composed.Without = ruleOdd, run.Wait, c.Wait
	return []Row{row, composed}
}
