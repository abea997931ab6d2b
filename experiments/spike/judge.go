package spike

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/stat"
)

// row is some timers over all seeds.
type row struct {
	timers
	cells []Cell
	wait  stat.Interval // for what is lost, in ms
	vain  stat.Interval // segments sent again in vain in the greatest spike, without any response
}

func rows(p *Plan, cells []Cell) (all []row) {
	peak := p.Peaks[len(p.Peaks)-1]
	for _, tm := range p.all() {
		r := row{timers: tm}
		var waits [][]float64
		for _, c := range cells {
			if c.Timers != tm.name {
				continue
			}
			r.cells = append(r.cells, c)
			var ms []float64
			for _, w := range c.Waits {
				ms = append(ms, float64(w)/1e3)
			}
			waits = append(waits, ms)
		}
		r.wait = stat.Bootstrap(waits, 1, stat.Mean[float64])
		r.vain = r.mean(peak, none, again)
		all = append(all, r)
	}
	return all
}

// each calls f with the spikes of a peak and a response, one for each seed.
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

// back reports whether the window is what it was before the spike.
func back(s *Spike) bool { return float64(s.After) >= 0.95*float64(s.Before) }

// rescue is what became of the spikes in which timers without a response had a timeout.
type rescue struct {
	n, back, again, single, singleBack int
	window                             float64 // after, as a share of before; the sum
}

// rescues counts over all timers and tried peaks.
func rescues(p *Plan, all []row, response string) (r rescue) {
	for i := range all {
		if all[i].family == ofStack {
			continue // it does not tell its window
		}
		for _, peak := range p.Tried {
			var without []*Spike
			all[i].each(peak, none, func(s *Spike) { without = append(without, s) })
			k := 0
			all[i].each(peak, response, func(s *Spike) {
				was := without[k]
				k++
				if was.Timeouts == 0 {
					return
				}
				r.n++
				r.again += s.Again
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
			})
		}
	}
	return r
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
	hidden, seen := 0, 0
	var waits, vains []float64
	rises, falls := true, true
	var finest, coarsest *row
	for i := range all {
		r := &all[i]
		if r.family == ofPolicy || r.family == ofStack {
			continue
		}
		for _, peak := range p.Peaks {
			if peak-p.RTT < r.size {
				r.each(peak, none, func(s *Spike) {
					hidden++
					if s.Again > 0 {
						seen++
					}
				})
			}
		}
		if r.family != ofTick {
			continue
		}
		if finest == nil {
			finest = r
		}
		if coarsest != nil {
			rises = rises && r.wait.Value > coarsest.wait.Value
			falls = falls && r.vain.Lo <= coarsest.vain.Hi
		}
		coarsest = r
		waits, vains = append(waits, r.wait.Value), append(vains, r.vain.Value)
	}
	claim := func(name, text, source string, tag experiments.Tag, m experiments.Measure, expected string, v experiments.Verdict, why string) {
		out.Claim(experiments.Claim{Name: name, Text: text, Source: source, Tag: tag, Measured: m, Expected: experiments.Decided(v, expected),
			Otherwise: why})
	}
	const law = "definition of the timers"
	claim("hidden", "a rise of the round trip below the granularity, or the floor on the variation, makes no timer expire", law, experiments.Computed,
		experiments.MeasuredText("%d of %d spikes were seen", seen, hidden), "none", experiments.Holds(hidden > 0 && seen == 0),
		"the timeout is not a granularity beyond the round trip")
	claim("fewer", "the coarser the timers, the less they send again in vain in the greatest spike", law, experiments.Computed,
		experiments.MeasuredText("%s segments at %s, %s at %s", experiments.Number(finest.vain.Value), finest.name, experiments.Number(coarsest.vain.Value), coarsest.name),
		"never more than the next finer but by chance; the coarsest half of the finest at most",
		experiments.Holds(falls && coarsest.vain.Value <= finest.vain.Value/2), "a coarse clock makes timeouts of its own")
	claim("price", "the coarser the timers, the longer they wait for what is lost", law, experiments.Computed,
		experiments.MeasuredText("%s ms at %s, %s ms at %s", experiments.Number(finest.wait.Value), finest.name, experiments.Number(coarsest.wait.Value), coarsest.name),
		"more at each step", experiments.Holds(rises), "the wait does not follow the granularity")
	rho := ranks(waits, vains)
	claim("trade-off", "so granularity buys rest with waiting: the less in vain, the longer the wait", "shape, after Allman and Paxson 1999 (abstract) for the floor",
		experiments.FromPrint, experiments.Measured(rho, "rank correlation"), "-0.8 or less; above -0.3 there is no trade-off",
		experiments.Judged(rho, -1, -0.8, -1, -0.3), "neighbours are alike")
	without := rescues(p, all, none)
	claim("harm", "without a response, a spurious timeout leaves the window where it put it", "RFC 5681 §3.1", experiments.Standard,
		experiments.MeasuredText("back in %d of %d spikes, %.0f %% of it in the mean", without.back, without.n, 100*without.window/float64(without.n)), "back in few: 5 % at most",
		experiments.Holds(without.n > 0 && float64(without.back) <= 0.05*float64(without.n)), "the window grows back before it is looked at")
	for _, x := range []struct{ response, source, why string }{
		{frto, "RFC 5682 §2.1", "F-RTO goes by the ACKs behind the first timeout only: if the timer expires again before one comes, RFC 5682 §2.1 leaves it to slow start. " +
			"A spike of several timeouts is beyond it"},
		{eifel, "RFC 3522 and RFC 4015", "the ACK of the first octets carries the timestamp of what was sent again"},
		{dsack, "RFC 3708", "DSACKs come when what was sent again has arrived, a round trip late: by then more has left in vain, and a timeout that comes in between begins anew"},
	} {
		r := rescues(p, all, x.response)
		share := float64(r.back) / float64(r.n)
		v := experiments.NotReproduced
		switch {
		case share >= 0.95:
			v = experiments.Reproduced
		case r.window > without.window:
			v = experiments.Differs
		}
		claim("undo-"+map[string]string{frto: "frto", eifel: "eifel", dsack: "dsack"}[x.response], x.response+" gives the window back", x.source, experiments.Standard,
			experiments.MeasuredText("back in %d of %d spikes, %.0f %% of it in the mean; in %d of %d with no second timeout", r.back, r.n, 100*r.window/float64(r.n), r.singleBack, r.single),
			"back in 95 %", v, x.why)
	}
	for i := range all {
		if r := &all[i]; r.family == ofStack {
			kept := r.mean(p.Peaks[len(p.Peaks)-1], every, again)
			out.Notes = append(out.Notes, fmt.Sprintf("gVisor's own TCP waits %s ms for what is lost, a probe's time, and sends %s segments in vain in the greatest spike; %s without SACK and timestamps.",
				experiments.Number(r.wait.Value), experiments.Number(kept.Value), experiments.Number(r.vain.Value)))
		}
		if r := &all[i]; r.name == "per-segment" {
			kept := r.mean(p.Peaks[len(p.Peaks)-1], every, again)
			out.Notes = append(out.Notes, fmt.Sprintf("The responses leave the trade-off: the default, which has all three, waits %s ms for what is lost and sends %s segments in vain in "+
				"the greatest spike, where timers that wait as long send %s without a response.", experiments.Number(r.wait.Value), experiments.Number(kept.Value), experiments.Number(r.vain.Value)))
		}
	}
	return out, nil
}
