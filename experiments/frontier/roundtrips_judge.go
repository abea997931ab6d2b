package frontier

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

var tripsWords = experiments.Words{
	Question: "What do estimators of the timeout do on measured round trips?",
	Found: "That the floor moves waits and bad timeouts most, then the granularity, and gains and sampling hardly, " +
		"holds {order} over all levels, and next to a floor of 1 s and exact clocks {order-next}: where it fails there, " +
		"the gains move the wait more than the floor. With floors of 200 ms and 1 s so many round trips are longer than " +
		"the timeout: {enough}.",
}

const (
	linuxFloor  = 200 * time.Millisecond
	noLeast     = time.Nanosecond // of RFC 9002: no kGranularity
	leastOf9002 = time.Millisecond
	// What kGranularity may change, against none, in % of the wait and in percentage points.
	littleWait, fewPoints = 1, 0.1
	// Series of a stratum that tell estimators apart whose shares of bad timeouts hardly differ.
	enoughSeries = 1000
	oneLevel     = "the plan has one level of a factor"
)

func floorOf(r *tripsRow) time.Duration { return r.Floor }
func tickOf(r *tripsRow) time.Duration  { return r.Tick }
func everyOf(r *tripsRow) int           { return r.Every }
func gainsOf(r *tripsRow) [2]int        { return [2]int{r.Alpha, r.Beta} }
func seriesOf(r *tripsRow) int          { return r.Series }
func waitOf(r *tripsRow) float64        { return r.Wait }
func badOf(r *tripsRow) float64         { return r.Bad }

func waitAndBad(rows []tripsRow) (wait, bad float64) {
	return judge.Mean(rows, waitOf), judge.Mean(rows, badOf)
}

// tripsOf is the rows of a stratum: estimators on its measured series.
type tripsOf struct {
	name string
	// RFC 6298's estimator with its gains, a sample of each round trip, and one tick for both clocks;
	// with exact ones; with other gains; with fewer samples.
	usual, exact, gained, sampled []tripsRow
	plain                         []tripsRow // without a floor, in both orders
	quic, linux                   []tripsRow
	low, top                      time.Duration // of the floors
}

func strata(p *tripsPlan, rows []tripsRow) (all []tripsOf) {
	for _, g := range judge.Along(rows, func(r *tripsRow) string { return r.Stratum }) {
		s := tripsOf{name: g.Key, low: p.Floors[0], top: p.Floors[len(p.Floors)-1]}
		for _, r := range g.Rows {
			measured, standard := r.Order == measured, r.Alpha == standardAlpha && r.Beta == standardBeta
			if r.Estimator != "RFC 6298" {
				switch {
				case measured && r.Estimator == "RFC 9002":
					s.quic = append(s.quic, r)
				case measured && r.Estimator == "linux":
					s.linux = append(s.linux, r)
				}
				continue
			}
			if measured && standard && r.Every == 1 {
				s.usual = append(s.usual, r)
			}
			if measured && standard && r.Every == 1 && r.Tick == 0 {
				s.exact = append(s.exact, r)
			}
			if measured && r.Tick == 0 && r.Every == 1 {
				s.gained = append(s.gained, r)
			}
			if measured && r.Tick == 0 && standard {
				s.sampled = append(s.sampled, r)
			}
			if standard && r.Every == 1 && r.Tick == 0 && r.Floor == s.low {
				s.plain = append(s.plain, r)
			}
		}
		all = append(all, s)
	}
	return all
}

// at returns the rows with a floor.
func at(rows []tripsRow, floor time.Duration) []tripsRow {
	return judge.Where(rows, func(r *tripsRow) bool { return r.Floor == floor })
}

// tripsEffects are the effects of the factors.
type tripsEffects struct{ floor, tick, gains, every effect }

// overAll returns the effects over all levels of the others, with ticks up to one.
func (s *tripsOf) overAll(most time.Duration) tripsEffects {
	usual := judge.Where(s.usual, func(r *tripsRow) bool { return r.Tick <= most })
	return tripsEffects{effectOf(usual, tickOf, floorOf, waitAndBad), effectOf(usual, floorOf, tickOf, waitAndBad),
		effectOf(s.gained, floorOf, gainsOf, waitAndBad), effectOf(s.sampled, floorOf, everyOf, waitAndBad)}
}

// next returns them one at a time next to the highest floor and exact clocks.
func (s *tripsOf) next() tripsEffects {
	return tripsEffects{floor: effectOf(s.exact, alone, floorOf, waitAndBad),
		tick:  effectOf(at(s.usual, s.top), alone, tickOf, waitAndBad),
		gains: effectOf(at(s.gained, s.top), alone, gainsOf, waitAndBad)}
}

func (e *tripsEffects) waitsInOrder() bool {
	return e.floor.times > e.tick.times && e.tick.times > max(e.gains.times, e.every.times)
}

func (e *tripsEffects) badInOrder() bool {
	return e.floor.points > e.tick.points && e.tick.points > e.gains.points && e.floor.points > e.every.points
}

// avoided returns by how many percentage points of the round trips the highest floor has fewer bad
// timeouts than the lowest.
func (s *tripsOf) avoided() stat.Interval {
	var less []float64
	for _, g := range judge.Along(s.exact, seriesOf) {
		less = append(less, judge.Mean(at(g.Rows, s.low), badOf)-judge.Mean(at(g.Rows, s.top), badOf))
	}
	return judge.Student(less)
}

// lostOrder returns by how many round trips shuffled series lengthen the wait.
func (s *tripsOf) lostOrder() stat.Interval {
	of := func(rows []tripsRow, order string) float64 {
		return judge.Mean(judge.Where(rows, func(r *tripsRow) bool { return r.Order == order }), waitOf)
	}
	var more []float64
	for _, g := range judge.Along(s.plain, seriesOf) {
		more = append(more, of(g.Rows, shuffled)-of(g.Rows, measured))
	}
	return judge.Student(more)
}

// offExact returns how far fine ticks move the wait with a floor from that of exact clocks.
func (s *tripsOf) offExact(floor time.Duration) (most float64) {
	ticks := judge.By(at(s.usual, floor), tickOf)
	exact := judge.Mean(at(s.exact, floor), waitOf)
	for _, g := range ticks {
		if g.Key > 0 && g.Key <= fineTick {
			most = max(most, math.Abs(judge.Mean(g.Rows, waitOf)/exact-1))
		}
	}
	return most
}

// worst returns the greatest value of the strata, and whose it is.
func worst(all []tripsOf, of func(s *tripsOf) float64) (value float64, name string) {
	value = math.Inf(-1)
	for i := range all {
		if x := of(&all[i]); x > value {
			value, name = x, all[i].name
		}
	}
	return value, name
}

// split returns the names of the strata where something holds, and of the others.
func split(all []tripsOf, holds func(s *tripsOf) bool) (in, out []string) {
	for i := range all {
		if holds(&all[i]) {
			in = append(in, all[i].name)
		} else {
			out = append(out, all[i].name)
		}
	}
	return in, out
}

// inStrata sets the measure and the band of a claim that something holds in each stratum.
func inStrata(c *experiments.Claim, in, out []string) {
	c.Measured = judge.Said("in no stratum")
	if len(in) > 0 {
		c.Measured = judge.Said("in %v", in)
		if len(out) > 0 {
			c.Measured = judge.Said("in %v, not in %v", in, out)
		}
	}
	c.Expected = experiments.Whether(len(out) == 0, "in each stratum").OrDiffers(experiments.Whether(len(in) > 0,
		"in some"))
}

// eachStratum returns a text of each stratum, joined.
func eachStratum(all []tripsOf, text func(s *tripsOf) string) string {
	var texts []string
	for i := range all {
		texts = append(texts, all[i].name+" "+text(&all[i]))
	}
	return strings.Join(texts, ", ")
}

func spread(in stat.Interval) string { return judge.Say("%v (%v to %v)", in, in.Lo, in.Hi) }

func unlessHas(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}

func tripsJudge(p *tripsPlan, rows []tripsRow) *experiments.Outcome {
	out, all := &experiments.Outcome{}, strata(p, rows)
	out.Judge(p.orderClaims(all)...)
	out.Judge(p.floorClaims(all)...)
	out.Judge(p.clockClaims(all)...)
	out.Judge(p.controlClaims(all)...)
	out.Tables = append(out.Tables, strataTable(all))
	out.Figures = append(out.Figures, tripsFigure(all))
	return out
}

// wide reports whether the plan has several levels of each factor.
func (p *tripsPlan) wide() bool {
	return len(p.Floors) > 1 && len(p.Ticks) > 1 && len(p.Alphas)+len(p.Betas) > 2 && len(p.Every) > 1
}

func (p *tripsPlan) hasFineTick() bool {
	return slices.ContainsFunc(p.Ticks, func(d time.Duration) bool { return d > 0 && d <= fineTick })
}

func (p *tripsPlan) orderClaims(all []tripsOf) []experiments.Claim {
	top := p.Floors[len(p.Floors)-1]
	order := experiments.Claim{
		Name: "order", Class: experiments.OfOthers, Source: allman, Tag: experiments.FromPrint,
		Text: "the floor changes the wait and the bad timeouts most, then the granularity; the gains, and how often round " +
			"trips are measured, hardly do",
		Published: allmanShort,
		Look: experiments.Look{Read: experiments.ReadAbstract, Quote: allmanQuote,
			Turns: "ticks=[0s, 1ms, 10ms, 100ms] or floors=[200ms, 500ms, 1s]: it then holds for ndt and wired, and for 4g " +
				"and 5g with nothing that was tried"},
		Basis: "the order as printed, without numbers, over all levels of floor and tick", Unless: unlessHas(p.wide(),
			oneLevel),
	}
	in, out := split(all, func(s *tripsOf) bool {
		e := s.overAll(math.MaxInt64)
		return e.waitsInOrder() && e.badInOrder()
	})
	inStrata(&order, in, out)

	waits := experiments.Claim{
		Name: "order-waits", Class: experiments.Law, Source: allman, Tag: experiments.FromPrint,
		Text: fmt.Sprintf("with clocks of up to %v, the floor changes the wait most, then the granularity; the gains, and "+
			"how often round trips are measured, less", fineTick),
		Basis: "added after a first run", Unless: unlessHas(p.wide() && p.hasFineTick(), oneLevel),
	}
	in, out = split(all, func(s *tripsOf) bool { e := s.overAll(fineTick); return e.waitsInOrder() })
	inStrata(&waits, in, out)

	next := experiments.Claim{
		Name: "order-next", Class: experiments.Law, Source: allman, Tag: experiments.FromPrint,
		Text: fmt.Sprintf("one at a time next to a floor of %v and exact clocks, the floor changes the wait and the bad "+
			"timeouts most, then the granularity, the gains less", top),
		Basis: "as in study frontier, where it holds; added after a first run", Unless: unlessHas(p.wide(), oneLevel),
	}
	in, out = split(all, func(s *tripsOf) bool {
		e := s.next()
		return e.floor.times > e.tick.times && e.tick.times > e.gains.times && e.floor.points > e.tick.points &&
			e.tick.points >= e.gains.points
	})
	inStrata(&next, in, out)
	return []experiments.Claim{order, waits, next}
}

func (p *tripsPlan) floorClaims(all []tripsOf) []experiments.Claim {
	top := p.Floors[len(p.Floors)-1]
	const research = "Research suggests that a large minimum RTO is needed to keep TCP conservative and avoid spurious " +
		"retransmissions"
	saved, unsaved := split(all, func(s *tripsOf) bool { return s.avoided().Lo > 0 })
	withLinuxFloor := func(s *tripsOf) float64 { return judge.Mean(at(s.exact, linuxFloor), badOf) }
	withTop := func(s *tripsOf) float64 { return judge.Mean(at(s.exact, top), badOf) }
	more := func(s *tripsOf) float64 { return withLinuxFloor(s) - withTop(s) }
	most, _ := worst(all, more)
	fewest, _ := worst(all, func(s *tripsOf) float64 { return -more(s) })
	return []experiments.Claim{
		{
			Name: "needed", Class: experiments.Check, Source: "RFC 6298 §2.4", Tag: experiments.Standard,
			Text:      fmt.Sprintf("a floor of %v avoids timeouts that are bad without one", top),
			Published: `"` + research + `"`,
			Unless:    unlessHas(len(p.Floors) > 1, "the plan has one floor"),
			Measured: judge.Said("%s percentage points of the round trips", eachStratum(all, func(s *tripsOf) string {
				return spread(s.avoided())
			})),
			Expected: experiments.Whether(len(unsaved) == 0, "more than 0 in each stratum").OrDiffers(
				experiments.Whether(len(saved) > 0, "in some")),
		},
		{
			Name: "enough", Class: experiments.Law, Source: "Linux's TCP_RTO_MIN, 200 ms", Tag: experiments.FromPrint,
			Text:   fmt.Sprintf("a floor of %v avoids as many bad timeouts as one of %v", linuxFloor, top),
			Basis:  "set beforehand: within 0.1 percentage points of the round trips",
			Unless: unlessHas(slices.Contains(p.Floors, linuxFloor) && len(p.Floors) > 1, "the plan has no such floors"),
			Measured: judge.Said("%s", eachStratum(all, func(s *tripsOf) string {
				return judge.Say("%v and %v %%", withLinuxFloor(s), withTop(s))
			})),
			Expected: experiments.Whether(most <= fewPoints, "within %v points in each stratum", fewPoints).OrDiffers(
				experiments.Whether(-fewest <= fewPoints, "in some")),
		},
	}
}

func (p *tripsPlan) clockClaims(all []tripsOf) []experiments.Claim {
	low, top := p.Floors[0], p.Floors[len(p.Floors)-1]
	const band = 0.1
	atTop, ofTop := worst(all, func(s *tripsOf) float64 { return s.offExact(top) })
	atLow, ofLow := worst(all, func(s *tripsOf) float64 { return s.offExact(low) })
	with := func(s *tripsOf, least time.Duration) []tripsRow {
		return judge.Where(s.quic, func(r *tripsRow) bool { return r.Least == least })
	}
	longer, ofLonger := worst(all, func(s *tripsOf) float64 {
		return 100 * (judge.Mean(with(s, leastOf9002), waitOf)/judge.Mean(with(s, noLeast), waitOf) - 1)
	})
	fewer, ofFewer := worst(all, func(s *tripsOf) float64 {
		return judge.Mean(with(s, noLeast), badOf) - judge.Mean(with(s, leastOf9002), badOf)
	})
	has := slices.Contains(p.Granularities, noLeast) && slices.Contains(p.Granularities, leastOf9002)
	linux := func(s *tripsOf) float64 { return judge.Mean(s.linux, badOf) }
	same := func(s *tripsOf) float64 { return judge.Mean(at(s.exact, linuxFloor), badOf) }
	excess, _ := worst(all, func(s *tripsOf) float64 { return linux(s) - same(s) })
	variation := experiments.Claim{
		Name: "variation", Class: experiments.Law, Tag: experiments.FromPrint,
		Text:   "Linux's floor on the variation has no more bad timeouts than the same floor on the timeout",
		Source: "tcp_rtt_estimator of Linux: the floor of 200 ms is on the variation",
		Measured: judge.Said("%s", eachStratum(all, func(s *tripsOf) string {
			return judge.Say("%v and %v %%", linux(s), same(s))
		})),
		Expected: experiments.Whether(excess <= 0, "no more in each stratum"),
	}
	switch {
	case p.Most < enoughSeries:
		variation.Unless = "too few series to tell shares that differ by less than one bad timeout in a hundred"
	case !slices.Contains(p.Floors, linuxFloor) || len(all) == 0 || len(all[0].linux) == 0:
		variation.Unless = "the plan has no such floor, or no policy linux"
	}
	return []experiments.Claim{
		{
			Name: "fine-ticks", Class: experiments.Law, Source: "RFC 6298 §4", Tag: experiments.Standard,
			Text:      fmt.Sprintf("losses wait as long with clocks of up to %v as with exact ones", fineTick),
			Published: "clocks of 100 ms and less perform somewhat better than coarser ones",
			Basis:     "the tolerance of study frontier, set beforehand",
			Unless:    unlessHas(p.hasFineTick(), "the plan has no such tick"),
			Measured: judge.Said("within %v %% with a floor of %v, the most for %s; within %v %% with one of %v, the most for "+
				"%s", 100*atTop, top, ofTop, 100*atLow, low, ofLow),
			Expected: experiments.Whether(max(atTop, atLow) <= band, "within 10 %% with each").OrDiffers(
				experiments.Whether(atTop <= band, "within 10 %% with a floor of %v only", top)),
		},
		{
			Name: "granularity", Class: experiments.Law, Source: "RFC 9002 §6.1.2", Tag: experiments.Standard,
			Text:      fmt.Sprintf("a kGranularity of %v costs nothing against none, and avoids nothing", leastOf9002),
			Published: `"The RECOMMENDED value of the timer granularity (kGranularity) is 1 millisecond"`,
			Basis:     "set beforehand: waits within 1 %, and probes that are not needed within 0.1 percentage points",
			Unless:    unlessHas(has, "the plan has no such granularities"),
			Measured: judge.Said("waits %v %% longer, the most for %s; %v percentage points fewer, the most for %s", longer,
				ofLonger, fewer, ofFewer),
			Expected: experiments.Whether(longer <= littleWait && fewer <= fewPoints,
				"within %v %% and %v points in each stratum", littleWait, fewPoints).OrDiffers(
				experiments.Whether(longer <= littleWait || fewer <= fewPoints, "one of them")),
		},
		variation,
	}
}

func (p *tripsPlan) controlClaims(all []tripsOf) []experiments.Claim {
	looser, no := split(all, func(s *tripsOf) bool { return s.lostOrder().Lo > 0 })
	right, steps := 0, 0
	for i := range all {
		for _, g := range judge.Along(all[i].exact, seriesOf) {
			floors := judge.Along(g.Rows, floorOf)
			steps += len(p.Floors) - 1
			for k := 1; k < len(floors); k++ {
				lower, upper := floors[k-1].Rows, floors[k].Rows
				if judge.Mean(lower, waitOf) <= judge.Mean(upper, waitOf) &&
					judge.Mean(lower, badOf) >= judge.Mean(upper, badOf) {
					right++
				}
			}
		}
	}
	return []experiments.Claim{
		{
			Name: "null", Class: experiments.Law, Tag: experiments.Computed,
			Text:   "null control: without their order the same round trips make losses wait longer",
			Source: "definition of an estimator that follows its path",
			Basis:  "set beforehand: the interval over series above 0",
			Measured: judge.Said("%s round trips", eachStratum(all, func(s *tripsOf) string {
				return spread(s.lostOrder())
			})),
			Expected: experiments.Whether(len(no) == 0, "more than 0 in each stratum").OrDiffers(
				experiments.Whether(len(looser) > 0, "in some")),
		},
		{
			Name: "steps", Class: experiments.Check, Source: "definition of a floor", Tag: experiments.Computed,
			Text:     "a lower floor makes no wait longer and no fewer timeouts bad",
			Measured: judge.Said("%d of %d steps", right, steps),
			Expected: experiments.Whether(right == steps, "all"),
		},
	}
}

func strataTable(all []tripsOf) experiments.Table {
	t := experiments.Table{Name: "strata", Title: "The series", Columns: []string{"stratum", "series", "sites",
		"round trips", "median round trip, ms, least", "median of series", "greatest", "longest round trip, ms"}}
	for i := range all {
		rows := at(all[i].exact, all[i].low)
		medians := judge.Values(rows, func(r *tripsRow) float64 { return judge.Ms(r.Median) })
		t.Add(all[i].name, len(rows), len(judge.By(rows, func(r *tripsRow) string { return r.Site })),
			judge.Sum(rows, func(r *tripsRow) int { return r.Trips }), slices.Min(medians), stat.Median(medians),
			slices.Max(medians), slices.Max(judge.Values(rows, func(r *tripsRow) float64 { return judge.Ms(r.Longest) })))
	}
	return t
}

func tripsFigure(all []tripsOf) figure.Figure {
	f := figure.Figure{
		Name: "frontier", Title: "Wait and bad timeouts by floor on measured round trips",
		Caption: "Each line is a stratum, and each point a floor, from the lowest at the left. RFC 6298, exact clocks.",
		X:       figure.Axis{Label: "mean wait of a loss, round trips", Log: true},
		Y:       figure.Axis{Label: "round trips longer than the timeout, %"},
	}
	for i := range all {
		s := figure.Series{Name: all[i].name, Kind: figure.Line}
		for _, g := range judge.Along(all[i].exact, floorOf) {
			s.Add(waitAndBad(g.Rows))
		}
		f.Series = append(f.Series, s)
	}
	return f
}
