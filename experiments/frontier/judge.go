package frontier

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

const (
	paper = "M. Allman and V. Paxson, SIGCOMM 1999, abstract"
	shape = "shape expected beforehand, of which the abstract does not tell"

	fineTick = 100 * time.Millisecond // RFC 6298 §4: up to it clocks perform somewhat better
	band     = 0.1                    // within which the waits of fine clocks are to be
)

// The knee is expected between these floors.
const (
	kneeLeast = 200 * time.Millisecond
	kneeMost  = 500 * time.Millisecond
)

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	r := newResults(p, cells)
	out := &experiments.Outcome{}
	r.monotone(p, out)
	top := p.Floors[len(p.Floors)-1]
	atStandard := r.effects(p.factors(levels{p.Floors, p.Ticks, allSamplings}, []time.Duration{top}, []time.Duration{0}))
	anywhere := r.effects(p.factors(levels{p.Floors, p.Ticks, allSamplings}, p.Floors, p.Ticks))
	r.order(p, atStandard, anywhere, top, out)
	r.fine(p, out)
	r.knee(p, out)
	r.tables(p, atStandard, anywhere, out)
	r.figures(p, out)
	if len(p.Later) > 0 {
		all := r.effects(p.factors(levels{p.Floors, p.allTicks(), allSamplings}, p.Floors, p.allTicks()))
		out.Notes = append(out.Notes, fmt.Sprintf("A mean over all levels goes by which levels are in it. With the ticks that were added later the floor moves the wait %s times and "+
			"the share of bad timeouts %s points, the granularity %s times and %s points.", experiments.Number(all[byFloor].wait.Value), experiments.Number(all[byFloor].share.Value),
			experiments.Number(all[byTick].wait.Value), experiments.Number(all[byTick].share.Value)))
	}
	out.Notes = append(out.Notes, r.variation(p),
		"There is no feedback: a bad timeout costs nothing here but its count, and one that is avoided gains nothing. Losses and round trips are drawn "+
			"from processes, and not taken from traces as in 1999, so that levels are not to be compared with those of the paper, only shapes.",
		"A clock of tick G that measures round trips makes the timeout at least G by itself (RFC 6298 §4): without a floor, it is the floor. One that "+
			"only expires timers adds half a tick to each wait. The two are apart in the table of single clocks.")
	return out, nil
}

// monotone judges the trade-off with exact clocks.
func (r results) monotone(p *Plan, out *experiments.Outcome) {
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
	out.Claim(experiments.Claim{
		Name: "wait-falls", Text: "the lower the floor, the shorter losses wait", Source: shape, Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d of %d steps of the floor", falls, steps), Expected: experiments.Whether(falls == steps, "all"),
		Otherwise: "the floor does not bind",
	})
	out.Claim(experiments.Claim{
		Name: "bad-rises", Text: "the lower the floor, the more timeouts are bad", Source: shape, Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%d of %d steps of the floor; both hold in %d of %d steps of single processes", rises, steps, each, all),
		Expected:  experiments.Whether(rises == steps, "all of the former"),
		Otherwise: "no round trip comes between the floors",
	})
}

// effect is what a factor moves.
type effect struct {
	name  string
	wait  stat.Interval // greatest wait by the least, over the factor's levels
	share stat.Interval // greatest share of bad timeouts less the least, in percentage points
}

// The factors.
const (
	byFloor = iota
	byTick
	byGains
	bySampling
)

// levels are those of the factors, beside the gains.
type levels struct {
	floors, ticks []time.Duration
	samplings     []sampling
}

var allSamplings = []sampling{first, every, diluted}

// factors returns, by factor, groups of configurations that differ in nothing else: one for each of the others' levels, which are those
// ticks for the floor, and those floors for the rest.
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
		all[byTick], all[byGains], all[bySampling] = append(all[byTick], ticks), append(all[byGains], gains), append(all[bySampling], samplings)
	}
	return all
}

// effects measures what each factor moves, over groups of configurations that differ in nothing else: the mean over the groups.
func (r results) effects(factors [4][][]config) (all [4]effect) {
	names := [4]string{"floor", "granularity", "gains", "sampling"}
	for f, groups := range factors {
		// A run of a seed has all tallies of the factor's configurations, in the order of the groups.
		var bySeed [][][]Tally
		n := 0
		for _, g := range groups {
			for _, c := range g {
				for i, tallies := range r.bySeed(c, "") {
					if n == 0 {
						bySeed = append(bySeed, [][]Tally{nil})
					}
					bySeed[i][0] = append(bySeed[i][0], sum(tallies))
				}
				n++
			}
		}
		size := len(groups[0])
		pooled := func(runs [][]Tally) []Tally {
			total := make([]Tally, n)
			for _, run := range runs {
				for i, t := range run {
					total[i].add(t)
				}
			}
			return total
		}
		all[f] = effect{
			name: names[f],
			wait: stat.Bootstrap(bySeed, 1, func(runs [][]Tally) float64 {
				return overGroups(pooled(runs), size, func(t Tally) float64 { return t[waited] }, func(lo, hi float64) float64 { return hi / lo })
			}),
			share: stat.Bootstrap(bySeed, 1, func(runs [][]Tally) float64 {
				return overGroups(pooled(runs), size, Tally.share, func(lo, hi float64) float64 { return hi - lo })
			}),
		}
	}
	return all
}

// overGroups returns the mean, over groups of so many, of what the least and the greatest value come to.
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

// order judges which factor moves most: beside the estimator of RFC 6298 with its floor, where the published study has its clocks, and
// wherever the others are.
func (r results) order(p *Plan, standard, anywhere [4]effect, top time.Duration, out *experiments.Outcome) {
	verdict := func(floor, tick, gains float64) experiments.Verdict {
		switch {
		case gains >= floor:
			return experiments.NotReproduced
		case floor > tick && tick > gains:
			return experiments.Reproduced
		}
		return experiments.Differs
	}
	wait, share := func(e effect) float64 { return e.wait.Value }, func(e effect) float64 { return e.share.Value }
	claim := func(name, text string, e [4]effect, of func(effect) float64, unit, why string) {
		floor, tick, gains := of(e[byFloor]), of(e[byTick]), of(e[byGains])
		out.Claim(experiments.Claim{
			Name: name, Text: text, Source: paper, Tag: experiments.FromPrint,
			Measured:  experiments.MeasuredText("floor %s, granularity %s, gains %s %s", experiments.Number(floor), experiments.Number(tick), experiments.Number(gains), unit),
			Expected:  experiments.Decided(verdict(floor, tick, gains), "falling; gains above the floor is not reproduced"),
			Otherwise: why,
		})
	}
	const (
		times  = "times from least to greatest"
		points = "percentage points from least to greatest"
	)
	apart, about := r.apart(p)
	coarse := func(of func(effect) float64, unit string) string {
		const why = "a clock with a tick makes the timeout at least that: where the floor is lower, the granularity is the floor, and the two are one factor"
		if about == "" {
			return why
		}
		text := fmt.Sprintf("%s. %s, floor %s, granularity %s, gains %s %s", why, about,
			experiments.Number(of(apart[byFloor])), experiments.Number(of(apart[byTick])), experiments.Number(of(apart[byGains])), unit)
		if of(apart[byFloor]) > max(of(apart[byTick]), of(apart[byGains])) {
			text += ": the floor is first"
		}
		return text
	}
	claim("order-wait", fmt.Sprintf("one at a time beside RFC 6298's estimator with a floor of %v and exact clocks: the wait is moved most by the floor, then by the "+
		"granularity, then by the gains", top), standard, wait, times, "one of the gains tried is far from those of RFC 6298")
	claim("order-bad", fmt.Sprintf("one at a time beside RFC 6298's estimator with a floor of %v and exact clocks: the share of bad timeouts is moved most by the floor, "+
		"then by the granularity, then by the gains", top), standard, share, points, "one of the gains tried is far from those of RFC 6298")
	claim("order-wait-anywhere", "over all levels of the others: the wait is moved most by the floor, then by the granularity, then by the gains", anywhere, wait, times, coarse(wait, times))
	claim("order-bad-anywhere", "over all levels of the others: the share of bad timeouts is moved most by the floor, then by the granularity, then by the gains", anywhere, share, points, coarse(share, points))
	divided := r.effects(p.factors(levels{p.Floors, p.Ticks, []sampling{first, diluted}}, p.Floors, p.Ticks))[bySampling]
	sampling := func(name, text string, e [4]effect) {
		s, few := e[bySampling], e[bySampling].wait.Value < e[byTick].wait.Value && e[bySampling].share.Value < e[byFloor].share.Value
		out.Claim(experiments.Claim{
			Name: name, Text: text, Source: paper, Tag: experiments.FromPrint,
			Measured: experiments.MeasuredText("wait %s times, bad timeouts %s percentage points", experiments.Number(s.wait.Value), experiments.Number(s.share.Value)),
			Expected: experiments.Whether(few, "less than %s times and %s points", experiments.Number(e[byTick].wait.Value), experiments.Number(e[byFloor].share.Value)),
			Otherwise: fmt.Sprintf("with a sample of each segment and gains that are not divided, the averages remember little more than a flight: where no floor is above "+
				"them, that shows as bad timeouts. RFC 7323 §G divides the gains for it; with those alone it is %s times and %s points",
				experiments.Number(divided.wait.Value), experiments.Number(divided.share.Value)),
		})
	}
	sampling("sampling", fmt.Sprintf("beside a floor of %v, how often round trips are measured moves the wait less than the granularity does, and bad timeouts less than "+
		"the floor does", top), standard)
	sampling("sampling-anywhere", "over all levels of the floor, how often round trips are measured moves the wait less than the granularity does, and bad timeouts less than the "+
		"floor does", anywhere)
}

// apart is what the factors move where no tick is above a floor, and says where that is; "" is nowhere.
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
		fmt.Sprintf("Over floors from %v up and ticks up to %v, where no tick is above the floor", l.floors[0], l.ticks[len(l.ticks)-1])
}

// fine judges clocks of up to 100 ms.
func (r results) fine(p *Plan, out *experiments.Outcome) {
	worst, worstFloor, top := 0.0, time.Duration(0), 0.0
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
			if floor == p.Floors[len(p.Floors)-1] {
				top = max(top, off)
			}
		}
	}
	verdict := experiments.Reproduced
	switch {
	case top > band:
		verdict = experiments.NotReproduced
	case worst > band:
		verdict = experiments.Differs
	}
	out.Claim(experiments.Claim{
		Name: "fine-ticks", Text: "clocks of up to 100 ms make losses wait for as long as exact ones do",
		Published: "clocks of 100 ms and less perform somewhat better than coarser ones", Source: "RFC 6298 §4", Tag: experiments.Standard,
		Measured: experiments.MeasuredText("within %s %% with a floor of %v; within %s %% with any, the most at %v",
			experiments.Number(100*top), p.Floors[len(p.Floors)-1], experiments.Number(100*worst), worstFloor),
		Expected:  experiments.Decided(verdict, "within 10 % with each floor; more with the floor of 1 s is not reproduced"),
		Otherwise: r.fineWhy(p, worstFloor),
	})
}

// fineWhy says which of the two clocks makes losses wait with a floor.
func (r results) fineWhy(p *Plan, floor time.Duration) string {
	const why = "with a low floor the tick of a clock is a floor itself, and that of expiry adds half a tick to waits that are not much longer"
	if !slices.Contains(p.Alone, fineTick) {
		return why
	}
	clock, expiry := standard(floor), standard(floor)
	clock.rttTick, expiry.tick = fineTick, fineTick
	more := func(c config) string {
		return experiments.Number(100 * (r.of(c, "")[waited]/r.of(standard(floor), "")[waited] - 1))
	}
	return fmt.Sprintf("%s: with a floor of %v a tick of %v adds %s %% where the clock alone has it, and %s %% where expiry alone has it", why, floor, fineTick, more(clock), more(expiry))
}

// knee finds the floor at which the curve bends most: that farthest from the chord between its ends.
func (r results) knee(p *Plan, out *experiments.Outcome) {
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
	out.Claim(experiments.Claim{
		Name: "knee", Text: "the frontier bends most at a floor of a few hundred milliseconds", Source: shape, Tag: experiments.Computed,
		Measured: experiments.MeasuredSpan(at).Judging(at.Seconds()), Expected: experiments.Between(kneeLeast.Seconds(), kneeMost.Seconds(), "").OrDiffers(experiments.Between(p.Floors[1].Seconds(), p.Floors[n-1].Seconds(), "")).Saying("200 to 500 ms; at an end of the curve is not reproduced"),

		Otherwise: "where the curve bends depends on how long round trips are, and on what they vary by",
	})
}

// variation says how a floor on the variation, which Linux has, does beside one on the timeout.
func (r results) variation(p *Plan) string {
	linux := r.of(config{other: "linux"}, "")
	text := fmt.Sprintf("Linux's floor of 200 ms is on the variation and not on the timeout: its good timeouts take %s round trips, and %s %% of its timeouts are bad.",
		experiments.Number(linux.mean()), experiments.Number(linux.share()))
	for i := 1; i < len(p.Floors); i++ {
		low, high := r.of(standard(p.Floors[i-1]), ""), r.of(standard(p.Floors[i]), "")
		if low.mean() <= linux.mean() && linux.mean() <= high.mean() {
			part := (linux.mean() - low.mean()) / (high.mean() - low.mean())
			share := low.share() + float64(part*(high.share()-low.share()))
			return text + fmt.Sprintf(" A floor on the timeout, between %v and %v, has %s %% where it takes as long.", p.Floors[i-1], p.Floors[i], experiments.Number(share))
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

func (r results) tables(p *Plan, standardEffects, anywhere [4]effect, out *experiments.Outcome) {
	row := func(c config, process string) []any {
		t := r.of(c, process)
		groups := r.bySeed(c, process)
		mean := stat.Bootstrap(groups, 1, func(all []Tally) float64 { return sum(all).mean() })
		share := stat.Bootstrap(groups, 1, func(all []Tally) float64 { return sum(all).share() })
		return []any{t.seconds(), mean.Value, mean.Lo, mean.Hi, share.Value, share.Lo, share.Hi}
	}
	measures := []string{"wait, s", "round trips", "95 % from", "to", "bad, %", "95 % from ", "to "}
	floors := experiments.Table{
		Name: "floors", Title: "The mean wait of a good timeout, and the share of bad ones, by the floor; exact clocks",
		Columns: append([]string{"estimator", "floor, ms"}, measures...),
	}
	for _, floor := range p.Floors {
		floors.Rows = append(floors.Rows, append([]any{"RFC 6298", floor.Milliseconds()}, row(standard(floor), "")...))
	}
	for _, name := range others {
		floors.Rows = append(floors.Rows, append([]any{name, "its own"}, row(config{other: name}, "")...))
	}
	moved := experiments.Table{
		Name: "effects", Title: "What each factor moves, the others held: the greatest by the least wait, and the greatest less the least share of bad timeouts",
		Columns: []string{"factor", "beside", "wait, times", "95 % from", "to", "bad, points", "95 % from ", "to "},
	}
	for i, e := range slices.Concat(standardEffects[:], anywhere[:]) {
		beside := "floor " + p.Floors[len(p.Floors)-1].String() + ", exact"
		if i >= len(standardEffects) {
			beside = "all floors, ticks"
		}
		moved.Add(e.name, beside, e.wait.Value, e.wait.Lo, e.wait.Hi, e.share.Value, e.share.Lo, e.share.Hi)
	}
	ticks := experiments.Table{
		Name: "clocks", Title: "One clock with a tick, the other one exact; and both",
		Columns: []string{"floor, ms", "tick, ms", "of", "wait, s", "round trips", "bad, %", "bad, per 1000 flights"},
	}
	flights := 0
	for i := range r.cells {
		flights += r.cells[i].Rounds
	}
	for _, floor := range []time.Duration{p.Floors[0], p.Floors[len(p.Floors)/2], p.Floors[len(p.Floors)-1]} {
		add := func(tick time.Duration, of string, c config) {
			t := r.of(c, "")
			ticks.Add(floor.Milliseconds(), tick.Milliseconds(), of, t.seconds(), t.mean(), t.share(), 1000*t[bad]/float64(flights))
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
	gains := experiments.Table{
		Name: "gains", Title: "Gains and sampling, without a floor and with one of 1 s; exact clocks",
		Columns: []string{"floor, ms", "alpha", "beta", "timed", "wait, s", "round trips", "bad, %"},
	}
	for _, floor := range []time.Duration{p.Floors[0], p.Floors[len(p.Floors)-1]} {
		for _, c := range p.gained(floor) {
			t := r.of(c, "")
			gains.Add(floor.Milliseconds(), fmt.Sprintf("1/%d", c.alpha), fmt.Sprintf("1/%d", c.beta), samplings[c.sampling], t.seconds(), t.mean(), t.share())
		}
	}
	byProcess := experiments.Table{
		Name: "processes", Title: "The ends of the frontier by process of round trips; exact clocks",
		Columns: append([]string{"process", "floor, ms"}, measures...),
	}
	for _, process := range p.Processes {
		for _, floor := range []time.Duration{p.Floors[0], p.Floors[len(p.Floors)-1]} {
			byProcess.Rows = append(byProcess.Rows, append([]any{process, floor.Milliseconds()}, row(standard(floor), process)...))
		}
	}
	all := experiments.Table{
		Name: "configurations", Title: "All configurations", Data: true,
		Columns: []string{"configuration", "process", "good", "bad", "waited, s", "waited, round trips"},
	}
	for _, c := range p.configs() {
		for _, process := range append([]string{""}, p.Processes...) {
			t := r.of(c, process)
			name := process
			if name == "" {
				name = "all"
			}
			all.Add(c.String(), name, int(t[good]), int(t[bad]), t[waited], t[normalised])
		}
	}
	out.Tables = append(out.Tables, floors, moved, ticks, gains, byProcess, all)
}

func (r results) figures(p *Plan, out *experiments.Outcome) {
	frontier := figure.Figure{
		Name: "frontier", Title: "What a lower floor gains and costs",
		X: figure.Axis{Label: "mean wait of a good timeout, round trips"},
		Y: figure.Axis{Label: "bad timeouts, % of all"},
		Caption: "A colour for each floor, a sign for each granularity of both clocks; finer ones lie on those without a tick. Along a sign's points the floor " +
			"moves the estimator; a coarse tick holds it at the far end.",
	}
	for i, floor := range p.Floors {
		for k, tick := range p.Ticks {
			if tick != 0 && tick < fineTick {
				continue
			}
			t := r.of(both(floor, tick), "")
			frontier.Series = append(frontier.Series, figure.Series{
				Name: "floor " + label(floor, "none") + ", tick " + label(tick, "none"), Kind: figure.Points,
				X: []float64{t.mean()}, Y: []float64{t.share()}, Group: i + 1, Marker: k + 1,
			})
		}
	}
	waits := figure.Figure{
		Name: "wait-by-floor", Title: "The wait by the floor, for each granularity",
		X: figure.Axis{Label: "floor, ms"}, Y: figure.Axis{Label: "mean wait of a good timeout, s"},
		Caption: "Both clocks have the tick. Without a floor a coarse tick is one.",
	}
	for _, name := range others {
		t := r.of(config{other: name}, "")
		frontier.Series = append(frontier.Series, figure.Series{Name: name, Kind: figure.Points, X: []float64{t.mean()}, Y: []float64{t.share()}})
	}
	for _, tick := range p.Ticks {
		s := figure.Series{Name: "tick " + label(tick, "none"), Kind: figure.Line}
		for _, floor := range p.Floors {
			groups := r.bySeed(both(floor, tick), "")
			in := stat.Bootstrap(groups, 1, func(all []Tally) float64 { return sum(all).seconds() })
			s.X, s.Y = append(s.X, floor.Seconds()*1e3), append(s.Y, in.Value)
			s.Lo, s.Hi = append(s.Lo, in.Lo), append(s.Hi, in.Hi)
		}
		waits.Series = append(waits.Series, s)
	}
	out.Figures = append(out.Figures, frontier, waits)
}
