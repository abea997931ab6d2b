package wheels

import (
	"fmt"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

const interruptsPaper = "Varghese & Lauck, Appendix A"

// interruptsResults are the results of all cells.
type interruptsResults []interruptsCell

func (all interruptsResults) of(f *interruptsFacility) []interruptsCell {
	return experiments.Select(all, func(c *interruptsCell) bool { return c.Facility == f.name })
}

func interruptsJudge(p *interruptsPlan, cells []interruptsCell) (*experiments.Outcome, error) {
	out, all := &experiments.Outcome{}, interruptsResults(cells)
	all.show(p, out)
	all.aloneClaims(p, out)
	all.sharedClaims(p, out)
	return out, nil
}

func (all interruptsResults) show(p *interruptsPlan, out *experiments.Outcome) {
	alone := experiments.Table{Name: "alone", Title: "Interrupts for one timer, mean over phases", Columns: []string{"interval, ticks"}}
	many := experiments.Table{
		Name: "many", Title: fmt.Sprintf("Interrupts per expiry, for timers of %s ticks in the mean", experiments.Number(p.Mean)),
		Columns: []string{"timers"},
	}
	fig := figure.Figure{
		Name: "alone", Title: "How often one timer wakes a host",
		X: figure.Axis{Label: "interval, ticks", Log: true}, Y: figure.Axis{Label: "interrupts", Log: true},
		Caption: "Scheme 6 wakes the host once per rotation, Scheme 7 at most once per level, and a heap once.",
	}
	shared := figure.Figure{
		Name: "shared", Title: "Timers of one slot share an interrupt",
		X: figure.Axis{Label: "timers running", Log: true}, Y: figure.Axis{Label: "share of the ticks that wake the host", Log: true},
		Caption: "Dashed: 1-(1-p)^n, where p = 1/M + 1/2T is the share of one timer. Without a chip or a bitmap, each tick wakes the host.",
	}
	aloneRows, manyRows := make([][]any, len(p.Intervals)), make([][]any, len(p.Timers))
	for i := range interruptsFacilities {
		f := &interruptsFacilities[i]
		alone.Columns, many.Columns = append(alone.Columns, f.name), append(many.Columns, f.name)
		s := figure.Series{Name: f.name, Kind: figure.Line, Group: i + 1}
		m := s
		law := figure.Series{Name: f.name + ", law", Kind: figure.Line, Group: i + 1, Dashed: true}
		for k, j := range p.Intervals {
			s.Add(float64(j), stat.Mean(experiments.Values(all.of(f), func(c *interruptsCell) float64 { return c.Alone[k].perExpiry() })))
			aloneRows[k] = append(aloneRows[k], s.Y[k])
		}
		for k, n := range p.Timers {
			share, want, ok := all.share(p, f, k)
			m.Add(float64(n), share)
			if ok {
				law.Add(float64(n), want)
			}
			var sum interruptsRun
			for _, c := range all.of(f) {
				sum.Interrupts, sum.Expiries = sum.Interrupts+c.Many[k].Interrupts, sum.Expiries+c.Many[k].Expiries
			}
			manyRows[k] = append(manyRows[k], sum.perExpiry())
		}
		fig.Series, shared.Series = append(fig.Series, s), append(shared.Series, m)
		if len(law.X) > 0 {
			shared.Series = append(shared.Series, law)
		}
	}
	for k, row := range aloneRows {
		alone.Add(append([]any{p.Intervals[k]}, row...)...)
	}
	for k, row := range manyRows {
		many.Add(append([]any{p.Timers[k]}, row...)...)
	}
	out.Tables, out.Figures = append(out.Tables, alone, many), append(out.Figures, fig, shared)
}

func (r *interruptsRun) perExpiry() float64 { return float64(r.Interrupts) / float64(r.Expiries) }

// share returns the share of the ticks that wake the host with the k-th number of timers, and that
// expected of Scheme 6.
func (all interruptsResults) share(p *interruptsPlan, f *interruptsFacility, k int) (share, want float64, ok bool) {
	share = stat.Mean(experiments.Values(all.of(f), func(c *interruptsCell) float64 {
		return float64(c.Many[k].Interrupts) / float64(c.Many[k].Ticks)
	}))
	if f.slots == 0 || f.levels > 0 {
		return share, 0, false
	}
	each := 1/float64(f.slots) + 1/float64(2*p.Mean) // T/M+½ times in T ticks
	return share, 1 - stat.Power(1-each, p.Timers[k]), true
}

// aloneClaims judges the interrupts for one timer, or for timers that start together.
func (all interruptsResults) aloneClaims(p *interruptsPlan, out *experiments.Outcome) {
	exceed := map[bool]int{} // by whether the facility is a hierarchy
	var together experiments.Tally
	across := 0 // excess over m of timers across the end of a hierarchy
	for i := range interruptsFacilities {
		f := &interruptsFacilities[i]
		for k, j := range p.Intervals {
			most, exact := f.law(j)
			for _, c := range all.of(f) {
				a, t := c.Alone[k], c.Together[k]
				if a.Most > most || exact && a.Interrupts != most*a.Expiries {
					exceed[f.levels > 0]++
				}
				across = max(across, int(max(a.Across, t.Across))-f.levels)
				together.Add(max(t.Most, t.Across) <= most+uint64(min(t.Across, 1)) && t.Expiries == interruptsCompany)
			}
		}
	}
	out.Claim(experiments.Claim{Name: "six", Class: experiments.Law, Text: "Scheme 6 wakes the host ⌊(j-1)/M⌋+1 times for a timer of j ticks", Source: "whole visits; the paper's T/M is their limit for T far above M", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d intervals otherwise", exceed[false]).Judging(float64(exceed[false])), Expected: experiments.None(),
		Otherwise: "a slot without an expiring timer wakes the host"})
	out.Claim(experiments.Claim{Name: "seven", Class: experiments.OfOthers, Text: "Scheme 7 wakes the host at most m times for a timer", Published: "at most m", Source: interruptsPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("%d intervals with more; at most m%+d where a timer waits across the end of the last wheel", exceed[true], across),
		Expected: experiments.Whether(exceed[true] == 0 && across <= 0, "at most m").OrDiffersIf(exceed[true] == 0 && across == 1, "m+1 across the end of the last wheel"),
		Basis:    "the bound as printed",
		Otherwise: "the paper's last wheel is circular. This package keeps timers beyond its end in a list of their own, one more to migrate from. By " +
			"default a hierarchy has enough levels to cover all time, and no such end"})
	out.Claim(experiments.Claim{Name: "together", Class: experiments.Law, Text: fmt.Sprintf("%d timers of one tick cost no more interrupts than one", interruptsCompany), Source: "definition of a busy slot", Tag: experiments.Computed,
		Measured: together.Measure("runs with more"), Expected: experiments.None(), Otherwise: "a slot wakes the host for each of its timers"})
}

// sharedClaims judges many timers, and the facility's own count.
func (all interruptsResults) sharedClaims(p *interruptsPlan, out *experiments.Outcome) {
	var worst experiments.Farthest
	uncounted := 0
	for i := range interruptsFacilities {
		for k := range p.Timers {
			if share, want, ok := all.share(p, &interruptsFacilities[i], k); ok {
				worst.Add(share / want)
			}
		}
	}
	for _, c := range all {
		for k := range p.Intervals {
			if c.Alone[k].Uncounted || c.Together[k].Uncounted {
				uncounted++
			}
		}
		for k := range p.Timers {
			if c.Many[k].Uncounted {
				uncounted++
			}
		}
	}
	out.Claim(experiments.Claim{Name: "busy", Class: experiments.Law, Text: "n timers wake a host with Scheme 6 on a share 1-(1-p)^n of the ticks, p = 1/M + 1/2T", Source: "timers at random over slots, computed", Tag: experiments.Computed,
		Measured:  experiments.Measured(worst.Ratio, "of the law, farthest from 1"),
		Basis:     "set for this project",
		Expected:  experiments.Within(1, 0.05, "").OrDiffers(experiments.Between(0.8, 1.25, "")),
		Otherwise: "timers that expire empty a slot before they start again elsewhere"})
	out.Claim(experiments.Claim{Name: "counts", Class: experiments.Check, Text: "the facility counts as many wake-ups as the host has", Source: "contract of package wheel", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d runs otherwise", uncounted).Judging(float64(uncounted)), Expected: experiments.None(), Otherwise: "NextWakeup and Advance disagree"})
}
