package shrew

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

// The bands.
const (
	null      = 0.1 // of the rate: no throughput
	elsewhere = 0.3 // of the rate: where the model leaves so much, there must be no null
)

type key struct {
	timers        string
	pulse, period time.Duration
}

// results are the means of the cells.
type results struct {
	*Plan
	shares   map[key][]float64
	timeouts map[key]float64
}

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	r := &results{p, map[key][]float64{}, map[key]float64{}}
	several := experiments.Select(cells, func(c *Cell) bool { return c.Several })
	cells = experiments.Select(cells, func(c *Cell) bool { return !c.Several })
	for _, g := range experiments.GroupBy(cells, func(c *Cell) key { return key{c.Timers, c.Pulse, c.Period} }) {
		r.shares[g.Key] = experiments.Values(g.Items, func(c *Cell) float64 { return c.Share })
		r.timeouts[g.Key] = stat.Mean(experiments.Values(g.Items, func(c *Cell) float64 { return float64(c.Timeouts) }))
	}
	out := &experiments.Outcome{Tables: r.tables(), Figures: r.figures()}
	r.nullClaims(out)
	r.conditionClaim(out)
	r.otherClaims(out)
	r.severalClaim(several, out)
	r.gvisorClaim(out)
	out.Notes = append(out.Notes,
		"In the model, the flow sends at full rate from each timeout that meets no pulse to the next pulse, and not otherwise: "+
			"(⌈minRTO/T⌉·T - minRTO) / (⌈minRTO/T⌉·T). Slow start, and timeouts above the floor, leave the flow less than that.")
	return out, nil
}

// share returns the mean share of a flow over the seeds, against pulses of the first length.
func (r *results) share(timers string, period time.Duration) stat.Interval {
	return stat.BootstrapMean(r.shares[key{timers, r.Pulses[0], period}], 1)
}

// floor is the floor of the first timers, whose nulls were published.
func (r *results) floor() time.Duration { return r.Timers[0].Policy.Bounds.Min }

// model returns the share that a floor leaves to a flow against pulses of a period.
func model(floor, period time.Duration) float64 {
	n := math.Ceil(float64(floor) / float64(period))
	return (float64(n*float64(period)) - float64(floor)) / (n * float64(period))
}

// all returns the texts of all senders.
func (r *results) all() (texts []string) {
	for _, t := range r.Timers {
		texts = append(texts, t.Text)
	}
	texts = append(texts, r.BSD.Text)
	for _, g := range r.gvisors() {
		texts = append(texts, g.String())
	}
	return texts
}

// leastFrom returns the least share of a sender at periods from one on, or above it.
func (r *results) leastFrom(timers string, from time.Duration, above bool) (least float64, at time.Duration) {
	least = math.Inf(1)
	for _, period := range r.Periods {
		if s := r.share(timers, period).Value; (period > from || !above && period == from) && s < least {
			least, at = s, period
		}
	}
	return least, at
}

func (r *results) tables() []experiments.Table {
	floor := r.floor()
	table := experiments.Table{
		Name: "timers", Title: fmt.Sprintf("Share of the bottleneck left to the flow, in %%, with pulses of %v in each period T", r.Pulses[0]),
		Columns: []string{"timers", "no pulses", fmt.Sprintf("T = %v", floor/2), fmt.Sprintf("T = %v", floor), fmt.Sprintf("least above %v", floor/2), "at T, ms", "seeds from, at " + floor.String(), "to", "timeouts, at " + floor.String()},
	}
	data := experiments.Table{
		Name: "shares", Title: "Shares by timers, pulse and period", Data: true,
		Columns: []string{"timers", "pulse, ms", "period, ms", "share", "95 % from", "to", "timeouts"},
	}
	for i, text := range r.all() {
		least, at := r.leastFrom(text, floor/2, true)
		k := key{text, r.Pulses[0], floor}
		table.Add(text, 100*r.share(text, 0).Value, 100*r.share(text, floor/2).Value, 100*r.share(text, floor).Value, 100*least, float64(at)/1e6,
			100*slices.Min(r.shares[k]), 100*slices.Max(r.shares[k]), r.timeouts[k])
		pulses := r.Pulses
		if i > 0 {
			pulses = pulses[:1]
		}
		for _, pulse := range pulses {
			for _, period := range r.Periods {
				in := stat.BootstrapMean(r.shares[key{text, pulse, period}], 1)
				data.Add(text, float64(pulse)/1e6, float64(period)/1e6, in.Value, in.Lo, in.Hi, r.timeouts[key{text, pulse, period}])
			}
		}
	}
	return []experiments.Table{table, data}
}

func (r *results) figures() []figure.Figure {
	first, floor := r.Timers[0].Text, float64(r.floor())
	frame := func(name, title, caption string) figure.Figure {
		return figure.Figure{
			Name: name, Title: title, Caption: caption,
			X:     figure.Axis{Label: "period of the pulses, ms"},
			Y:     figure.Axis{Label: "share of the bottleneck's rate", Lo: 0, Hi: 1},
			Marks: []figure.Mark{{Label: "minRTO", At: floor / 1e6, Vertical: true}, {Label: "minRTO/2", At: floor / 2e6, Vertical: true}},
		}
	}
	curve := func(name, text string, pulse time.Duration) figure.Series {
		s := figure.Series{Name: name, Kind: figure.Line}
		for _, period := range r.Periods {
			s.AddInterval(float64(period)/1e6, stat.BootstrapMean(r.shares[key{text, pulse, period}], 1))
		}
		return s
	}
	one := frame("shrew", fmt.Sprintf("A flow with a floor of %v, against pulses", r.floor()),
		"Nulls at minRTO and at half of it are published. The dashed line is the model, which knows only the floor.")
	for _, pulse := range r.Pulses {
		one.Series = append(one.Series, curve(fmt.Sprintf("pulses of %v", pulse), first, pulse))
	}
	m := figure.Series{Name: "model", Kind: figure.Line, Dashed: true}
	for x := r.Periods[0]; x <= r.Periods[len(r.Periods)-1]; x += 10 * time.Millisecond {
		m.Add(float64(x)/1e6, model(r.floor(), x))
	}
	one.Series = append(one.Series, m)
	all := frame("shrew-timers", fmt.Sprintf("Pulses of %v, against other timers", r.Pulses[0]),
		"The floor decides where the nulls are. A finer floor moves them to shorter periods; 4.4BSD's ticks spread them over the phases of the pulses.")
	stacks := frame("shrew-gvisor", fmt.Sprintf("Pulses of %v, against gVisor's own TCP", r.Pulses[0]),
		"Without RACK and its probe, gVisor has the nulls of the first timers, which have the same floor. A note has the shares with both.")
	texts, gvisors := r.all(), len(r.gvisors())
	for _, text := range texts[:len(texts)-gvisors] {
		all.Series = append(all.Series, curve(text, text, r.Pulses[0]))
	}
	if gvisors == 0 {
		return []figure.Figure{one, all}
	}
	for _, text := range append([]string{first}, texts[len(texts)-gvisors:]...) {
		stacks.Series = append(stacks.Series, curve(text, text, r.Pulses[0]))
	}
	return []figure.Figure{one, all, stacks}
}

const (
	paper     = "Kuzmanovic and Knightly, SIGCOMM 2003"
	published = "throughput ≈ 0 at minRTO and minRTO/2"
	between   = "the retransmission arrives between two pulses"
)

// noThroughput is the band of a null, in % of the rate.
func noThroughput() experiments.Band {
	return experiments.AtMost(100*null, "%").OrDiffers(experiments.AtMost(200*null, "%"))
}

// nullClaims judges where pulses shut a flow out.
func (r *results) nullClaims(out *experiments.Outcome) {
	claim := func(name, published, timers string, period, floor time.Duration) {
		out.Claim(experiments.Claim{Name: name, Class: experiments.OfOthers, Basis: "ours: the paper says nearly zero, without a number",
			Text: fmt.Sprintf("pulses of %v each %v, at least the queued round trip of %v, shut out a flow with a floor of %v", r.Pulses[0], period, r.queued(), floor), Published: published,
			Source: paper, Tag: experiments.FromPrint, Measured: experiments.MeasuredWithin(r.share(timers, period).Times(100), "% of the rate"), Expected: noThroughput(), Otherwise: between})
	}
	first, fine := r.Timers[0].Text, r.Timers[1].Text
	claim("null", "throughput ≈ 0 at minRTO", first, r.floor(), r.floor())
	claim("null-half", "throughput ≈ 0 at minRTO/2", first, r.floor()/2, r.floor())
	var odd []string
	for _, period := range r.Periods {
		if s := r.share(first, period).Value; s < null && model(r.floor(), period) >= elsewhere {
			odd = append(odd, period.String())
		}
	}
	which := ""
	if len(odd) > 0 {
		which = ": " + strings.Join(odd, ", ")
	}
	out.Claim(experiments.Claim{Name: "nowhere-else", Class: experiments.Law, Text: "there is no null where the floor predicts none", Source: paper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%d of %d periods%s", len(odd), len(r.Periods), which), Expected: experiments.Whether(len(odd) == 0, "none where the model leaves %v %% or more", 100*elsewhere),
		Otherwise: "the flow's timeout is longer than its floor, or slow start is too slow between two pulses"})
	one, half := r.share(fine, r.floor()), r.share(fine, r.floor()/2)
	out.Claim(experiments.Claim{Name: "moves", Class: experiments.Law, Text: fmt.Sprintf("a floor of %v has no null at %v and %v", r.Timers[1].Policy.Bounds.Min, r.floor(), r.floor()/2), Published: published, Source: paper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s and %s %% of the rate", experiments.Number(100*one.Value), experiments.Number(100*half.Value)).Judging(100 * min(one.Value, half.Value)),
		Basis:    "the band of a null", Expected: experiments.Above(100*null, "% at both"), Otherwise: "something other than the floor makes the null"})
	if fineFloor := r.Timers[1].Policy.Bounds.Min; slices.Contains(r.Periods, fineFloor) {
		claim("moves-to", "throughput ≈ 0 at minRTO", fine, fineFloor, fineFloor)
	}
}

// queued returns the round trip with a full queue. A pulse as long loses all packets of a flight.
func (p *Plan) queued() time.Duration {
	return p.RoundTrip + time.Duration(8e9*float64(p.Buffer)/float64(p.Rate))
}

// spared returns the length of a pulse that cannot lose all packets of a flight: the time to fill
// the queue and an idle round trip.
func (p *Plan) spared() time.Duration {
	return p.RoundTrip + time.Duration(8e9*float64(p.Buffer)/float64(p.PulseRate-p.Rate))
}

// conditionClaim judges the theory of when the nulls are there.
func (r *results) conditionClaim(out *experiments.Outcome) {
	if len(r.Pulses) < 2 {
		return
	}
	holds := true
	var texts []string
	for _, pulse := range slices.Sorted(slices.Values(r.Pulses)) {
		at := func(period time.Duration) float64 { return stat.Mean(r.shares[key{r.Timers[0].Text, pulse, period}]) }
		one, half := at(r.floor()), at(r.floor()/2)
		holds = holds && (pulse < r.queued() || max(one, half) < null) && (pulse > r.spared() || min(one, half) >= null)
		texts = append(texts, fmt.Sprintf("%v %s and %s", pulse, experiments.Number(100*one), experiments.Number(100*half)))
	}
	out.Claim(experiments.Claim{Name: "condition", Class: experiments.Law,
		Text: fmt.Sprintf("both nulls are there where pulses last at least the round trip with a full queue, %v, and not where they last at most %v, the time to fill the queue and an idle round trip",
			r.queued(), r.spared().Round(time.Millisecond)),
		Source:   "computed: a shorter pulse leaves packets of the flight that cause duplicate ACKs",
		Tag:      experiments.Computed,
		Measured: experiments.MeasuredText("%% of the rate at %v and %v, by pulse: %s", r.floor(), r.floor()/2, strings.Join(texts, ", ")),
		Expected: experiments.Whether(holds, "below 10 %% and above; in between either"), Basis: "the band of a null",
		Otherwise: "the window of the flow at the pulse decides too, not only the length of the pulse"})
}

// severalClaim judges flows of several round trips.
func (r *results) severalClaim(cells []Cell, out *experiments.Outcome) {
	if len(cells) == 0 {
		return
	}
	t := experiments.Table{Name: "flows", Title: fmt.Sprintf("Shares of several flows, in %% of the rate, with pulses of %v: by round trip", r.Pulses[0]), Columns: []string{"period, ms", "all", "95 % from", "to"}}
	for _, trip := range r.FlowTrips {
		t.Columns = append(t.Columns, trip.String())
	}
	var at stat.Interval
	for _, g := range experiments.GroupBy(cells, func(c *Cell) time.Duration { return c.Period }) {
		in := experiments.MeanOf(g.Items, func(c *Cell) float64 { return 100 * c.Share })
		if g.Key == r.floor() {
			at = in
		}
		row := []any{float64(g.Key) / 1e6, in.Value, in.Lo, in.Hi}
		for i := range r.FlowTrips {
			row = append(row, 100*stat.Mean(experiments.Values(g.Items, func(c *Cell) float64 { return c.Flows[i] })))
		}
		t.Add(row...)
	}
	out.Tables = append(out.Tables, t)
	out.Claim(experiments.Claim{Name: "flows", Class: experiments.Law, Source: "definition of the attack: the floor is the same for all flows", Tag: experiments.Computed,
		Text:     fmt.Sprintf("%d flows with round trips of %v to %v are shut out together at a period of %v", len(r.FlowTrips), r.FlowTrips[0], r.FlowTrips[len(r.FlowTrips)-1], r.floor()),
		Measured: experiments.MeasuredWithin(at, "% of the rate"), Expected: noThroughput(), Basis: "the band of a null",
		Otherwise: "flows with longer round trips have packets in flight after the pulse, and repair without a timeout"})
}

// otherClaims judges timers without a floor, and 4.4BSD's.
func (r *results) otherClaims(out *experiments.Outcome) {
	floor := r.floor()
	least, at := r.leastFrom(r.Timers[2].Text, floor/2, false)
	out.Claim(experiments.Claim{Name: "no-floor", Class: experiments.Law, Text: fmt.Sprintf("with nearly no floor there is no null from %v up", floor/2), Source: "definition of the attack", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s %% of the rate, least, at %v", experiments.Number(100*least), at).Judging(100 * least),
		Basis:    "the band of a null", Expected: experiments.Above(100*null, "% at each period"), Otherwise: "the estimator makes the timeout as long as a period"})
	one, half := r.share(r.BSD.Text, floor), r.share(r.BSD.Text, floor/2)
	spread := r.shares[key{r.BSD.Text, r.Pulses[0], floor}]
	out.Claim(experiments.Claim{Name: "bsd-smear", Class: experiments.Law, Text: "4.4BSD's nulls are smeared: the phase of the pulses relative to its ticks decides", Source: "definition of 4.4BSD's timers", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s and %s %% of the rate at %v and %v; %s to %s %% by phase at %v", experiments.Number(100*one.Value), experiments.Number(100*half.Value),
			floor, floor/2, experiments.Number(100*slices.Min(spread)), experiments.Number(100*slices.Max(spread)), floor),
		Expected:  experiments.Whether(one.Value >= null && slices.Min(spread) < null, "no null in the mean of the phases at minRTO, but in some"),
		Otherwise: "the ticks do not decide, or all phases drawn are alike"})
}

// gvisorClaim: gVisor's own TCP has the nulls of its floor, without RACK and probes, like the first
// timers.
func (r *results) gvisorClaim(out *experiments.Outcome) {
	floor := r.floor()
	if !slices.Contains(r.GVisorFloors, floor) {
		return
	}
	left := func(bare bool) (at, half float64) {
		text := gvisor{floor, bare}.String()
		return 100 * r.share(text, floor).Value, 100 * r.share(text, floor/2).Value
	}
	at, half := left(true)
	out.Claim(experiments.Claim{Name: "gvisor", Class: experiments.Law, Text: fmt.Sprintf("pulses each %v and each %v shut out gVisor's own TCP with a floor of %v, without RACK and probes", floor, floor/2, floor), Published: published,
		Source: paper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s and %s %% of the rate", experiments.Number(at), experiments.Number(half)).Judging(max(at, half)),
		Expected: noThroughput(), Basis: "the band of a null", Otherwise: "a means other than the timer repairs the losses of a pulse"})
	at, half = left(false)
	out.Notes = append(out.Notes, fmt.Sprintf("With RACK and its tail loss probe, gVisor's own TCP keeps %s and %s %% of the rate at %v and %v with the same floor. The reason "+
		"was not examined.", experiments.Number(at), experiments.Number(half), floor, floor/2))
}
