package frontier

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

const (
	paper = "M. Allman and V. Paxson, SIGCOMM 1999, abstract"
	shape = "shape expected beforehand, which the abstract does not mention"

	fineTick = 100 * time.Millisecond // RFC 6298 §4: clocks up to it "perform somewhat better"
	band     = 0.1                    // relative tolerance of the waits of fine clocks
)

// The knee is expected between these floors.
const (
	kneeLeast = 200 * time.Millisecond
	kneeMost  = 500 * time.Millisecond
)

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	r := newResults(p, cells)
	top := p.Floors[len(p.Floors)-1]
	atStandard := r.effects(p.factors(levels{p.Floors, p.Ticks, allSamplings}, []time.Duration{top},
		[]time.Duration{0}))
	anywhere := r.effects(p.factors(levels{p.Floors, p.Ticks, allSamplings}, p.Floors, p.Ticks))
	out := &experiments.Outcome{
		Tables: []experiments.Table{r.floorTable(p), effectTable(p, atStandard, anywhere), r.clockTable(p),
			r.gainTable(p), r.processTable(p), r.allTable(p)},
		Figures: []figure.Figure{r.frontierFigure(p), r.waitFigure(p)}, Notes: r.notes(p),
	}
	for _, c := range slices.Concat(r.monotoneClaims(p), r.orderClaims(p, atStandard, anywhere, top),
		r.samplingClaims(p, atStandard, anywhere, top),
		[]experiments.Claim{r.fineClaim(p), r.kneeClaim(p)}) {
		out.Claim(c)
	}
	r.onCaptures(p, top, out)
	return out, nil
}

func (r results) notes(p *Plan) (all []string) {
	if len(p.Later) > 0 {
		e := r.effects(p.factors(levels{p.Floors, p.allTicks(), allSamplings}, p.Floors, p.allTicks()))
		all = append(all, fmt.Sprintf("A mean over all levels depends on which levels it includes. With the ticks "+
			"that were added later the floor changes the wait %s times and "+
			"the share of bad timeouts by %s points, the granularity %s times and by %s points.",
			experiments.Number(e[byFloor].wait.Value), experiments.Number(e[byFloor].share.Value),
			experiments.Number(e[byTick].wait.Value), experiments.Number(e[byTick].share.Value)))
	}
	return append(all, r.variation(p),
		"There is no feedback: a bad timeout costs nothing here but its count, and avoiding one gains nothing. "+
			"Losses and round trips are random, and not "+
			"taken from traces as in 1999. So only shapes are comparable with the paper, not levels.",
		"A clock of tick G that measures round trips makes the timeout at least G (RFC 6298 §4): without a floor, "+
			"it is the floor. A clock that "+
			"only expires timers adds half a tick to each wait. The table of single clocks separates the two.")
}

// monotoneClaims judges the trade-off between floors with exact clocks.
func (r results) monotoneClaims(p *Plan) []experiments.Claim {
	falls, rises, steps := 0, 0, 0
	each, all := 0, 0
	for i := 1; i < len(p.Floors); i++ {
		low, high := r.of(standard(p.Floors[i-1]), ""), r.of(standard(p.Floors[i]), "")
		steps++
		if low[waited] < high[waited] {
			falls++
		}
		if low.share() > high.share() {
			rises++
		}
		for _, process := range p.Processes {
			low, high := r.of(standard(p.Floors[i-1]), process), r.of(standard(p.Floors[i]), process)
			all++
			if low[waited] <= high[waited] && low.share() >= high.share() {
				each++
			}
		}
	}
	return []experiments.Claim{
		{Name: "wait-falls", Class: experiments.Law, Text: "the lower the floor, the shorter losses wait",
			Source: shape, Tag: experiments.Computed,
			Measured:  experiments.MeasuredText("%d of %d steps of the floor", falls, steps),
			Expected:  experiments.Whether(falls == steps, "all"),
			Otherwise: "the floor has no effect"},
		{Name: "bad-rises", Class: experiments.Law, Text: "the lower the floor, the more timeouts are bad",
			Source: shape, Tag: experiments.Computed,
			Measured: experiments.MeasuredText("%d of %d steps of the floor; both hold in %d of %d steps of "+
				"single processes", rises, steps, each, all),
			Expected:  experiments.Whether(rises == steps, "all steps of the floor"),
			Otherwise: "no round trip is between the floors"},
	}
}

// effect is how far a factor changes the results.
type effect struct {
	name  string
	wait  stat.Interval // greatest wait / least wait, over the factor's levels
	share stat.Interval // greatest minus least share of bad timeouts, percentage points
}

// The factors.
const (
	byFloor = iota
	byTick
	byGains
	bySampling
)

// levels are the levels of the factors other than the gains.
type levels struct {
	floors, ticks []time.Duration
	samplings     []sampling
}

var allSamplings = []sampling{first, every, diluted}

// factors returns, by factor, groups of configurations that differ in nothing else. There is one
// group for each of the given ticks for the floor, and for each of the given floors for the other
// factors.
func (p *Plan) factors(l levels, floors, ticks []time.Duration) (all [4][][]config) {
	for _, tick := range ticks {
		var g []config
		for _, floor := range l.floors {
			g = append(g, both(floor, tick))
		}
		all[byFloor] = append(all[byFloor], g)
	}
	for _, floor := range floors {
		var ticks, gains, samplings []config
		for _, tick := range l.ticks {
			ticks = append(ticks, both(floor, tick))
		}
		for _, alpha := range p.Alphas {
			for _, beta := range p.Betas {
				c := standard(floor)
				c.alpha, c.beta = alpha, beta
				gains = append(gains, c)
			}
		}
		for _, s := range l.samplings {
			c := standard(floor)
			c.sampling = s
			samplings = append(samplings, c)
		}
		all[byTick], all[byGains], all[bySampling] = append(all[byTick], ticks), append(all[byGains], gains),
			append(all[bySampling], samplings)
	}
	return all
}

// effects measures how far each factor changes the wait and the share of bad timeouts. Each group
// of configurations differs in nothing else. The effect is the mean over the groups.
func (r results) effects(factors [4][][]config) (all [4]effect) {
	names := [4]string{"floor", "granularity", "gains", "sampling"}
	for f, groups := range factors {
		runs := r.runs(groups)
		over := func(value func(Tally) float64, compare func(lo, hi float64) float64) stat.Interval {
			return stat.Bootstrap(runs, 1, func(drawn [][]Tally) float64 {
				total := make([]Tally, len(drawn[0]))
				for _, run := range drawn {
					for i, t := range run {
						total[i].add(t)
					}
				}
				return overGroups(total, len(groups[0]), value, compare)
			})
		}
		all[f] = effect{
			name:  names[f],
			wait:  over(func(t Tally) float64 { return t[waited] }, func(lo, hi float64) float64 { return hi / lo }),
			share: over(Tally.share, func(lo, hi float64) float64 { return hi - lo }),
		}
	}
	return all
}

// runs returns, for each seed, a run: the tallies of all configurations in the order of the groups.
func (r results) runs(groups [][]config) (bySeed [][][]Tally) {
	for _, c := range slices.Concat(groups...) {
		for i, tallies := range r.bySeed(c, "") {
			if i == len(bySeed) {
				bySeed = append(bySeed, [][]Tally{nil})
			}
			bySeed[i][0] = append(bySeed[i][0], sum(tallies))
		}
	}
	return bySeed
}

// overGroups compares the least and the greatest value in each group of size, and returns the mean.
func overGroups(all []Tally, size int, value func(Tally) float64, compare func(lo, hi float64) float64) float64 {
	var means []float64
	for i := 0; i < len(all); i += size {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, t := range all[i : i+size] {
			lo, hi = min(lo, value(t)), max(hi, value(t))
		}
		means = append(means, compare(lo, hi))
	}
	return stat.Mean(means)
}

// orderClaims judges which factor changes most: next to RFC 6298's estimator with its floor, where
// the published study has its clocks, and over all levels.
func (r results) orderClaims(p *Plan, standard, anywhere [4]effect, top time.Duration) []experiments.Claim {
	wait, share := func(e effect) float64 { return e.wait.Value }, func(e effect) float64 { return e.share.Value }
	claim := func(name, text string, e [4]effect, why string) experiments.Claim {
		falling, first := true, true
		for _, of := range []func(effect) float64{wait, share} {
			floor, tick, gains := of(e[byFloor]), of(e[byTick]), of(e[byGains])
			falling, first = falling && floor > tick && tick > gains, first && gains < floor
		}
		say := func(of func(effect) float64) string {
			return fmt.Sprintf("floor %s, granularity %s, gains %s", experiments.Number(of(e[byFloor])),
				experiments.Number(of(e[byTick])), experiments.Number(of(e[byGains])))
		}
		return experiments.Claim{Name: name, Class: experiments.OfOthers, Text: text +
			": wait and share of bad timeouts are changed most by the floor, then by the granularity, hardly by " +
			"the gains",
			Published: "dominated by the minimum, to a lesser extent by the granularity, virtually unaffected by " +
				"the EWMA's parameters", Source: paper, Tag: experiments.FromPrint,
			Measured:  experiments.MeasuredText("wait: %s times; bad: %s points", say(wait), say(share)),
			Expected:  experiments.Whether(falling, "falling, both").OrDiffersIf(first, "gains below the floor"),
			Basis:     "the order as printed, without numbers",
			Otherwise: why}
	}
	const (
		times  = "times from least to greatest"
		points = "percentage points from least to greatest"
		gains  = "one of the gains tried is far from those of RFC 6298"
	)
	apart, about := r.apart(p)
	coarse := func(of func(effect) float64, unit string) string {
		const why = "a clock with a tick makes the timeout at least that: where the floor is lower, the " +
			"granularity is the floor, and the two are one factor"
		if about == "" {
			return why
		}
		text := fmt.Sprintf("%s. %s, floor %s, granularity %s, gains %s %s", why, about,
			experiments.Number(of(apart[byFloor])), experiments.Number(of(apart[byTick])),
			experiments.Number(of(apart[byGains])), unit)
		if of(apart[byFloor]) > max(of(apart[byTick]), of(apart[byGains])) {
			text += ": the floor is first"
		}
		return text
	}
	return []experiments.Claim{
		claim("order", fmt.Sprintf("one at a time next to RFC 6298's estimator with a floor of %v and exact clocks",
			top), standard, gains),
		claim("order-anywhere", "over all levels of the others", anywhere, "wait: "+coarse(wait,
			times)+". Bad timeouts: "+coarse(share, points)),
	}
}

// samplingClaims judges how much it matters how often round trips are measured.
func (r results) samplingClaims(p *Plan, standard, anywhere [4]effect, top time.Duration) []experiments.Claim {
	divided := r.effects(p.factors(levels{p.Floors, p.Ticks, []sampling{first, diluted}}, p.Floors,
		p.Ticks))[bySampling]
	claim := func(name, where string, e [4]effect) experiments.Claim {
		s := e[bySampling]
		less := s.wait.Value < e[byTick].wait.Value && s.share.Value < e[byFloor].share.Value
		return experiments.Claim{Name: name, Class: experiments.OfOthers,
			Published: "virtually unaffected by how often RTT measurements are made",
			Basis:     "the order as printed: less than the factors before it", Text: where +
				", how often round trips are measured changes the wait less than the granularity does, and bad " +
				"timeouts less than the floor does",
			Source: paper, Tag: experiments.FromPrint,
			Measured: experiments.MeasuredText("wait %s times, bad timeouts %s percentage points",
				experiments.Number(s.wait.Value), experiments.Number(s.share.Value)),
			Expected: experiments.Whether(less, "less than %s times and %s points",
				experiments.Number(e[byTick].wait.Value), experiments.Number(e[byFloor].share.Value)),
			Otherwise: fmt.Sprintf("with a sample of each segment and undivided gains, the averages remember "+
				"little more than a flight. Where no floor is above "+
				"them, that shows as bad timeouts. RFC 7323 §G divides the gains for this reason: with divided "+
				"gains alone it is %s times and %s points",
				experiments.Number(divided.wait.Value), experiments.Number(divided.share.Value))}
	}
	return []experiments.Claim{claim("sampling", fmt.Sprintf("next to a floor of %v", top), standard),
		claim("sampling-anywhere", "over all levels of the floor", anywhere)}
}

// apart returns the effects where no tick is above a floor. about describes these levels; it is
// empty if there are none.
func (r results) apart(p *Plan) (all [4]effect, about string) {
	var l levels
	for _, floor := range p.Floors {
		if floor >= fineTick {
			l.floors = append(l.floors, floor)
		}
	}
	for _, tick := range p.Ticks {
		if tick <= fineTick {
			l.ticks = append(l.ticks, tick)
		}
	}
	if len(l.floors) < 2 || len(l.ticks) < 2 {
		return all, ""
	}
	l.samplings = allSamplings
	return r.effects(p.factors(l, l.floors, l.ticks)),
		fmt.Sprintf("Over floors from %v up and ticks up to %v, where no tick is above the floor", l.floors[0],
			l.ticks[len(l.ticks)-1])
}

// fineClaim judges clocks with ticks of up to 100 ms.
func (r results) fineClaim(p *Plan) experiments.Claim {
	top := p.Floors[len(p.Floors)-1]
	worst, worstFloor, atTop := 0.0, time.Duration(0), 0.0
	for _, floor := range p.Floors {
		exact := r.of(both(floor, 0), "")
		for _, tick := range p.allTicks() {
			if tick == 0 || tick > fineTick {
				continue
			}
			off := math.Abs(r.of(both(floor, tick), "")[waited]/exact[waited] - 1)
			if off > worst {
				worst, worstFloor = off, floor
			}
			if floor == top {
				atTop = max(atTop, off)
			}
		}
	}
	return experiments.Claim{Name: "fine-ticks", Class: experiments.Law,
		Text:      "losses wait as long with clocks of up to 100 ms as with exact ones",
		Published: "clocks of 100 ms and less perform somewhat better than coarser ones", Source: "RFC 6298 §4",
		Tag: experiments.Standard,
		Measured: experiments.MeasuredText("within %s %% with a floor of %v; within %s %% with any, the most at %v",
			experiments.Number(100*atTop), top, experiments.Number(100*worst), worstFloor),
		Expected: experiments.Whether(worst <= band, "within 10 %% with each floor").OrDiffersIf(atTop <= band,
			"within 10 %% with a floor of %v only", top),
		Otherwise: r.fineWhy(p, worstFloor)}
}

// fineWhy explains which of the two clocks adds to the wait at a floor.
func (r results) fineWhy(p *Plan, floor time.Duration) string {
	const why = "with a low floor the tick of the clock is itself a floor, and the tick of expiry adds half a tick " +
		"to waits that are not much longer"
	if !slices.Contains(p.Alone, fineTick) {
		return why
	}
	clock, expiry := standard(floor), standard(floor)
	clock.rttTick, expiry.tick = fineTick, fineTick
	more := func(c config) string {
		return experiments.Number(100 * (r.of(c, "")[waited]/r.of(standard(floor), "")[waited] - 1))
	}
	return fmt.Sprintf("%s: with a floor of %v a tick of %v adds %s %% if only the clock has it, and %s %% if only "+
		"expiry has it", why, floor, fineTick, more(clock), more(expiry))
}

// kneeClaim judges the floor at which the curve bends most: the point farthest from the chord
// between its ends.
func (r results) kneeClaim(p *Plan) experiments.Claim {
	var waits, shares []float64
	for _, floor := range p.Floors {
		t := r.of(standard(floor), "")
		waits, shares = append(waits, t[waited]), append(shares, t.share())
	}
	n := len(waits) - 1
	best, at := math.Inf(-1), time.Duration(0)
	for i, floor := range p.Floors {
		x, y := (waits[i]-waits[0])/(waits[n]-waits[0]), (shares[i]-shares[n])/(shares[0]-shares[n])
		if d := 1 - x - y; d > best { // below the chord from (0, 1) to (1, 0)
			best, at = d, floor
		}
	}
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	return experiments.Claim{Name: "knee", Class: experiments.Law, Basis: "expected beforehand for this project",
		Text: "the frontier bends most at a floor of a few hundred milliseconds", Source: shape,
		Tag:      experiments.Computed,
		Measured: experiments.MeasuredSpan(at),
		Expected: experiments.Between(ms(kneeLeast), ms(kneeMost),
			"ms").OrDiffers(experiments.Between(ms(p.Floors[1]), ms(p.Floors[n-1]), "ms")),
		Otherwise: "the bend depends on the length and the variation of round trips"}
}

// variation compares Linux's floor, which is on the variation, with a floor on the timeout.
func (r results) variation(p *Plan) string {
	linux := r.of(config{other: "linux"}, "")
	text := fmt.Sprintf("Linux's floor of 200 ms is on the variation and not on the timeout: its good timeouts "+
		"take %s round trips, and %s %% of its timeouts are bad.",
		experiments.Number(linux.mean()), experiments.Number(linux.share()))
	for i := 1; i < len(p.Floors); i++ {
		low, high := r.of(standard(p.Floors[i-1]), ""), r.of(standard(p.Floors[i]), "")
		if low.mean() <= linux.mean() && linux.mean() <= high.mean() {
			part := (linux.mean() - low.mean()) / (high.mean() - low.mean())
			share := low.share() + float64(part*(high.share()-low.share()))
			return text + fmt.Sprintf(" A floor on the timeout, between %v and %v, has %s %% where it takes as long.",
				p.Floors[i-1], p.Floors[i], experiments.Number(share))
		}
	}
	return text
}

// label names a tick or a floor.
func label(d time.Duration, zero string) string {
	if d == 0 {
		return zero
	}
	return d.String()
}

// measures are the columns of row.
var measures = []string{"wait, s", "wait, round trips", "95 % from", "to", "bad, %", "95 % from ", "to "}

// row returns the measures of a configuration.
func (r results) row(c config, process string) []any {
	groups := r.bySeed(c, process)
	mean := stat.Bootstrap(groups, 1, func(all []Tally) float64 { return sum(all).mean() })
	share := stat.Bootstrap(groups, 1, func(all []Tally) float64 { return sum(all).share() })
	return []any{r.of(c, process).seconds(), mean.Value, mean.Lo, mean.Hi, share.Value, share.Lo, share.Hi}
}

func (r results) floorTable(p *Plan) experiments.Table {
	t := experiments.Table{Name: "floors", Title: "The mean wait of a good timeout, and the share of bad ones, by " +
		"the floor; exact clocks",
		Columns: append([]string{"estimator", "floor, ms"}, measures...)}
	for _, floor := range p.Floors {
		t.Rows = append(t.Rows, append([]any{"RFC 6298", floor.Milliseconds()}, r.row(standard(floor), "")...))
	}
	for _, name := range others {
		t.Rows = append(t.Rows, append([]any{name, "its own"}, r.row(config{other: name}, "")...))
	}
	return t
}

func effectTable(p *Plan, standard, anywhere [4]effect) experiments.Table {
	t := experiments.Table{Name: "effects", Title: "Effect of each factor, the others fixed: greatest wait / least " +
		"wait, and greatest minus least share of bad timeouts",
		Columns: []string{"factor", "levels of the others", "wait, times", "95 % from", "to", "bad, points",
			"95 % from ", "to "}}
	for i, e := range slices.Concat(standard[:], anywhere[:]) {
		levels := "floor " + p.Floors[len(p.Floors)-1].String() + ", exact"
		if i >= len(standard) {
			levels = "all floors, ticks"
		}
		t.Add(e.name, levels, e.wait.Value, e.wait.Lo, e.wait.Hi, e.share.Value, e.share.Lo, e.share.Hi)
	}
	return t
}

func (r results) clockTable(p *Plan) experiments.Table {
	t := experiments.Table{Name: "clocks", Title: "A tick for one clock, the other one exact; and for both",
		Columns: []string{"floor, ms", "tick, ms", "clock with the tick", "wait, s", "wait, round trips", "bad, %",
			"bad, per 1000 flights"}}
	flights := 0
	for i := range r.cells {
		flights += r.cells[i].Rounds
	}
	for _, floor := range []time.Duration{p.Floors[0], p.Floors[len(p.Floors)/2], p.Floors[len(p.Floors)-1]} {
		add := func(tick time.Duration, of string, c config) {
			n := r.of(c, "")
			t.Add(floor.Milliseconds(), tick.Milliseconds(), of, n.seconds(), n.mean(), n.share(),
				1000*n[bad]/float64(flights))
		}
		add(0, "none", standard(floor))
		for _, tick := range p.Alone {
			c := standard(floor)
			c.rttTick = tick
			add(tick, "round trips", c)
			c.rttTick, c.tick = 0, tick
			add(tick, "expiry", c)
			if slices.Contains(p.Ticks, tick) {
				add(tick, "both", both(floor, tick))
			}
		}
	}
	return t
}

func (r results) gainTable(p *Plan) experiments.Table {
	t := experiments.Table{Name: "gains", Title: "Gains and sampling, without a floor and with the highest; exact " +
		"clocks",
		Columns: []string{"floor, ms", "alpha", "beta", "RTT samples", "wait, s", "wait, round trips", "bad, %"}}
	for _, floor := range []time.Duration{p.Floors[0], p.Floors[len(p.Floors)-1]} {
		for _, c := range p.gained(floor) {
			n := r.of(c, "")
			t.Add(floor.Milliseconds(), fmt.Sprintf("1/%d", c.alpha), fmt.Sprintf("1/%d", c.beta),
				samplings[c.sampling], n.seconds(), n.mean(), n.share())
		}
	}
	return t
}

func (r results) processTable(p *Plan) experiments.Table {
	t := experiments.Table{Name: "processes", Title: "The ends of the frontier by process of round trips; exact clocks",
		Columns: append([]string{"process", "floor, ms"}, measures...)}
	for _, process := range p.Processes {
		for _, floor := range []time.Duration{p.Floors[0], p.Floors[len(p.Floors)-1]} {
			t.Rows = append(t.Rows, append([]any{process, floor.Milliseconds()}, r.row(standard(floor), process)...))
		}
	}
	return t
}

func (r results) allTable(p *Plan) experiments.Table {
	t := experiments.Table{Name: "configurations", Title: "All configurations", Data: true,
		Columns: []string{"configuration", "process", "good", "bad", "waited, s", "waited, round trips"}}
	for _, c := range p.configs() {
		for _, process := range append([]string{""}, p.Processes...) {
			n := r.of(c, process)
			t.Add(c.String(), cmp.Or(process, "all"), int(n[good]), int(n[bad]), n[waited], n[normalised])
		}
	}
	return t
}

func (r results) frontierFigure(p *Plan) figure.Figure {
	f := figure.Figure{
		Name: "frontier", Title: "Wait and bad timeouts by floor and granularity",
		X: figure.Axis{Label: "mean wait of a good timeout, round trips"},
		Y: figure.Axis{Label: "bad timeouts, % of all"},
		Caption: "One colour per floor, one sign per granularity of both clocks. Ticks below 100 ms coincide with " +
			"exact clocks and are left out. Along one sign the floor " +
			"moves the estimator; a coarse tick keeps it at the far end.",
	}
	for i, floor := range p.Floors {
		for k, tick := range p.Ticks {
			if tick != 0 && tick < fineTick {
				continue
			}
			t := r.of(both(floor, tick), "")
			f.Series = append(f.Series, figure.Series{
				Name: "floor " + label(floor, "none") + ", tick " + label(tick, "none"), Kind: figure.Points,
				X: []float64{t.mean()}, Y: []float64{t.share()}, Group: i + 1, Marker: k + 1,
			})
		}
	}
	for _, name := range others {
		t := r.of(config{other: name}, "")
		f.Series = append(f.Series, figure.Series{Name: name, Kind: figure.Points, X: []float64{t.mean()},
			Y: []float64{t.share()}})
	}
	return f
}

func (r results) waitFigure(p *Plan) figure.Figure {
	f := figure.Figure{
		Name: "wait-by-floor", Title: "The wait by the floor, for each granularity",
		X: figure.Axis{Label: "floor, ms"}, Y: figure.Axis{Label: "mean wait of a good timeout, s"},
		Caption: "Both clocks have the tick. Without a floor a coarse tick is one.",
	}
	for _, tick := range p.Ticks {
		s := figure.Series{Name: "tick " + label(tick, "none"), Kind: figure.Line}
		for _, floor := range p.Floors {
			s.AddInterval(floor.Seconds()*1e3, stat.Bootstrap(r.bySeed(both(floor, tick), ""), 1,
				func(all []Tally) float64 { return sum(all).seconds() }))
		}
		f.Series = append(f.Series, s)
	}
	return f
}
