package vegas

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

// What was published, and the bands that were set beforehand.
const (
	publishedCoarse = 1100.0 // ms: Brakmo and Peterson 1995
	publishedFine   = 300.0
	atMost          = 150 * time.Millisecond // the round trips for which the bands are
	anchorBand      = 50.0                   // ms
)

const paper = "L. Brakmo and L. Peterson, IEEE JSAC 13(8), 1995"

// anchors are the mean waits of 4.4BSD's recurrence for one segment in flight, by the round trip; computed for this project.
var anchors = []struct {
	rtt  time.Duration
	wait float64 // ms
}{{10 * time.Millisecond, 1280}, {50 * time.Millisecond, 1402}, {100 * time.Millisecond, 1550}, {150 * time.Millisecond, 1705}}

// results are the results of the cells.
type results []Cell

// of returns the waits by seed, of one kind of loss or, with -1, of all kinds.
func (r results) of(timers string, kind int, rtt func(time.Duration) bool) (groups [][]float64, other int) {
	bySeed := map[int]int{} // index of groups
	for _, c := range r {
		if c.Still || c.Anchor || c.Timers != timers || !rtt(c.RTT) {
			continue
		}
		i, ok := bySeed[c.Seed]
		if !ok {
			i = len(groups)
			bySeed[c.Seed] = i
			groups = append(groups, nil)
		}
		for k, f := range c.Flows {
			if kind < 0 || k == kind {
				groups[i] = append(groups[i], f.Waits...)
				other += f.Other + len(f.BackedOff)
			}
		}
	}
	return groups, other
}

func exactly(rtt time.Duration) func(time.Duration) bool {
	return func(d time.Duration) bool { return d == rtt }
}

func short(rtt time.Duration) bool { return rtt <= atMost }

// name returns the text of timers without what all of them have in common.
func name(t string) string {
	words := slices.DeleteFunc(strings.Fields(t), func(w string) bool {
		return w[0] == '-' || w[0] == '+' || strings.HasPrefix(w, "control=") || strings.HasPrefix(w, "delack=")
	})
	return strings.Join(words, " ")
}

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	r := results(cells)
	out := &experiments.Outcome{}
	fixedPoint(out)
	r.still(p, out)
	r.claims(p, out)
	r.gvisor(p, out)
	r.tables(p, out)
	r.figures(p, out)
	out.Notes = append(out.Notes, r.others(p), "The published 1100 ms are below the 1250 ms that 4.4BSD's arithmetic gives for round trips far below a tick, "+
		"and within the 1000 to 1500 ms in which each single wait lies. The paper does not tell the round trips, nor how many "+
		"timeouts the average is of. With longer round trips the mean only rises, as more samples cross a tick.")
	if groups, _ := r.of(gvisor, kindAgain, short); len(slices.Concat(groups...)) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("gVisor's timer is not started again by a fast retransmission, which RFC 6298 §5 does not ask for: it counts from the last ACK. "+
			"So a retransmission that is lost waits for less than the floor, %s ms at least.", experiments.Number(slices.Min(slices.Concat(groups...)))))
	}
	return out, nil
}

// others tells of the losses that the waits leave out.
func (r results) others(p *Plan) string {
	backedOff, other := 0, 0
	var with stat.Interval
	for _, rtt := range p.RTTs {
		groups, _ := r.of(p.Fine.Text, -1, exactly(rtt))
		all := slices.Concat(groups...)
		for _, c := range r {
			if c.Still || c.Timers != p.Fine.Text || c.RTT != rtt {
				continue
			}
			for _, f := range c.Flows {
				backedOff, other = backedOff+len(f.BackedOff), other+f.Other
				all = append(all, f.BackedOff...)
			}
		}
		if mean := stat.Mean(all); short(rtt) && mean > with.Value {
			with.Value = mean
		}
	}
	return fmt.Sprintf("Left out of waits, and counted as others, are losses of a transmission that was a timeout's itself, since they wait for a "+
		"backed-off timer, and those that something else repaired: of %s %d and %d. With the former, its greatest mean at round trips up to %v "+
		"is %s ms.", name(p.Fine.Text), backedOff, other, atMost, experiments.Number(with.Value))
}

// fixedPoint has the estimator's recurrence, which no cell has a part in.
func fixedPoint(out *experiments.Outcome) {
	fig := figure.Figure{
		Name: "fixed-point", Title: "4.4BSD's timeout comes to rest at 3 ticks, however short the round trip is",
		X: figure.Axis{Label: "sample", Log: false}, Y: figure.Axis{Label: "timeout, ticks of 500 ms", Lo: 0, Hi: 16},
		Marks: []figure.Mark{{Label: "3 ticks: 1000 to 1500 ms", At: float64(rested.rto)}},
		Caption: "The integer estimator is fed with round trips that cross no tick but where it is said. A tick that is crossed once lifts the " +
			"timeout to 5 ticks and then 4. Nothing brings it below 3.",
	}
	table := experiments.Table{
		Name: "recurrence", Title: "The estimator's variables by sample, where the 16th crosses a tick", Data: true,
		Columns: []string{"course", "sample", "ticks crossed", "t_srtt, 1/8 ticks", "t_rttvar, 1/4 ticks", "timeout, ticks"},
	}
	rests := true
	var last state
	for _, c := range courses() {
		all := recurrence(c.samples)
		s := figure.Series{Name: c.name, Kind: figure.Steps}
		for i, at := range all {
			s.X, s.Y = append(s.X, float64(i+1)), append(s.Y, float64(at.rto))
			table.Add(c.name, i+1, c.samples[i], at.srtt, at.rttvar, at.rto)
		}
		fig.Series = append(fig.Series, s)
		last = all[len(all)-1]
		rests = rests && last == rested
	}
	none := recurrence(make([]int, 1000))
	for _, s := range none[1:] {
		rests = rests && s == rested
	}
	out.Tables = append(out.Tables, table)
	out.Figures = append(out.Figures, fig)
	out.Claim(experiments.Claim{
		Name: "fixed-point", Text: "round trips far below a tick leave 4.4BSD's estimator at t_srtt 7, t_rttvar 3: a timeout of 3 ticks for ever",
		Published: "t_srtt 7, t_rttvar 3, 3 ticks", Source: "recurrence of 4.4BSD's tcp_xmit_timer", Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("t_srtt %d, t_rttvar %d, %d ticks from the 2nd of 1000 samples on", last.srtt, last.rttvar, last.rto),
		Expected:  experiments.Whether(rests, "the same, from wherever it comes"),
		Otherwise: "the estimator's arithmetic is not that of 4.4BSD",
	})
}

// still judges the waits where no sample crosses a tick.
func (r results) still(p *Plan, out *experiments.Outcome) {
	var groups [][]float64
	var all []float64
	bySeed := map[int]int{}
	within := 0
	for _, c := range r {
		if !c.Still {
			continue
		}
		i, ok := bySeed[c.Seed]
		if !ok {
			i = len(groups)
			bySeed[c.Seed], groups = i, append(groups, nil)
		}
		for _, w := range c.Flows[0].Waits {
			groups[i] = append(groups[i], w)
			all = append(all, w)
			if w > 1000 && w <= 1500 {
				within++
			}
		}
	}
	mean := stat.Bootstrap(groups, 1, stat.Mean[float64])
	_, ks := stat.KolmogorovSmirnov(all, func(x float64) float64 { return min(max((x-1000)/500, 0), 1) })
	out.Claim(experiments.Claim{
		Name: "mean-at-rest", Text: fmt.Sprintf("at the fixed point a loss waits for 1250 ms in the mean, at round trips up to %v", slices.Max(p.StillRTTs)),
		Published: "1250 ms", Source: "recurrence of 4.4BSD's tcp_xmit_timer, counted down by tcp_slowtimo", Tag: experiments.Computed,
		Measured: experiments.MeasuredWithin(mean, "ms").Judging(mean.Value), Expected: experiments.Between(1225, 1275, "").Saying("1250 ± 25 ms"),
		Otherwise: "the sweep does not find the timers at even phases, or the estimator is not at rest",
	})
	out.Claim(experiments.Claim{
		Name: "even-at-rest", Text: "at the fixed point the waits are even over (1000 ms, 1500 ms]",
		Published: "U(1000 ms, 1500 ms]", Source: "recurrence of 4.4BSD's tcp_xmit_timer, counted down by tcp_slowtimo", Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%d of %d within; Kolmogorov-Smirnov p = %s", within, len(all), experiments.Number(ks)),
		Expected:  experiments.Whether(within == len(all) && ks > 0.01, "all within, p > 0.01"),
		Otherwise: "the timers do not count whole sweeps",
	})
}

// pair is a wait, under the coarse timers or the fine ones.
type pair struct {
	coarse bool
	wait   float64
}

func (r results) claims(p *Plan, out *experiments.Outcome) {
	coarse, _ := r.of(p.Coarse.Text, -1, short)
	fine, _ := r.of(p.Fine.Text, -1, short)
	mean := stat.Bootstrap(coarse, 1, stat.Mean[float64])
	why := "The round trips and kinds of loss of the paper's paths are not known; longer round trips and retransmissions that are lost wait longer."
	out.Claim(experiments.Claim{
		Name: "coarse-mean", Text: fmt.Sprintf("under clocks of 500 ms a loss that needs a timeout waits for more than a second, at round trips up to %v", atMost),
		Published: "1100 ms", Source: paper, Tag: experiments.FromPrint, Measured: experiments.MeasuredWithin(mean, "ms").Judging(mean.Value),
		Expected: experiments.Between(1000, 1700, "").OrDiffers(experiments.Between(900, math.Inf(1), "")).Saying("1000 to 1700 ms; below 900 ms is not reproduced"), Why: why,
	})
	worst := stat.Interval{}
	for _, rtt := range p.RTTs {
		if !short(rtt) {
			continue
		}
		groups, _ := r.of(p.Fine.Text, -1, exactly(rtt))
		if in := stat.Bootstrap(groups, 1, stat.Mean[float64]); in.Value > worst.Value {
			worst = in
		}
	}
	out.Claim(experiments.Claim{
		Name: "fine-mean", Text: fmt.Sprintf("a timer for each segment sends again in less than 300 ms, at each round trip up to %v", atMost),
		Published: "less than 300 ms", Source: paper, Tag: experiments.FromPrint, Measured: experiments.MeasuredWithin(worst, "ms").Judging(worst.Value),
		Expected:  experiments.Between(0, math.Nextafter(publishedFine, 0), "").OrDiffers(experiments.Between(0, 400, "")).Saying("below 300 ms in the mean where it is greatest"),
		Otherwise: "the round trip varies more within a flight than between flights of one segment, which its variation makes up for",
	})
	groups := make([][]pair, max(len(coarse), len(fine)))
	for i, g := range coarse {
		for _, w := range g {
			groups[i] = append(groups[i], pair{true, w})
		}
	}
	for i, g := range fine {
		for _, w := range g {
			groups[i] = append(groups[i], pair{false, w})
		}
	}
	ratio := stat.Bootstrap(groups, 1, func(all []pair) float64 {
		var sum, n [2]float64
		for _, w := range all {
			i := 0
			if w.coarse {
				i = 1
			}
			sum[i], n[i] = sum[i]+w.wait, n[i]+1
		}
		return sum[1] / n[1] / (sum[0] / n[0])
	})
	out.Claim(experiments.Claim{
		Name: "ratio", Text: fmt.Sprintf("coarse clocks take at least 3.7 times as long as a timer for each segment, at round trips up to %v", atMost),
		Published: "1100 / 300 = 3.7", Source: paper, Tag: experiments.FromPrint, Measured: experiments.MeasuredWithin(ratio, "times").Judging(ratio.Value),
		Expected:  experiments.Between(publishedCoarse/publishedFine, math.Inf(1), "").OrDiffers(experiments.Between(2, math.Inf(1), "")).Saying("at least 3.7"),
		Otherwise: "the fine timer waits for more than the round trip and its variation",
	})
	for _, a := range anchors {
		groups, _ := r.of(p.Coarse.Text, kindAlone, exactly(a.rtt))
		for _, c := range r {
			if c.Anchor && c.RTT == a.rtt {
				groups = append(groups, c.Flows[0].Waits)
			}
		}
		if len(groups) == 0 {
			continue
		}
		in := stat.Bootstrap(groups, 1, stat.Mean[float64])
		out.Claim(experiments.Claim{
			Name:      fmt.Sprintf("crossings-%d", a.rtt.Milliseconds()),
			Text:      fmt.Sprintf("samples that cross a tick lift the mean wait of a segment that is alone to %v ms, at a round trip of %v", a.wait, a.rtt),
			Published: fmt.Sprintf("%v ms", a.wait), Source: "recurrence of 4.4BSD's tcp_xmit_timer, cv 0.3", Tag: experiments.Computed,
			Measured: experiments.MeasuredWithin(in, "ms").Judging(in.Value), Expected: experiments.Between(a.wait-anchorBand, a.wait+anchorBand, "").OrDiffers(experiments.Between(1000, 2*a.wait, "")).Saying("%v ± %v ms", a.wait, anchorBand),

			Otherwise: "the phases of the tick at which exchanges begin are not those of the recurrence",
		})
	}
}

// gvisor compares gVisor's own TCP with its floor.
func (r results) gvisor(p *Plan, out *experiments.Outcome) {
	if p.GVisorSeeds == 0 {
		return
	}
	near := func(rtt time.Duration) bool { return rtt <= gvisorFloor/8 } // SRTT + 4·RTTVAR is far below the floor
	floor := float64(gvisorFloor / time.Millisecond)
	early, lone, atFloor, close := 0, 0, 0, 0
	groups, _ := r.of(gvisor, 0, func(time.Duration) bool { return true })
	for _, w := range slices.Concat(groups...) {
		if lone++; w < floor {
			early++
		}
	}
	groups, _ = r.of(gvisor, 0, near)
	for _, w := range slices.Concat(groups...) {
		if close++; w < floor+1 {
			atFloor++
		}
	}
	text, measured := fmt.Sprintf("gVisor's own TCP sends a lone segment again no sooner than after its floor of %v", gvisorFloor), fmt.Sprintf("%d of %d sooner", early, lone)
	expected := "none"
	if close > 0 {
		text += fmt.Sprintf(", and at round trips up to %v right then", gvisorFloor/8)
		measured += fmt.Sprintf(", %d of %d right then", atFloor, close)
		expected = "none; all within 1 ms"
	}
	out.Claim(experiments.Claim{
		Name: "gvisor", Text: text, Published: "MinRTO = 200 ms", Source: "gVisor, pkg/tcpip/transport/tcp/snd.go", Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s", measured), Expected: experiments.Whether(early == 0 && atFloor == close && lone > 0, "%s", expected),
		Otherwise: "gVisor's timer has another rule",
	})
}

func (r results) tables(p *Plan, out *experiments.Outcome) {
	byRTT := experiments.Table{
		Name: "waits", Title: "From the transmission that was lost to the next, by timers and round trip; all kinds of loss",
		Columns: []string{"timers", "round trip, ms", "losses", "mean, ms", "95 % from", "to", "least, ms", "p95, ms", "others"},
	}
	byKind := experiments.Table{
		Name: "kinds", Title: fmt.Sprintf("The same by kind of loss, at round trips up to %v", atMost),
		Columns: []string{"timers", "segment lost", "losses", "mean, ms", "95 % from", "to", "least, ms", "p95, ms", "others"},
	}
	row := func(t *experiments.Table, timers string, what any, groups [][]float64, other int) {
		if len(slices.Concat(groups...)) == 0 {
			return // all were repaired otherwise
		}
		all := slices.Concat(groups...)
		in := stat.Bootstrap(groups, 1, stat.Mean[float64])
		t.Add(name(timers), what, len(all), in.Value, in.Lo, in.Hi, slices.Min(all), stat.Quantile(all, 0.95), other)
	}
	for _, timers := range p.subjects() {
		for _, rtt := range p.RTTs {
			groups, other := r.of(timers, -1, exactly(rtt))
			row(&byRTT, timers, rtt.Milliseconds(), groups, other)
		}
		for k := range kinds {
			groups, other := r.of(timers, k, short)
			row(&byKind, timers, kinds[k].name, groups, other)
		}
	}
	out.Tables = append(out.Tables, byRTT, byKind)
}

func (r results) figures(p *Plan, out *experiments.Outcome) {
	dist := figure.Figure{
		Name: "waits", Title: "What the timer adds to a loss that only it can repair",
		X: figure.Axis{Label: "from the transmission that was lost to the next, ms", Log: true}, Y: figure.Axis{Label: "share of losses", Lo: 0, Hi: 1},
		Marks: []figure.Mark{
			{Label: "1100 ms in 1995", At: publishedCoarse, Vertical: true},
			{Label: "300 ms", At: publishedFine, Vertical: true},
		},
		Caption: fmt.Sprintf("Round trips up to %v, all kinds of loss. 300 ms would have done, it was found in 1995. Clocks of 500 ms keep each loss for a second and more; "+
			"a fine clock with a floor of 1 s does no better, and without one it takes what the round trip takes.", atMost),
	}
	means := figure.Figure{
		Name: "mean-by-rtt", Title: "The mean wait by the round trip",
		X: figure.Axis{Label: "round trip, ms"}, Y: figure.Axis{Label: "mean wait, ms", Lo: 0, Hi: 2200},
		Marks:   []figure.Mark{{Label: "1100 ms, measured in 1995", At: publishedCoarse}, {Label: "300 ms would have done", At: publishedFine}},
		Caption: "All kinds of loss, with 95 % intervals over seeds. Dashed is what the recurrence gives for a segment that is alone.",
	}
	for _, timers := range p.subjects() {
		groups, _ := r.of(timers, -1, short)
		x, y := distribution(slices.Concat(groups...))
		dist.Series = append(dist.Series, figure.Series{Name: name(timers), Kind: figure.Steps, X: x, Y: y})
		s := figure.Series{Name: name(timers), Kind: figure.Line}
		rtts := slices.Clone(p.RTTs)
		slices.Sort(rtts)
		for _, rtt := range slices.Compact(rtts) {
			groups, _ := r.of(timers, -1, exactly(rtt))
			in := stat.Bootstrap(groups, 1, stat.Mean[float64])
			s.X, s.Y = append(s.X, rtt.Seconds()*1e3), append(s.Y, in.Value)
			s.Lo, s.Hi = append(s.Lo, in.Lo), append(s.Hi, in.Hi)
		}
		means.Series = append(means.Series, s)
	}
	law := figure.Series{Name: "recurrence, alone", Kind: figure.Line, Dashed: true}
	for _, a := range anchors {
		law.X, law.Y = append(law.X, a.rtt.Seconds()*1e3), append(law.Y, a.wait)
	}
	means.Series = append(means.Series, law)
	out.Figures = append(out.Figures, dist, means)
}

// distribution returns the steps of a distribution, at most about 200 of them.
func distribution(all []float64) (x, y []float64) {
	const most = 200
	for i := range most + 1 {
		q := float64(i) / most
		v := stat.Quantile(all, q)
		if n := len(x); n > 0 && x[n-1] == v {
			y[n-1] = q
			continue
		}
		x, y = append(x, v), append(y, q)
	}
	return x, y
}
