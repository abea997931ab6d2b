package delack

import (
	"fmt"
	"time"
)

// Row is a tail of bursts of one sender at a peer.
type Row struct {
	Cell
	Point
	Clock   time.Duration // of the round trips, of odd; 0s is exact
	Without time.Duration // the wait without a floor
}

func (c *Cell) odd() bool { return c.Burst%2 == 1 }

// peer names the receiver's delay of ACKs.
func (p *Plan) peer(c *Cell) string {
	if c.Delay == 0 {
		return fmt.Sprintf("heartbeat of %v", p.Heartbeat)
	}
	return fmt.Sprintf("timer of %v", c.Delay)
}

// law returns what the period of a sender that waits for each ACK should be.
func (p *Plan) law(c *Cell) time.Duration {
	if c.Delay == 0 {
		return p.Heartbeat * ((c.RTT + p.Heartbeat - 1) / p.Heartbeat)
	}
	return c.RTT + c.Delay
}

// ruleOdd has no run of its own: it is ruleLonger for odd bursts and ruleNone for even ones. Even
// bursts come before each burst, so both begin with the same estimate.
const ruleOdd = "longer after odd bursts"

// rows returns the tails of all cells.
func rows(p *Plan, cells []Cell) (all []Row) {
	for _, c := range cells {
		row := Row{Cell: c}
		if c.Kind == kindOdd {
			all = append(all, p.oddRows(row, &c, cells)...)
			continue
		}
		for _, row.Point = range c.Grid {
			all = append(all, row)
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
	if c.odd() {
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
