package wheels

import (
	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

var interruptsWords = experiments.Words{
	Question: "How often must a host wake up for its timers if empty slots cost nothing?",
	Found: "With empty slots skipped, Scheme 6 wakes the host ⌊(j-1)/M⌋+1 times for a timer and Scheme 7 at most m " +
		"times, as published; m+1 across the end of this package's last wheel, where the paper's is circular.",
}

// interruptsRow is a run with its facility, and the most interrupts for its interval: exact says
// that there are always as many.
type interruptsRow struct {
	interruptsRun
	of    *interruptsFacility
	law   uint64
	exact bool
}

// interruptsRows returns the runs of one kind.
func interruptsRows(cells []interruptsCell, kind func(*interruptsCell) []interruptsRun) (all []interruptsRow) {
	for i := range cells {
		of := interruptsFind(cells[i].Facility)
		for _, r := range kind(&cells[i]) {
			law, exact := of.law(r.Interval)
			all = append(all, interruptsRow{r, of, law, exact})
		}
	}
	return all
}

func (r *interruptsRow) otherwise() bool {
	return r.Most > r.law || r.exact && r.Interrupts != r.law*r.Expiries
}

// busy returns the share of the ticks on which the run's timers wake a host with Scheme 6: each
// does so T/M + ½ times in T ticks.
func (r *interruptsRow) busy() float64 {
	return 1 - stat.Power(1-(1/float64(r.of.slots)+1/(2*float64(r.Interval))), r.Timers)
}

// interruptsJudge judges timers one at a time, those that start together, and those that start
// again when they expire.
func interruptsJudge(_ *interruptsPlan, cells []interruptsCell) (*experiments.Outcome, error) {
	alone := interruptsRows(cells, func(c *interruptsCell) []interruptsRun { return c.Alone })
	together := interruptsRows(cells, func(c *interruptsCell) []interruptsRun { return c.Together })
	many := interruptsRows(cells, func(c *interruptsCell) []interruptsRun { return c.Many })
	levels := func(r *interruptsRow) bool { return r.of.levels > 0 }
	six := judge.Count(alone, func(r *interruptsRow) bool { return !levels(r) && r.otherwise() })
	seven := judge.Count(alone, func(r *interruptsRow) bool { return levels(r) && r.otherwise() })
	more := judge.Count(together, func(r *interruptsRow) bool {
		return max(r.Most, r.Across) > r.law+min(r.Across, 1) || r.Expiries != uint64(r.Timers)
	})
	// Interrupts beyond m for timers that wait across the end of a hierarchy, at most.
	beyond, miscounted := 0, 0
	for i := range alone {
		a, b := &alone[i], &together[i]
		beyond = max(beyond, int(a.Across)-a.of.levels, int(b.Across)-b.of.levels)
		if a.Uncounted || b.Uncounted {
			miscounted++
		}
	}
	miscounted += judge.Count(many, func(r *interruptsRow) bool { return r.Uncounted })
	type point struct{ slots, timers int }
	hashed := judge.By(judge.Where(many, func(r *interruptsRow) bool { return r.of.slots > 0 && !levels(r) }),
		func(r *interruptsRow) point { return point{r.of.slots, r.Timers} })
	busy := farthest(hashed, func(g *judge.Group[point, interruptsRow]) float64 {
		share := func(r *interruptsRow) float64 { return float64(r.Interrupts) / float64(r.Ticks) }
		return judge.Mean(g.Rows, share) / g.Rows[0].busy()
	})
	none := experiments.Exactly(0, "").Saying("none")
	out := &experiments.Outcome{}
	out.Judge(
		experiments.Claim{
			Name: "six", Class: experiments.Law, Tag: experiments.Computed,
			Text:     "Scheme 6 wakes the host ⌊(j-1)/M⌋+1 times for a timer of j ticks",
			Source:   "whole visits; the paper's T/M is their limit for T far above M",
			Measured: judge.Said("%d intervals otherwise", six).Judging(float64(six)),
			Expected: none, Otherwise: "a slot without an expiring timer wakes the host",
		},
		experiments.Claim{
			Name: "seven", Class: experiments.Check, Source: "Varghese & Lauck, Appendix A", Tag: experiments.FromSource,
			Text:      "Scheme 7 wakes the host at most m times for a timer within its wheels",
			Published: "at most m",
			Measured:  judge.Said("%d of %d runs with more", seven, judge.Count(alone, levels)).Judging(float64(seven)),
			Expected:  experiments.Exactly(0, "").Saying("at most m"), Otherwise: "a timer migrates more than once from a level",
		},
		experiments.Claim{
			Name: "beyond", Class: experiments.Law, Tag: experiments.Computed, Basis: "one list more",
			Text: "a timer that waits across the end of this package's last wheel wakes the host one more time",
			Source: "this package keeps timers beyond the end in a list of their own, one more to migrate from; by default " +
				"a hierarchy covers all time and has no end",
			Measured: judge.Said("at most m+%d", beyond).Judging(float64(beyond)),
			Expected: experiments.AtMost(1, "").Saying("at most m+1"), Otherwise: "timers migrate within the list",
		},
		experiments.Claim{
			Name: "together", Class: experiments.Law, Source: "definition of a busy slot", Tag: experiments.Computed,
			Text:     judge.Say("%d timers of one tick cost no more interrupts than one", interruptsCompany),
			Measured: judge.Said("%d of %d runs with more", more, len(together)).Judging(float64(more)),
			Expected: none, Otherwise: "a slot wakes the host for each of its timers",
		},
		experiments.Claim{
			Name: "busy", Class: experiments.Law, Source: "timers at random over slots, computed", Tag: experiments.Computed,
			Text:  "n timers wake a host with Scheme 6 on a share 1-(1-p)^n of the ticks, p = 1/M + 1/2T",
			Basis: "set for this project", Measured: experiments.Measured(busy, "of the law, farthest from 1"),
			Expected:  experiments.Within(1, 0.05, "").OrDiffers(experiments.Between(0.8, 1.25, "")),
			Otherwise: "timers that expire empty a slot before they start again elsewhere",
		},
		experiments.Claim{
			Name: "counts", Class: experiments.Check, Source: "contract of package wheel", Tag: experiments.Computed,
			Text:     "the facility counts as many wake-ups as the host has",
			Measured: judge.Said("%d runs otherwise", miscounted).Judging(float64(miscounted)),
			Expected: none, Otherwise: "NextWakeup and Advance disagree",
		},
	)
	out.Tables = append(out.Tables, interruptsTable(alone))
	return out, nil
}

func interruptsTable(alone []interruptsRow) experiments.Table {
	t := experiments.Table{Name: "alone", Title: "Interrupts for one timer, mean over phases",
		Columns: []string{"interval, ticks"}}
	facility := func(r *interruptsRow) string { return r.of.name }
	t.Columns = append(t.Columns, judge.Keys(judge.By(alone, facility))...)
	for _, g := range judge.Along(alone, func(r *interruptsRow) int { return r.Interval }) {
		row := []any{g.Key}
		for _, of := range judge.By(g.Rows, facility) {
			row = append(row, judge.Mean(of.Rows, func(r *interruptsRow) float64 {
				return float64(r.Interrupts) / float64(r.Expiries)
			}))
		}
		t.Add(row...)
	}
	return t
}
