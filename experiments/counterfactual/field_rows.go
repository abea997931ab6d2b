package counterfactual

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tcpwheel/pcaps/replay"
)

// fieldRow is a capture, the losses of one kind in it, or one loss under another policy.
type fieldRow struct {
	Set  string `json:"set" help:"kind, capture or loss"`
	File string `json:"file" help:"the capture"`

	Connections int           `json:"connections" help:"of a capture, with losses and without"`
	Lossy       int           `json:"lossy" help:"connections of a capture with losses"`
	Lifetime    time.Duration `json:"lifetime_ns" help:"of the connections of a capture, together"`
	Needed      int           `json:"needed" help:"losses of a capture that were necessary and repaired"`
	Passed      int           `json:"passed" help:"losses of a capture that pass the gate"`

	Kind     string        `json:"kind" help:"of a loss; all of a capture"`
	Losses   int           `json:"losses"`
	Spurious int           `json:"spurious" help:"retransmissions that were unnecessary"`
	Lost     time.Duration `json:"lost_ns" help:"the receiver got nothing that the path could have brought"`
	Waited   time.Duration `json:"waited_ns" help:"the part of it that the sender waited for its timers"`
	Tax      time.Duration `json:"tax_ns" help:"detection of repaired losses, beyond the least"`

	Connection string        `json:"connection" help:"of a loss"`
	Policy     string        `json:"policy" help:"that the loss is replayed with"`
	Key        string        `json:"key" help:"by which its transmissions have fates: range, time or index"`
	Counts     bool          `json:"counts" help:"whether the loss passes the gate, and has a recovery time by the key"`
	Took       time.Duration `json:"took_ns" help:"recovery time under the captured retransmission times"`
	Would      time.Duration `json:"would_ns" help:"recovery time under the policy"`
}

// fieldRows returns the kinds, the one that lost most first, the captures, and the losses.
func fieldRows(p *fieldPlan, cells []fieldCell) (all []fieldRow) {
	lost := map[string]time.Duration{}
	var kinds []string
	for _, c := range cells {
		for _, k := range c.Kinds {
			if !slices.Contains(kinds, k.Kind) {
				kinds = append(kinds, k.Kind)
			}
			lost[k.Kind] += k.Lost
		}
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(lost[b], lost[a]) })
	for _, kind := range kinds {
		for _, c := range cells {
			for _, k := range c.Kinds {
				if k.Kind == kind {
					all = append(all, fieldRow{Set: "kind", File: c.File, Kind: kind, Losses: k.Losses,
						Spurious: k.Spurious, Lost: k.Lost, Waited: k.Waited, Tax: k.Tax})
				}
			}
		}
	}
	for _, c := range cells {
		row := fieldRow{Set: "capture", File: c.File, Connections: c.All, Lossy: c.Conns, Lifetime: c.Lifetime,
			Needed: c.Needed, Kind: "all"}
		for _, l := range c.Losses {
			if l.Count {
				row.Passed++
			}
		}
		for _, k := range c.Kinds {
			row.Losses, row.Spurious = row.Losses+k.Losses, row.Spurious+k.Spurious
			row.Lost, row.Waited, row.Tax = row.Lost+k.Lost, row.Waited+k.Waited, row.Tax+k.Tax
		}
		all = append(all, row)
	}
	for _, c := range cells {
		for _, l := range c.Losses {
			for i, by := range l.By {
				for k, would := range by {
					all = append(all, fieldRow{Set: "loss", File: c.File, Kind: l.Kind,
						Connection: fmt.Sprintf("%s %d", c.File, l.Conn), Policy: p.Policies[i].Text,
						Key: replay.Key(k).String(), Counts: l.Count && would >= 0, Took: l.Took,
						Would: would})
				}
			}
		}
	}
	return all
}
