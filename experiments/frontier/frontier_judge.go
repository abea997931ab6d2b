package frontier

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
)

var words = experiments.Words{
	Question: "How do floor, granularity, gains and sampling change a timeout?",
	Found: "Whether the floor moves the wait and the bad timeouts most, then the granularity, and gains and sampling " +
		"hardly, as published, depends on the length of round trips: the order is as published {order}.",
}

const (
	allman      = "M. Allman and V. Paxson, SIGCOMM 1999, abstract"
	allmanQuote = "the performance of the estimators is dominated by their minimum values, and to a lesser extent, the " +
		"timer granularity, while being virtually unaffected by how often round-trip time measurements are made or the " +
		"settings of the parameters in the exponentially-weighted moving average estimators commonly used"
	allmanShort = `"dominated by their minimum values, and to a lesser extent, the timer granularity"`
	expected    = "shape expected beforehand, which the abstract does not mention"
)

func outcome(p *Plan, cells []Cell) *experiments.Outcome {
	out, samples := &experiments.Outcome{}, samplesOf(p, cells)
	drawn, medians := &samples[0], slices.Clone(samples)
	slices.SortStableFunc(medians, func(a, b sample) int { return cmp.Compare(a.median, b.median) })
	out.Judge(p.orderClaim(medians), p.nextClaim(drawn), p.anywhereClaim(drawn))
	out.Judge(p.samplingClaims(drawn)...)
	out.Judge(p.tickClaim(drawn), p.kneeClaim(drawn))
	out.Figures = append(out.Figures, p.frontierFigure(drawn))
	if len(p.Later) > 0 {
		f, g := drawn.moved(setLater, byFloor), drawn.moved(setLater, byTick)
		out.Notes = append(out.Notes, judge.Say("A mean over all levels depends on which levels it includes. With the ticks "+
			"that were added later the floor changes the wait %v times and the share of bad timeouts by %v points, the "+
			"granularity %v times and by %v points.", f.times, f.points, g.times, g.points))
	}
	return out
}

func (p *Plan) top() time.Duration { return p.Floors[len(p.Floors)-1] }

// orderClaim compares the order of the factors at all medians of the round trips.
func (p *Plan) orderClaim(medians []sample) experiments.Claim {
	in := func(set string) (yes, no []string) {
		for i := range medians {
			if at := medians[i].median.String(); medians[i].inOrder(set) {
				yes = append(yes, at)
			} else {
				no = append(no, at)
			}
		}
		return yes, no
	}
	listed := func(before string, list []string) string {
		if len(list) == 0 {
			return ""
		}
		return before + strings.Join(list, ", ")
	}
	nextYes, nextNo := in(setNext)
	allYes, allNo := in(setAll)
	return experiments.Claim{
		Name: "order", Class: experiments.OfOthers, Source: allman, Tag: experiments.FromPrint,
		Text: "the floor changes the wait and the share of bad timeouts most, then the granularity; the gains, and how " +
			"often round trips are measured, hardly do",
		Published: allmanShort,
		Look: experiments.Look{Read: experiments.ReadAbstract, Quote: allmanQuote,
			Turns: "the length of the round trips: see the findings of the study"},
		Basis: "the order as printed, without numbers",
		Measured: judge.Said("next to a floor of %v%s%s; over all levels%s%s", p.top(),
			listed(" at median round trips of ", nextYes), listed(", not at ", nextNo), listed(" at ", allYes),
			listed(", not at ", allNo)),
		Expected: experiments.Whether(len(nextNo)+len(allNo) == 0,
			"at each median round trip, next to a floor of %v and over all levels", p.top()).OrDiffers(
			experiments.Whether(len(nextNo) == 0, "at each, next to a floor of %v", p.top())),
	}
}

// waits and shares are the effects in words.
func (s *sample) waits(set string) string {
	return judge.Say("floor %v, granularity %v, gains %v", s.moved(set, byFloor).times, s.moved(set, byTick).times,
		s.moved(set, byGains).times)
}

func (s *sample) shares(set string) string {
	return judge.Say("floor %v, granularity %v, gains %v", s.moved(set, byFloor).points, s.moved(set, byTick).points,
		s.moved(set, byGains).points)
}

// ordered returns a claim on the order of the factors in a set.
func (s *sample) ordered(name, text, set string) experiments.Claim {
	f, g := s.moved(set, byFloor), s.moved(set, byGains)
	return experiments.Claim{
		Name: name, Class: experiments.Law, Source: allman, Tag: experiments.FromPrint, Text: text,
		Measured: judge.Said("wait: %s times; bad: %s points", s.waits(set), s.shares(set)),
		Expected: experiments.Whether(s.asPrinted(set), "each less than the one before, in both").OrDiffers(
			experiments.Whether(g.times < f.times && g.points < f.points, "the gains less than the floor, in both")),
	}
}

func (p *Plan) nextClaim(s *sample) experiments.Claim {
	return s.ordered("order-next", fmt.Sprintf("one at a time next to RFC 6298's estimator with a floor of %v and exact "+
		"clocks: wait and share of bad timeouts are changed most by the floor, then by the granularity, hardly by the gains",
		p.top()), setNext)
}

func (p *Plan) anywhereClaim(s *sample) experiments.Claim {
	text := fmt.Sprintf("at a median round trip of %v, over all levels of the others: wait and share of bad timeouts are "+
		"changed most by the floor, then by the granularity, hardly by the gains", p.RTT)
	return s.ordered("order-anywhere", text, setAll)
}

func (p *Plan) samplingClaims(drawn *sample) (claims []experiments.Claim) {
	for _, c := range []struct{ name, text, set string }{
		{"sampling", fmt.Sprintf("next to a floor of %v", p.top()), setNext},
		{"sampling-anywhere", fmt.Sprintf("at a median round trip of %v, over all levels of the floor", p.RTT), setAll},
	} {
		e, tick, floor := drawn.moved(c.set, bySampling), drawn.moved(c.set, byTick), drawn.moved(c.set, byFloor)
		claims = append(claims, experiments.Claim{
			Name: c.name, Class: experiments.Law, Source: allman, Tag: experiments.FromPrint,
			Text: c.text + ", how often round trips are measured changes the wait less than the granularity does, and bad " +
				"timeouts less than the floor does",
			Measured: judge.Said("wait %v times, bad timeouts %v percentage points", e.times, e.points),
			Expected: experiments.Whether(e.times < tick.times && e.points < floor.points, "%s",
				judge.Say("less than %v times and %v points", tick.times, floor.points)),
		})
	}
	return claims
}

func (p *Plan) tickClaim(drawn *sample) experiments.Claim {
	const band = 0.1
	wait := func(c config) float64 { return drawn.sum(drawn.cells, c)[waited] }
	off := func(floor time.Duration) (most float64) { // of fine ticks, from exact clocks
		for _, tick := range p.allTicks() {
			if tick > 0 && tick <= fineTick {
				most = max(most, math.Abs(wait(both(floor, tick))/wait(standard(floor))-1))
			}
		}
		return most
	}
	worst, at := math.Inf(-1), time.Duration(0)
	for _, floor := range p.Floors {
		if x := off(floor); x > worst {
			worst, at = x, floor
		}
	}
	top := off(p.top())
	otherwise := "with a low floor the tick of the clock is itself a floor, and the tick of expiry adds half a tick to " +
		"waits that are not much longer"
	if slices.Contains(p.Alone, fineTick) {
		clock, expiry := standard(at), standard(at)
		clock.rttTick, expiry.tick = fineTick, fineTick
		exact := wait(standard(at))
		otherwise += judge.Say(": with a floor of %v a tick of %v adds %v %% if only the clock has it, and %v %% if only "+
			"expiry has it", at, fineTick, 100*(wait(clock)/exact-1), 100*(wait(expiry)/exact-1))
	}
	return experiments.Claim{
		Name: "fine-ticks", Class: experiments.Law, Source: "RFC 6298 §4", Tag: experiments.Standard,
		Text:      "losses wait as long with clocks of up to 100 ms as with exact ones",
		Published: "clocks of 100 ms and less perform somewhat better than coarser ones",
		Measured: judge.Said("within %v %% with a floor of %v; within %v %% with any, the most at %v", 100*top, p.top(),
			100*worst, at),
		Expected: experiments.Whether(worst <= band, "within 10 %% with each floor").OrDiffers(
			experiments.Whether(top <= band, "within 10 %% with a floor of %v only", p.top())),
	}
}

// kneeClaim finds the floor that is farthest below the line between the ends of the curve.
func (p *Plan) kneeClaim(drawn *sample) experiments.Claim {
	low, top := drawn.sum(drawn.cells, standard(p.Floors[0])), drawn.sum(drawn.cells, standard(p.top()))
	most, knee := math.Inf(-1), time.Duration(0)
	for _, floor := range p.Floors {
		t := drawn.sum(drawn.cells, standard(floor))
		below := 1 - (t[waited]-low[waited])/(top[waited]-low[waited]) -
			(t.share()-top.share())/(low.share()-top.share())
		if below > most {
			most, knee = below, floor
		}
	}
	return experiments.Claim{
		Name: "knee", Class: experiments.Law, Source: expected, Tag: experiments.Computed,
		Text:     "the frontier bends most at a floor of a few hundred milliseconds",
		Basis:    "expected beforehand for this project",
		Measured: experiments.MeasuredSpan(knee),
		Expected: experiments.Between(200, 500, "ms").OrDiffers(experiments.Between(1000*p.Floors[1].Seconds(),
			1000*p.Floors[len(p.Floors)-2].Seconds(), "ms")),
	}
}

func (p *Plan) frontierFigure(drawn *sample) figure.Figure {
	f := figure.Figure{
		Name: "frontier", Title: "Wait and bad timeouts by floor and granularity",
		Caption: "One colour per floor, one sign per granularity of both clocks. Ticks below 100 ms coincide with exact " +
			"clocks and are left out. Along one sign the floor moves the estimator; a coarse tick keeps it at the far end.",
		X: figure.Axis{Label: "mean wait of a good timeout, round trips"},
		Y: figure.Axis{Label: "bad timeouts, % of all"},
	}
	add := func(s figure.Series, c config) {
		t := drawn.sum(drawn.cells, c)
		s.Kind = figure.Points
		s.Add(t.trips(), t.share())
		f.Series = append(f.Series, s)
	}
	named := func(d time.Duration) string {
		if d == 0 {
			return "none"
		}
		return d.String()
	}
	for i, floor := range p.Floors {
		for k, tick := range p.Ticks {
			if tick == 0 || tick >= fineTick {
				add(figure.Series{Name: fmt.Sprintf("floor %s, tick %s", named(floor), named(tick)), Group: 1 + i, Marker: 1 + k},
					both(floor, tick))
			}
		}
	}
	for _, name := range others {
		add(figure.Series{Name: name}, config{other: name})
	}
	return f
}
