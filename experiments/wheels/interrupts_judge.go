package wheels

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

const interruptsPaper = "Varghese & Lauck, Appendix A"

func interruptsJudge(p *interruptsPlan, cells []interruptsCell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	of := func(name string) (all []interruptsCell) {
		for _, c := range cells {
			if c.Facility == name {
				all = append(all, c)
			}
		}
		return all
	}
	alone := experiments.Table{Name: "alone", Title: "Interrupts for one timer, mean over phases", Columns: []string{"interval, ticks"}}
	fig := figure.Figure{
		Name: "alone", Title: "How often a host is woken for one timer",
		X: figure.Axis{Label: "interval, ticks", Log: true}, Y: figure.Axis{Label: "interrupts", Log: true},
		Caption: "Scheme 6 wakes the host once per rotation, Scheme 7 once per level at most, and a heap once.",
	}
	many := experiments.Table{
		Name: "many", Title: fmt.Sprintf("Interrupts per expiry, of timers of %s ticks in the mean", experiments.Number(float64(p.Mean))),
		Columns: []string{"timers"},
	}
	shared := figure.Figure{
		Name: "shared", Title: "Timers of one slot share an interrupt",
		X: figure.Axis{Label: "timers running", Log: true}, Y: figure.Axis{Label: "share of the ticks that wake the host", Log: true},
		Caption: "Dashed: 1-(1-p)^n, where p = 1/M + 1/2T is the share that one timer has. A host without a chip or a bitmap is woken by each tick.",
	}
	exceed, runs, uncounted, worstShare := map[int]int{}, 0, 0, 1.0
	apart, across := 0, 0 // across is by how much m is exceeded by timers across the end of a hierarchy
	for i := range interruptsFacilities {
		f := &interruptsFacilities[i]
		alone.Columns, many.Columns = append(alone.Columns, f.name), append(many.Columns, f.name)
		s := figure.Series{Name: f.name, Kind: figure.Line, Group: i + 1}
		m := s
		law := figure.Series{Name: f.name + ", law", Kind: figure.Line, Group: i + 1, Dashed: true}
		for k, j := range p.Intervals {
			var n []float64
			for _, c := range of(f.name) {
				a, t := c.Alone[k], c.Together[k]
				n = append(n, float64(a.Interrupts)/float64(a.Expiries))
				most, exact := f.law(j)
				runs++
				if a.Most > most || exact && a.Interrupts != most*a.Expiries {
					exceed[i]++
				}
				across = max(across, int(max(a.Across, t.Across))-f.levels)
				if max(t.Most, t.Across) > most+uint64(min(t.Across, 1)) || t.Expiries != interruptsCompany {
					apart++
				}
				if a.Uncounted || t.Uncounted {
					uncounted++
				}
			}
			s.X, s.Y = append(s.X, float64(j)), append(s.Y, stat.Mean(n))
		}
		for k, n := range p.Timers {
			var share []float64
			for _, c := range of(f.name) {
				r := c.Many[k]
				share = append(share, float64(r.Interrupts)/float64(r.Ticks))
				if r.Uncounted {
					uncounted++
				}
			}
			m.X, m.Y = append(m.X, float64(n)), append(m.Y, stat.Mean(share))
			if f.slots == 0 || f.levels > 0 {
				continue
			}
			each := 1/float64(f.slots) + 1/float64(2*p.Mean) // T/M+½ times in T ticks
			want := 1 - stat.Power(1-each, n)
			law.X, law.Y = append(law.X, float64(n)), append(law.Y, want)
			if x := stat.Mean(share) / want; math.Abs(x-1) > math.Abs(worstShare-1) {
				worstShare = x
			}
		}
		fig.Series, shared.Series = append(fig.Series, s), append(shared.Series, m)
		if len(law.X) > 0 {
			shared.Series = append(shared.Series, law)
		}
	}
	for k, j := range p.Intervals {
		row := []any{j}
		for i := range interruptsFacilities {
			row = append(row, fig.Series[i].Y[k])
		}
		alone.Add(row...)
	}
	for k, n := range p.Timers {
		row := []any{n}
		for i := range interruptsFacilities {
			interrupts, expiries := 0., 0.
			for _, c := range of(interruptsFacilities[i].name) {
				interrupts, expiries = interrupts+float64(c.Many[k].Interrupts), expiries+float64(c.Many[k].Expiries)
			}
			row = append(row, interrupts/expiries)
		}
		many.Add(row...)
	}
	out.Tables, out.Figures = append(out.Tables, alone, many), append(out.Figures, fig, shared)

	count := func(levels bool) (n int) {
		for i := range interruptsFacilities {
			if (interruptsFacilities[i].levels > 0) == levels {
				n += exceed[i]
			}
		}
		return n
	}
	out.Claim(experiments.Claim{
		Name: "six", Text: "Scheme 6 wakes the host ⌊(j-1)/M⌋+1 times for a timer of j ticks", Published: "T/M on the average", Source: interruptsPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("%d intervals otherwise", count(false)), Expected: experiments.Whether(count(false) == 0, "each timer, exactly"),
		Otherwise: "a slot wakes the host that has nothing for it",
	})
	out.Claim(experiments.Claim{
		Name: "seven", Text: "Scheme 7 wakes the host at most m times for a timer", Published: "at most m", Source: interruptsPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("%d intervals with more", count(true)), Expected: experiments.Whether(count(true) == 0, "none, of timers that do not wait across the end of the last wheel"),
		Otherwise: "a level wakes the host twice for a timer",
	})
	verdict := experiments.Holds(across <= 0)
	if across == 1 {
		verdict = experiments.Differs
	}
	out.Claim(experiments.Claim{
		Name: "seven-across", Text: "nor more often for one that waits across the end of the last wheel", Published: "at most m", Source: interruptsPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("at most m%+d", across), Expected: experiments.Decided(verdict, "at most m"),
		Otherwise: "the paper's last wheel is circular; ours keeps what lies behind its end in a list of its own, which is one more to migrate from. A " +
			"hierarchy has as many levels by default as cover all time, and no such end",
	})
	out.Claim(experiments.Claim{
		Name: "together", Text: fmt.Sprintf("%d timers of one tick cost no more interrupts than one", interruptsCompany), Source: "definition of a busy slot", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d of %d runs with more", apart, runs), Expected: experiments.Whether(apart == 0, "none"),
		Otherwise: "a slot wakes the host for each of its timers",
	})
	out.Claim(experiments.Claim{
		Name: "busy", Text: "n timers wake a host with Scheme 6 on a share 1-(1-p)^n of the ticks, p = 1/M + 1/2T", Source: "timers at random over slots, computed", Tag: experiments.Computed,
		Measured: experiments.Measured(worstShare, "of the law, farthest from 1").Judging(worstShare), Expected: experiments.Between(0.95, 1.05, "").OrDiffers(experiments.Between(0.8, 1.25, "")).Saying("1 ± 0.05"),
		Otherwise: "expiries empty a slot before its timers are started again elsewhere",
	})
	out.Claim(experiments.Claim{
		Name: "counts", Text: "the facility counts as many wake-ups as the host has", Source: "contract of package wheel", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d runs otherwise", uncounted), Expected: experiments.Whether(uncounted == 0, "none"),
		Otherwise: "NextWakeup and Advance disagree",
	})
	return out, nil
}
