package spike

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/wheel/stat"
)

// row is timers over all seeds.
type row struct {
	timers
	cells    []Cell
	wait     stat.Interval // of a lost segment, ms
	spurious stat.Interval // retransmissions in the greatest spike, without a response
}

func rows(p *Plan, cells []Cell) (all []row) {
	for _, tm := range p.all() {
		r := row{timers: tm, cells: experiments.Select(cells, func(c *Cell) bool { return c.Timers == tm.name })}
		waits := experiments.SamplesBySeed(r.cells, func(c *Cell) int { return c.Seed }, func(c *Cell) (ms []float64) {
			for _, w := range c.Waits {
				ms = append(ms, float64(w)/1e3)
			}
			return ms
		})
		r.wait = stat.Bootstrap(waits, 1, stat.Mean[float64])
		r.spurious = r.mean(p.greatest(), none, retransmissions)
		all = append(all, r)
	}
	return all
}

// greatest is the greatest peak.
func (p *Plan) greatest() time.Duration { return p.Peaks[len(p.Peaks)-1] }

// each calls f with the spike of each seed with a peak and a response.
func (r *row) each(peak time.Duration, response string, f func(s *Spike)) {
	for i := range r.cells {
		for j := range r.cells[i].Spikes {
			if s := &r.cells[i].Spikes[j]; s.Peak == peak && s.Response == response {
				f(s)
			}
		}
	}
}

func (r *row) mean(peak time.Duration, response string, of func(s *Spike) float64) stat.Interval {
	var x []float64
	r.each(peak, response, func(s *Spike) { x = append(x, of(s)) })
	return stat.BootstrapMean(x, 1)
}

// back reports whether the window is as large as before the spike.
func back(s *Spike) bool { return float64(s.After) >= 0.95*float64(s.Before) }

// rescue counts the spikes that cause a timeout without a response.
type rescue struct {
	n, back, retransmissions, single, singleBack int

	window float64 // sum of the windows after, relative to before
}

// rescues counts over all timers and tried peaks.
func rescues(p *Plan, all []row, response string) (r rescue) {
	for i := range all {
		if all[i].family == ofStack {
			continue // gVisor does not report its window
		}
		for _, peak := range p.Tried {
			var without []*Spike
			all[i].each(peak, none, func(s *Spike) { without = append(without, s) })
			k := 0
			all[i].each(peak, response, func(s *Spike) {
				if k++; without[k-1].Timeouts > 0 {
					r.add(s)
				}
			})
		}
	}
	return r
}

func (r *rescue) add(s *Spike) {
	r.n++
	r.retransmissions += s.Retransmissions
	r.window += float64(s.After) / float64(s.Before)
	if back(s) {
		r.back++
	}
	if s.Timeouts <= 1 {
		r.single++
		if back(s) {
			r.singleBack++
		}
	}
}

// ranks returns the rank correlation of x and y (Spearman), ties in the middle.
func ranks(x, y []float64) float64 {
	rank := func(v []float64) []float64 {
		sorted := slices.Clone(v)
		slices.Sort(sorted)
		out := make([]float64, len(v))
		for i, a := range v {
			lo, _ := slices.BinarySearch(sorted, a)
			hi := lo
			for hi+1 < len(sorted) && sorted[hi+1] == a {
				hi++
			}
			out[i] = float64(lo+hi) / 2
		}
		return out
	}
	a, b := rank(x), rank(y)
	ma, mb := stat.Mean(a), stat.Mean(b)
	var sab, saa, sbb float64
	for i := range a {
		sab, saa, sbb = sab+float64((a[i]-ma)*(b[i]-mb)), saa+float64((a[i]-ma)*(a[i]-ma)), sbb+float64((b[i]-mb)*(b[i]-mb))
	}
	if saa == 0 || sbb == 0 {
		return 0
	}
	return sab / math.Sqrt(saa*sbb)
}

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	all := rows(p, cells)
	out := &experiments.Outcome{Tables: tables(p, all), Figures: figures(p, all)}
	tradeOffClaims(p, all, out)
	responseClaims(p, all, out)
	for i := range all {
		r := &all[i]
		kept := experiments.Number(r.mean(p.greatest(), every, retransmissions).Value)
		wait, spurious := experiments.Number(r.wait.Value), experiments.Number(r.spurious.Value)
		switch {
		case r.family == ofStack:
			out.Notes = append(out.Notes, fmt.Sprintf("gVisor's own TCP waits %s ms for a lost segment, the time of a probe, and makes %s spurious retransmissions in the greatest spike; %s without SACK and timestamps.",
				wait, kept, spurious))
		case r.name == "per-segment":
			out.Notes = append(out.Notes, fmt.Sprintf("The responses avoid the trade-off: the default, which has all three, waits %s ms for a lost segment and makes %s spurious retransmissions in "+
				"the greatest spike. Timers that wait as long make %s without a response.", wait, kept, spurious))
		}
	}
	return out, nil
}

// tradeOffClaims judges granularities and floors without a response.
func tradeOffClaims(p *Plan, all []row, out *experiments.Outcome) {
	var seen experiments.Tally
	var ticks []*row
	for i := range all {
		r := &all[i]
		if r.family != ofTick && r.family != ofFloor {
			continue
		}
		for _, peak := range p.Peaks {
			if peak-p.RTT < r.size {
				r.each(peak, none, func(s *Spike) { seen.Add(s.Retransmissions == 0) })
			}
		}
		if r.family == ofTick {
			ticks = append(ticks, r)
		}
	}
	rises, falls := true, true
	var waits, spurious []float64
	for i, r := range ticks {
		if i > 0 {
			rises = rises && r.wait.Value > ticks[i-1].wait.Value
			falls = falls && r.spurious.Lo <= ticks[i-1].spurious.Hi
		}
		waits, spurious = append(waits, r.wait.Value), append(spurious, r.spurious.Value)
	}
	const law = "definition of the timers"
	finest, coarsest := ticks[0], ticks[len(ticks)-1]
	out.Claim(experiments.Claim{Name: "hidden", Class: experiments.Law, Text: "a rise of the round trip below the granularity, or the floor on the variation, makes no timer expire", Source: law, Tag: experiments.Computed,
		Measured: seen.Measure("spikes caused retransmissions"), Expected: experiments.None(), Otherwise: "the timeout is not a granularity above the round trip"})
	out.Claim(experiments.Claim{Name: "fewer", Class: experiments.Law, Text: "the coarser the timers, the fewer spurious retransmissions in the greatest spike", Source: law, Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%s segments at %s, %s at %s", experiments.Number(finest.spurious.Value), finest.name, experiments.Number(coarsest.spurious.Value), coarsest.name),
		Expected:  experiments.Whether(falls && coarsest.spurious.Value <= finest.spurious.Value/2, "never more than at the next finer, except by chance; the coarsest at most half of the finest"),
		Otherwise: "a coarse clock makes timeouts of its own"})
	out.Claim(experiments.Claim{Name: "price", Class: experiments.Law, Text: "the coarser the timers, the longer the wait of a lost segment", Source: law, Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s ms at %s, %s ms at %s", experiments.Number(finest.wait.Value), finest.name, experiments.Number(coarsest.wait.Value), coarsest.name),
		Expected: experiments.Whether(rises, "more at each step"), Otherwise: "the wait does not follow the granularity"})
	out.Claim(experiments.Claim{Name: "trade-off", Class: experiments.Law, Basis: "set for this project", Text: "so granularity trades spurious retransmissions for waiting", Source: "shape, after Allman and Paxson 1999 (abstract) for the floor", Tag: experiments.FromPrint,
		Measured: experiments.Measured(ranks(waits, spurious), "rank correlation"), Expected: experiments.AtMost(-0.8, "").OrDiffers(experiments.AtMost(-0.3, "")), Otherwise: "neighbours are alike"})
}

// undoings are the responses to a spurious timeout.
var undoings = []struct{ response, name, source, why string }{
	{frto, "undo-frto", "RFC 5682 §2.1", "F-RTO uses only the ACKs after the first timeout: if the timer expires again before one arrives, RFC 5682 §2.1 leaves it to slow start. " +
		"A spike of several timeouts is beyond it"},
	{eifel, "undo-eifel", "RFC 3522 and RFC 4015", "the ACK of the first bytes carries the timestamp of the retransmission"},
	{dsack, "undo-dsack", "RFC 3708", "DSACKs arrive after the retransmissions, a round trip late: by then more spurious retransmissions have left, and a timeout in between begins again"},
}

// responseClaims judges the window after spikes.
func responseClaims(p *Plan, all []row, out *experiments.Outcome) {
	without := rescues(p, all, none)
	out.Claim(experiments.Claim{Name: "harm", Class: experiments.Law, Text: "without a response, the window stays where a spurious timeout put it", Source: "RFC 5681 §3.1", Tag: experiments.Standard,
		Measured:  experiments.MeasuredText("back in %d of %d spikes, %.0f %% of it in the mean", without.back, without.n, 100*without.window/float64(without.n)),
		Expected:  experiments.Whether(without.n > 0 && float64(without.back) <= 0.05*float64(without.n), "back in at most 5 %%"),
		Otherwise: "the window grows back before it is measured"})
	for _, x := range undoings {
		r := rescues(p, all, x.response)
		out.Claim(experiments.Claim{Name: x.name, Class: experiments.Law, Text: x.response + " restores the window", Source: x.source, Tag: experiments.Standard,
			Measured: experiments.MeasuredText("back in %d of %d spikes, %.0f %% of it in the mean; in %d of %d with no second timeout", r.back, r.n, 100*r.window/float64(r.n), r.singleBack, r.single),
			Expected: experiments.Whether(float64(r.back)/float64(r.n) >= 0.95, "back in 95 %%").OrDiffersIf(r.window > without.window, "a greater window"), Otherwise: x.why})
	}
}
