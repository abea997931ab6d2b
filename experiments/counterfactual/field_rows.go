package counterfactual

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tcpwheel/pcaps/replay"
)

// fieldRow is a capture, the losses of one kind or class in it, or one loss under another policy.
type fieldRow struct {
	Set  string `json:"set" help:"kind, capture, apart or loss"`
	File string `json:"file" help:"the capture"`

	Connections int           `json:"connections" help:"of a capture, with losses and without"`
	Lossy       int           `json:"lossy" help:"connections of a capture with losses"`
	Lifetime    time.Duration `json:"lifetime_ns" help:"of the connections of a capture, together"`
	Needed      int           `json:"needed" help:"losses of a capture that were necessary and repaired"`
	Passed      int           `json:"passed" help:"losses of a capture that pass the gate"`

	Kind     string        `json:"kind" help:"of a loss; all of a capture; of those apart, why they are"`
	Losses   int           `json:"losses"`
	Held     int           `json:"held" unit:"losses" help:"repaired, after they held data back"`
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

// add adds the losses of a kind.
func (r *fieldRow) add(k *fieldKind) {
	r.Losses, r.Held, r.Spurious = r.Losses+k.Losses, r.Held+k.Held, r.Spurious+k.Spurious
	r.Lost, r.Waited, r.Tax = r.Lost+k.Lost, r.Waited+k.Waited, r.Tax+k.Tax
}

// fieldRows returns the kinds, the one that lost most first, the captures, what does not count, and
// the losses.
func fieldRows(p *fieldPlan, cells []fieldCell) (all []fieldRow) {
	lost := map[string]time.Duration{}
	var kinds []string
	var apart []fieldRow
	for _, c := range cells {
		for _, k := range c.Kinds {
			if k.Class != counted {
				row := fieldRow{Set: "apart", File: c.File, Kind: k.Class}
				row.add(&k)
				apart = append(apart, row)
				continue
			}
			if k.Dead > 0 {
				apart = append(apart, fieldRow{Set: "apart", File: c.File, Kind: "never repaired", Losses: k.Dead,
					Lost: k.DeadFor})
			}
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
				if k.Kind == kind && k.Class == counted {
					row := fieldRow{Set: "kind", File: c.File, Kind: kind}
					row.add(&k)
					all = append(all, row)
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
			if k.Class == counted {
				row.add(&k)
			}
		}
		all = append(all, row)
	}
	all = append(all, apart...)
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
