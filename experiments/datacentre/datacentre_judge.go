package datacentre

import (
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

var words = experiments.Words{
	Question: "What does each setting of TCP's timers buy in a data centre?",
	Found: "Of the settings alone, a floor of 5 ms at both ends shortens answers most over a path that loses one packet " +
		"with data in fifty: {most}. Where only the senders have it, {spurious}. Timers of HZ 1000 come next: with them a " +
		"floor of 1 ms keeps {hz} of what the port can carry with 16 servers. A floor of one jiffy leaves lone segments no " +
		"room: {tight}.",
}

// The works by what the claims need of them.
const (
	lossy = "request-response"
	quiet = "idle"
	lone  = "lone segments"
	burst = "incast"
)

// setting is what an operator sets.
type setting struct {
	floor        time.Duration
	delay        string
	jiffy, stamp time.Duration
}

func (r *Row) setting() setting { return setting{r.Floor, r.Delay, r.Jiffy, r.Stamp} }
func (r *Row) still() bool      { return r.Work == quiet || r.Work == lone }
func (r *Row) resent() bool     { return r.Resent > 0 }

// suited reports whether the ACKs of a path that loses nothing suit a lower floor.
func (p *Plan) suited(r *Row) bool {
	return r.still() && r.Floor < p.UsualFloor && (r.Delay == belowFloor || r.Delay == noDelay)
}

func seed(r *Row) int        { return r.Seed }
func at(r *Row) string       { return r.At }
func queries(r *Row) float64 { return float64(r.Queries) }
func resent(r *Row) float64  { return float64(r.Resent) }
func acks(r *Row) float64    { return float64(r.ACKs) }
func took(rows []Row) float64 {
	return judge.Sum(rows, func(r *Row) float64 { return judge.Ms(r.Took) })
}
func each(rows []Row) float64           { return took(rows) / judge.Sum(rows, queries) }
func meanTook(rows []Row) stat.Interval { return judge.Resampled(rows, seed, each) }

// needless returns the retransmissions in 1000 queries.
func needless(rows []Row) float64 { return 1000 * judge.Sum(rows, resent) / judge.Sum(rows, queries) }

// the returns the rows of a setting.
func the(rows []Row, s setting) []Row {
	return judge.Where(rows, func(r *Row) bool { return r.setting() == s })
}

// study is a plan with its rows, and the settings that the claims compare.
type study struct {
	*Plan
	rows, rack                                  []Row
	shipped, byFloor, byDelay, byJiffy, byStamp setting
}

func outcome(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	s := study{Plan: p, rows: rows(p, cells)}
	s.rack = judge.Where(s.rows, func(r *Row) bool { return r.RoundTrip == p.Rack })
	s.shipped = setting{p.UsualFloor, p.UsualDelay, p.UsualJiffy, p.CoarseStamp}
	s.byFloor, s.byDelay, s.byJiffy, s.byStamp = s.shipped, s.shipped, s.shipped, s.shipped
	s.byFloor.floor, s.byFloor.delay = p.Floor, belowFloor
	s.byDelay.delay, s.byJiffy.jiffy, s.byStamp.stamp = noDelay, p.Jiffy, p.FineStamp
	out := &experiments.Outcome{}
	out.Judge(s.published()...)
	out.Judge(s.laws()...)
	out.Judge(s.checks()...)
	out.Tables = append(out.Tables, s.stepsTable(), s.oneTable())
	out.Figures = append(out.Figures, s.figure())
	return out, nil
}

func (s *study) at(work string) []Row {
	return judge.Where(s.rack, func(r *Row) bool { return r.Work == work })
}

// shorter returns how much shorter a query of a work is in the mean with a setting than as shipped,
// in %.
func (s *study) shorter(work string, with setting) stat.Interval {
	rows := judge.Where(s.at(work), func(r *Row) bool { return r.setting() == with || r.setting() == s.shipped })
	return judge.Resampled(rows, seed, func(rows []Row) float64 {
		return 100 - 100*each(the(rows, with))/each(the(rows, s.shipped))
	})
}

// kept returns the goodput of the incast, in % of what the port can carry.
func (s *study) kept(floor time.Duration, delay string, jiffy time.Duration) stat.Interval {
	rows := the(s.at(burst), setting{floor, delay, jiffy, s.CoarseStamp})
	return judge.Resampled(rows, seed, func(rows []Row) float64 {
		if len(rows) == 0 {
			return took(rows) / 0
		}
		return 100 * judge.Sum(rows, queries) * judge.Ms(rows[0].Least) / took(rows)
	})
}

func (s *study) hz(jiffy time.Duration) float64 { return 1000 / judge.Ms(jiffy) }

func (s *study) published() []experiments.Claim {
	// The share of what was undone that timestamps undid, in %.
	stamped := func(rows []Row, stamp time.Duration) float64 {
		with := judge.Where(rows, func(r *Row) bool { return r.Stamp == stamp })
		return 100 * judge.Sum(with, func(r *Row) float64 { return float64(r.Stamped) }) /
			judge.Sum(with, func(r *Row) float64 { return float64(r.Undone) })
	}
	finest := judge.Where(s.at(burst), func(r *Row) bool {
		return r.Floor == s.Finest && r.Delay == s.UsualDelay && r.Jiffy == s.FineJiffy
	})
	return []experiments.Claim{
		{
			Name: "stamps", Class: experiments.OfOthers, Tag: experiments.FromSource,
			Text: judge.Say("timestamps of %v tell a retransmission from the original where those of %v cannot: with a floor "+
				"of %v on a tick of %v they undo more of what is undone", s.FineStamp, s.CoarseStamp, s.Finest, s.FineJiffy),
			Published: "better disambiguation of events based on TSval/ecr values", Source: "Linux commit 614e831",
			Basis: "the order as printed; more than nothing, with the whole interval",
			Look: experiments.Look{Read: experiments.ReadCode, At: "message of the commit",
				Quote: "Goals were : 1) better observability of delays in networking stacks. 2) better disambiguation of " +
					"events based on TSval/ecr values.",
				Turns: "every jiffy of 1 ms and more: timestamps of either tick then undo nothing, and DSACKs all"},
			Measured: experiments.MeasuredWithin(judge.Resampled(finest, seed, func(rows []Row) float64 {
				return stamped(rows, s.FineStamp) - stamped(rows, s.CoarseStamp)
			}), "percentage points of what is undone"),
			Expected: experiments.Above(0, ""), Otherwise: "F-RTO and DSACK find out as well",
		},
		{
			Name: "enough", Class: experiments.OfOthers, Tag: experiments.FromPrint,
			Text: judge.Say("a floor of %v on a tick of %v avoids degradation at 16 servers under today's TCP too, whose ACKs "+
				"wait %v", s.Enough, s.FineJiffy, s.UsualDelay),
			Published: "1 ms, up to 16 servers",
			Source:    "Vasudevan et al., SIGCOMM 2009, as a summary quotes it; study cmu has their TCP",
			Basis:     "no degradation, ± 10 %, the rule of all studies",
			Look: experiments.Look{Read: experiments.ReadSummary, At: "a summary that quotes the paper, on its testbed",
				Quote: "the real world results show the need to reduce the RTO to at least 1ms to avoid throughput " +
					"degradation at scales of up to 16 servers",
				Turns: "buffer=32 gives 68 %, service=1ms 76, 32 and 48 servers 65 and 55, no RACK and no probe 71; nothing " +
					"of buffer=100 (96) and of 4 MB (93)"},
			Measured: experiments.MeasuredWithin(s.kept(s.Enough, s.UsualDelay, s.FineJiffy),
				"% of what the port can carry"),
			Expected:  experiments.AtLeast(90, "%").OrDiffers(experiments.AtLeast(50, "%")),
			Otherwise: "another cost than the wait remains at a fine floor",
		},
	}
}

// found returns a law that this project found.
func found(name, text string, measured experiments.Measure, expected experiments.Band,
	otherwise string) experiments.Claim {
	return experiments.Claim{Name: name, Class: experiments.Law, Source: "found here", Tag: experiments.Computed,
		Text: text, Measured: measured, Expected: expected, Otherwise: otherwise}
}

func (s *study) laws() []experiments.Claim {
	return append([]experiments.Claim{s.eachStep(), s.most(), s.others()}, append(s.onJiffies(), s.onEnough()...)...)
}

func (s *study) eachStep() experiments.Claim {
	steps := judge.Along(judge.Where(s.at(lossy), func(r *Row) bool { return r.Step > 0 }),
		func(r *Row) int { return r.Step })
	type point struct {
		at   string
		step int
	}
	later := judge.Where(s.rows, func(r *Row) bool { return r.Step > 1 && !r.still() && r.Before > 0 })
	longer := 0
	for _, g := range judge.By(later, func(r *Row) point { return point{r.At, r.Step} }) {
		if took(g.Rows) > 1.01*before(g.Rows) {
			longer++
		}
	}
	c := found("each-step", "no step of the table makes answers longer by more than 1 % in the mean, in any work with "+
		"losses",
		judge.Said("%s", judge.Listing(steps, func(g *judge.Group[int, Row]) string {
			return judge.Say("%v ms (%s)", each(g.Rows), s.Steps[g.Key-1].Name)
		})), experiments.Whether(longer == 0, "at most 1 %% more than the step before"), "a timer is shorter than an ACK "+
			"waits")
	if judge.Count(s.rows, func(r *Row) bool { return r.Step > 1 }) == 0 {
		c.Unless = "the plan has none of its own steps"
	}
	return c
}

func before(rows []Row) float64 {
	return judge.Sum(rows, func(r *Row) float64 { return judge.Ms(r.Before) })
}

func (s *study) most() experiments.Claim {
	floor, delay := s.shorter(lossy, s.byFloor), s.shorter(lossy, s.byDelay)
	jiffy, stamp := s.shorter(lossy, s.byJiffy), s.shorter(lossy, s.byStamp)
	c := found("most",
		"of the four settings, changed one at a time, the floor at both ends shortens the mean answer with losses most",
		judge.Known("by %v %%, next to %v %% by ACKs at once, %v %% by HZ %v and %v %% by timestamps of %v", floor, delay,
			jiffy, s.hz(s.Jiffy), stamp, s.FineStamp),
		experiments.Whether(floor.Lo > max(delay.Hi, jiffy.Hi, stamp.Hi), "the first is most, with intervals apart"),
		"probes and RACK repair what the timer would, or ACKs that wait hold the answers up")
	if i := slices.IndexFunc(s.Works, func(w Work) bool { return w.Name == lossy }); i >= 0 {
		c.Text += judge.Say(", where a path loses %v %% of the packets with data", 100*s.Works[i].Loss)
	}
	c.Basis = "the order, with intervals apart"
	return c
}

func (s *study) others() experiments.Claim {
	usual := judge.Where(s.at(burst), func(r *Row) bool {
		return r.Floor == s.UsualFloor && (r.Jiffy == s.UsualJiffy || r.Jiffy == s.Jiffy)
	})
	c := found("others", "without a lower floor none of the other three shortens a query of the incast by more than a "+
		"tenth",
		experiments.MeasuredWithin(judge.Resampled(usual, seed, func(rows []Row) float64 {
			best := min(each(the(rows, s.byDelay)), each(the(rows, s.byJiffy)), each(the(rows, s.byStamp)))
			return 100 - 100*best/each(the(rows, s.shipped))
		}), "% shorter, by the best of the three"), experiments.AtMost(10, "%"),
		"ACKs at once let fewer packets meet at the port, so fewer queries wait for the floor")
	c.Basis = "a tenth, set for this project"
	return c
}

// onJiffies are the laws of floors that are kept in jiffies.
func (s *study) onJiffies() []experiments.Claim {
	roomy := judge.Where(s.rows, func(r *Row) bool { return s.suited(r) && r.Floor > r.Jiffy && r.Jiffy >= s.Jiffy })
	tight := func(work string) []Row {
		return judge.Where(s.rows, func(r *Row) bool {
			return s.suited(r) && r.Delay == belowFloor && r.Floor <= r.Jiffy && r.Work == work
		})
	}
	waiting := judge.Where(s.rows, func(r *Row) bool {
		return r.still() && r.Floor < s.UsualFloor && r.Delay == s.UsualDelay
	})
	fine := judge.Where(s.rows, func(r *Row) bool { return s.suited(r) && r.Jiffy == s.FineJiffy })
	without := func(rows []Row) int { return judge.Count(rows, (*Row).resent) }
	harmless := found("harmless", "on Linux's jiffies no floor of two or more makes a retransmission on a path that "+
		"loses nothing, where ACKs wait a jiffy less than it or not at all",
		judge.Said("%d of %d runs with one; %d of %d where ACKs wait %v; %d of %d with jiffies of %v, which leave no room",
			without(roomy), len(roomy), without(waiting), len(waiting), s.UsualDelay, without(fine), len(fine), s.FineJiffy),
		experiments.Whether(without(roomy) == 0, "none"), "the timer and the ACK are rounded to jiffies in different ways")
	harmless.Source = "Linux commit bbf80d7, beyond its numbers"
	ofLone := tight(lone)
	little := found("tight", "a floor of a jiffy or less makes some, as an ACK waits no less than a jiffy",
		judge.Known("%v of 1000 answers of a lone segment, and %v of seven, are retransmitted for nothing",
			needless(ofLone), needless(tight(quiet))),
		experiments.Whether(judge.Sum(ofLone, resent) > 0, "some of a lone segment"),
		"the probe of a lone segment waits two round trips longer than the ACK")
	little.Source = "Linux: tcp_delack_max; found by the kernel, and then here"
	const noFloor = "the plan has no such floor over such a path"
	if len(roomy) == 0 {
		harmless.Unless = noFloor
	}
	if s.Seeds < 5 {
		little.Needs = judge.Say("%d seeds, and the verdict needs 5", s.Seeds)
	}
	if len(ofLone) == 0 {
		little.Unless = noFloor
	}
	return []experiments.Claim{harmless, little, s.inJiffies()}
}

func (s *study) inJiffies() experiments.Claim {
	of := func(rows []Row, floor time.Duration) []Row {
		return judge.Where(rows, func(r *Row) bool { return r.Floor == floor })
	}
	shown := judge.Where(s.at(lossy), func(r *Row) bool { return r.Delay == belowFloor && r.Stamp == s.CoarseStamp })
	type point struct {
		at string
		setting
	}
	coarse, same := judge.Where(s.rows, func(r *Row) bool { return r.Jiffy >= s.Enough }), true
	for _, g := range judge.By(coarse, func(r *Row) point { return point{r.At, setting{0, r.Delay, r.Jiffy, r.Stamp}} }) {
		same = same && took(of(g.Rows, s.Finest)) == took(of(g.Rows, s.Enough))
	}
	c := found("jiffies", judge.Say("on Linux's jiffies a floor of %v buys nothing over one of %v", s.Finest, s.Enough),
		judge.Said("ms with losses, %v and %v: %s", s.Finest, s.Enough,
			judge.Listing(judge.Along(shown, func(r *Row) time.Duration { return r.Jiffy }),
				func(g *judge.Group[time.Duration, Row]) string {
					return judge.Say("%v %v and %v", g.Key, each(of(g.Rows, s.Finest)), each(of(g.Rows, s.Enough)))
				})),
		experiments.Whether(same, "the same in all settings, if a jiffy is at least %v", s.Enough),
		"the estimator has a finer floor than the jiffy")
	c.Source, c.Tag = "Linux: rto_min is kept in jiffies", experiments.FromSource
	if !slices.Contains(s.Floors, s.Finest) || !slices.Contains(s.Floors, s.Enough) {
		c.Unless = "the plan has not both floors"
	}
	return c
}

// onEnough are the laws of the floor that is enough.
func (s *study) onEnough() []experiments.Claim {
	fine, coarse := s.kept(s.Enough, belowFloor, s.Jiffy), s.kept(s.Enough, belowFloor, s.UsualJiffy)
	hz := found("hz", judge.Say("a floor of %v at both ends keeps nine tenths of the goodput at 16 servers with HZ %v, "+
		"and not with HZ %v", s.Enough, s.hz(s.Jiffy), s.hz(s.UsualJiffy)),
		judge.Known("%v %% (with HZ %v %v %%, and %v %% as shipped)", fine, s.hz(s.UsualJiffy), coarse,
			s.kept(s.UsualFloor, s.UsualDelay, s.UsualJiffy)),
		experiments.Whether(fine.Value >= 90 && coarse.Value < 90, "at least 90 %%, and less than that with HZ %v",
			s.hz(s.UsualJiffy)), "a timeout of two jiffies is short enough at either HZ, or at none")
	hz.Basis = "a tenth, as no degradation above"
	if s.Jiffy >= s.UsualJiffy {
		hz.Unless = judge.Say("jiffy: %v, want one below usual_jiffy, %v", s.Jiffy, s.UsualJiffy)
	}
	quick := judge.Where(s.rows, func(r *Row) bool {
		return !r.still() && r.Floor == s.Enough && r.Jiffy == s.Jiffy && r.Stamp == s.CoarseStamp
	})
	of := func(rows []Row, delay string) []Row {
		return judge.Where(rows, func(r *Row) bool { return r.Delay == delay })
	}
	gained, little := []string{}, true
	for _, g := range judge.By(quick, at) {
		x := 100 - 100*took(of(g.Rows, noDelay))/took(of(g.Rows, belowFloor))
		gained, little = append(gained, judge.Say("%s %v %%", g.Key, x)), little && x <= 5
	}
	quickack := found("quickack", judge.Say("where the floor of %v is set at both ends and HZ is %v, ACKs at once "+
		"shorten no answer by more than a twentieth", s.Enough, s.hz(s.Jiffy)),
		judge.Known("%v shorter; %v %% more ACKs", gained,
			100*(judge.Sum(of(quick, noDelay), acks)/judge.Sum(of(quick, belowFloor), acks))-100),
		experiments.Whether(little, "at most 5 %%"), "the ACKs hold up the sender's window")
	quickack.Basis = "a twentieth, set for this project"
	return []experiments.Claim{hz, quickack}
}

// checks are what the settings are by their definition: the commit of the kernel says the same of
// its own.
func (s *study) checks() []experiments.Claim {
	const source = "Linux commit bbf80d7"
	set := s.byFloor
	set.jiffy = s.Jiffy
	ss := the(s.at(quiet), set)
	rto := judge.Mean(ss, func(r *Row) float64 { return judge.Ms(r.RTO) })
	ato := judge.Mean(ss, func(r *Row) float64 { return judge.Ms(r.ATO) })
	shown := experiments.Claim{
		Name: "ss", Class: experiments.Check, Source: source, Tag: experiments.FromSource,
		Text: judge.Say("an rto_min of %v at both ends gives a timeout of the floor and the round trip in whole jiffies, "+
			"and ACKs that wait a jiffy less than the floor", s.Floor),
		Published: "rto:6 … ato:4", Measured: judge.Known("%v and %v ms", rto, ato),
		Expected:  experiments.Whether(rto == 6 && ato == 4, "6 and 4 ms"),
		Otherwise: "a round trip of a jiffy or more, or a variation above the floor, makes the timeout longer",
	}
	if s.Floor != 5*time.Millisecond || s.Jiffy != time.Millisecond || s.Rack >= time.Millisecond {
		shown.Unless = "printed for 5 ms, HZ 1000 and a round trip of 0.02 ms"
	}
	waiting := func(delay string) float64 {
		return needless(judge.Where(s.rows, func(r *Row) bool {
			return r.Work == quiet && r.Floor == s.Floor && r.Delay == delay && r.Jiffy == s.Jiffy
		}))
	}
	some, none := waiting(s.UsualDelay), waiting(belowFloor)
	spurious := experiments.Claim{
		Name: "spurious", Class: experiments.Check, Source: source, Tag: experiments.FromSource,
		Text: judge.Say("with a floor of %v and HZ %v, ACKs that wait %v cause retransmissions on a path that loses "+
			"nothing, and ACKs that wait a jiffy less than the floor cause none", s.Floor, s.hz(s.Jiffy), s.UsualDelay),
		Published: "the max delayed ack one jiffie smaller to avoid spurious retransmits",
		Measured: judge.Known("%v of 1000 answers are retransmitted for nothing, and %v where ACKs wait a jiffy less", some,
			none),
		Expected:  experiments.Whether(some > 0 && none == 0, "some, and none"),
		Otherwise: "the pauses are shorter than the floor, or the timer and the ACK are rounded to jiffies in different ways",
	}
	if s.UsualDelay == belowFloor || s.UsualDelay == noDelay {
		spurious.Unless = "ACKs wait no longer than the floor"
	}
	usual := judge.Where(s.rows, func(r *Row) bool { return r.Work == quiet && r.setting() == s.shipped })
	return []experiments.Claim{shown, spurious, {
		Name: "answered", Class: experiments.Check, Source: "definition", Tag: experiments.Computed,
		Text: "as shipped nothing is retransmitted on a path that loses nothing",
		Measured: judge.Said("%v retransmissions in %v queries", judge.Sum(usual, resent), judge.Sum(usual,
			queries)),
		Expected:  experiments.Whether(judge.Sum(usual, resent) == 0, "none"),
		Otherwise: "a timer is shorter than an ACK waits",
	}}
}

func (s *study) stepsTable() experiments.Table {
	steps := judge.Where(s.rows, func(r *Row) bool { return r.Step > 0 })
	works := judge.Keys(judge.By(judge.Where(steps, func(r *Row) bool { return !r.still() }), at))
	t := experiments.Table{Name: "steps", Title: "What an operator can set, step by step. Mean time of a query in ms, " +
		"and how much shorter it is than one step before, in %",
		Columns: []string{"step", "set", "at", "Linux", "retransmitted for nothing, of 1000"}}
	for _, w := range works {
		t.Columns = append(t.Columns, w+", ms", "%")
	}
	t.Columns = append(t.Columns, "ACKs for a query, with losses")
	for _, g := range judge.Along(steps, func(r *Row) int { return r.Step }) {
		of := &s.Steps[g.Key-1]
		row := []any{of.Name, of.Set, of.Ends, of.Since, needless(judge.Where(g.Rows, (*Row).still))}
		for _, w := range works {
			rows, less := judge.Where(g.Rows, func(r *Row) bool { return r.At == w }), any("")
			if g.Key > 1 {
				less = 100 - 100*took(rows)/before(rows)
			}
			row = append(row, each(rows), less)
		}
		with := judge.Where(g.Rows, func(r *Row) bool { return r.Work == lossy })
		t.Add(append(row, judge.Sum(with, acks)/judge.Sum(with, queries))...)
	}
	return t
}

func (s *study) oneTable() experiments.Table {
	t := experiments.Table{Name: "one", Title: judge.Say("One setting changed at a time, at a round trip of %v", s.Rack),
		Columns: []string{"work", "floor, ms", "ACKs wait", "jiffy, ms", "timestamps, ms", "mean, ms", "95 % from", "to",
			"99th percentile, ms", "timeouts", "probes"}}
	ones := []setting{s.shipped, s.byFloor, s.byDelay, s.byJiffy, s.byStamp}
	type point struct {
		work string
		setting
	}
	for _, g := range judge.By(judge.Where(s.rack, func(r *Row) bool {
		return !r.still() && slices.Contains(ones, r.setting())
	}), func(r *Row) point { return point{r.Work, r.setting()} }) {
		in, k := meanTook(g.Rows), g.Key
		mean := func(of func(*Row) float64) float64 { return judge.Mean(g.Rows, of) }
		t.Add(k.work, judge.Ms(k.floor), k.delay, judge.Ms(k.jiffy), judge.Ms(k.stamp), in.Value, in.Lo, in.Hi,
			mean(func(r *Row) float64 { return judge.Ms(r.P99) }),
			mean(func(r *Row) float64 { return float64(r.Timeouts) }),
			mean(func(r *Row) float64 { return float64(r.Probes) }))
	}
	return t
}

func (s *study) figure() figure.Figure {
	f := figure.Figure{
		Name: "losses", Title: judge.Say("Answers with losses at a round trip of %v, ACKs wait a jiffy less than the floor",
			s.Rack),
		Caption: judge.Say("A floor below a jiffy buys nothing. Jiffies of %v are no setting of Linux.", s.FineJiffy),
		X:       figure.Axis{Label: "floor, ms", Log: true},
		Y:       figure.Axis{Label: "mean time of an answer, ms", Log: true},
	}
	shown := judge.Where(s.at(lossy), func(r *Row) bool { return r.Delay == belowFloor && r.Stamp == s.CoarseStamp })
	for _, g := range judge.By(shown, func(r *Row) time.Duration { return r.Jiffy }) {
		f.Series = append(f.Series, judge.Curve(judge.Say("jiffy %v", g.Key), figure.Line, g.Rows,
			func(r *Row) float64 { return judge.Ms(r.Floor) }, meanTook))
	}
	return f
}
