package counterfactual

import (
	"fmt"
	"time"

	"tcpwheel/pcaps/replay"
)

// Row is what claims.yaml judges: a capture, a policy in a capture, a loss, a loss under a policy,
// or a check of the replays.
type Row struct {
	Kind       string `json:"kind" help:"capture, policy, lost, replayed or check"`
	Sample     string `json:"sample"`
	Point      string `json:"point" help:"of capture: sender, middle or receiver"`
	Everywhere bool   `json:"everywhere" help:"whether the sample was captured in the middle too"`
	Policy     string `json:"policy"`

	Conn       string        `json:"conn" help:"a connection of one capture"`
	Connection int           `json:"connection" help:"its number in the capture, from 0"`
	Loss       int           `json:"loss" help:"number of the loss in the capture, from 0"`
	Cause      string        `json:"cause" help:"kind of the loss"`
	RTT        time.Duration `json:"rtt_ns"`
	Captured   time.Duration `json:"captured_ns" help:"recovery time in the capture"`
	Took       time.Duration `json:"took_ns" help:"recovery time of the oracle"`
	Counts     bool          `json:"counts" help:"the loss was necessary, repaired, and through the gate"`
	ByRange    time.Duration `json:"by_range_ns" help:"recovery time under the policy by range; -1ns is no verdict"`
	ByTime     time.Duration `json:"by_time_ns" help:"the same by time"`
	ByNumber   time.Duration `json:"by_number_ns" help:"the same by number"`

	Conns   int `json:"conns" help:"connections with losses"`
	Refused int `json:"refused" help:"connections that cannot be replayed"`
	Needed  int `json:"needed" help:"losses that were necessary and repaired"`
	Passed  int `json:"passed" help:"losses that count"`
	Overall

	Check string `json:"check" help:"of the replays"`
	replay.Validation
	Passes bool `json:"passes" help:"whether the check is within the bands"`
}

// rows takes the cells apart.
func rows(p *Plan, cells []Cell) (all []Row) {
	for i := range cells {
		c := &cells[i]
		if c.Check != "" {
			if v := c.Validation; v != nil {
				all = append(all, Row{Kind: "check", Check: c.Check, Validation: *v, Passes: v.Passes()})
			}
			continue
		}
		of := Row{Kind: "capture", Sample: c.Sample, Point: c.Point, Everywhere: has(c.Sample, "middle"),
			Conns: c.Conns, Refused: len(c.Refuse), Needed: c.Needed}
		for _, l := range c.Losses {
			if l.Count {
				of.Passed++
			}
		}
		all = append(all, of)
		for k, sum := range c.Policies {
			of.Kind, of.Policy, of.Overall = "policy", p.Policies[k].Text, sum
			all = append(all, of)
		}
		for n, l := range c.Losses {
			row := Row{Kind: "lost", Sample: c.Sample, Point: c.Point, Everywhere: of.Everywhere,
				Conn: fmt.Sprintf("%s %s %d", c.Sample, c.Point, l.Conn), Connection: l.Conn, Loss: n, Cause: l.Kind,
				RTT: l.RTT, Captured: l.Captured, Took: l.Took, Counts: l.Count}
			all = append(all, row)
			for k, by := range l.By {
				row.Kind, row.Policy = "replayed", p.Policies[k].Text
				row.ByRange, row.ByTime, row.ByNumber = by[replay.ByRange], by[replay.ByTime], by[replay.ByIndex]
				all = append(all, row)
			}
		}
	}
	return all
}
