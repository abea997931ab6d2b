package shrew

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

// The bands.
const (
	null      = 0.1 // of the rate: what is next to nothing
	elsewhere = 0.3 // what the model leaves, where there must be no null
)

type key struct {
	timers        string
	pulse, period time.Duration
}

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	shares := map[key][]float64{}
	timeouts := map[key]float64{}
	for _, c := range cells {
		k := key{c.Timers, c.Pulse, c.Period}
		shares[k] = append(shares[k], c.Share)
		timeouts[k] += float64(c.Timeouts)
	}
	for k := range timeouts {
		timeouts[k] /= float64(len(shares[k]))
	}
	j := &judgement{p, shares, timeouts, &experiments.Outcome{}}
	j.tables()
	j.figures()
	j.claims()
	j.out.Notes = append(j.out.Notes,
		"The model has the flow send at full rate from each timeout that meets no pulse to the next pulse, and nothing else: "+
			"(⌈minRTO/T⌉·T - minRTO) / (⌈minRTO/T⌉·T). Slow start, and timeouts above the floor, leave the flow less than that.")
	return j.out, nil
}

type judgement struct {
	*Plan
	shares   map[key][]float64
	timeouts map[key]float64
	out      *experiments.Outcome
}

// share is the mean share of a flow over the seeds.
func (j *judgement) share(timers string, period time.Duration) stat.Interval {
	return stat.BootstrapMean(j.shares[key{timers, j.Pulses[0], period}], 1)
}

// model is the share that a floor leaves to a flow against pulses of a period.
func model(floor, period time.Duration) float64 {
	n := math.Ceil(float64(floor) / float64(period))
	return (float64(n*float64(period)) - float64(floor)) / (n * float64(period))
}

func (j *judgement) all() (texts []string) {
	for _, t := range j.Timers {
		texts = append(texts, t.Text)
	}
	texts = append(texts, j.BSD.Text)
	for _, g := range j.gvisors() {
		texts = append(texts, g.String())
	}
	return texts
}

func (j *judgement) tables() {
	floor := j.Timers[0].Policy.Bounds.Min
	table := experiments.Table{
		Name: "timers", Title: fmt.Sprintf("Share of the bottleneck that is left, in %%, with pulses of %v in each period", j.Pulses[0]),
		Columns: []string{"timers", "no pulses", fmt.Sprintf("T = %v", floor/2), fmt.Sprintf("T = %v", floor), fmt.Sprintf("least past %v", floor/2), "at T, ms", "seeds from, at " + floor.String(), "to", "timeouts, at " + floor.String()},
	}
	for _, text := range j.all() {
		least, at := math.Inf(1), time.Duration(0)
		for _, period := range j.Periods {
			if s := j.share(text, period).Value; period > floor/2 && s < least {
				least, at = s, period
			}
		}
		k := key{text, j.Pulses[0], floor}
		table.Add(text, 100*j.share(text, 0).Value, 100*j.share(text, floor/2).Value, 100*j.share(text, floor).Value, 100*least, float64(at)/1e6,
			100*slices.Min(j.shares[k]), 100*slices.Max(j.shares[k]), j.timeouts[k])
	}
	data := experiments.Table{
		Name: "shares", Title: "Shares by timers, pulse and period", Data: true,
		Columns: []string{"timers", "pulse, ms", "period, ms", "share", "95 % from", "to", "timeouts"},
	}
	for i, text := range j.all() {
		for k, pulse := range j.Pulses {
			if i > 0 && k > 0 {
				continue
			}
			for _, period := range j.Periods {
				in := stat.BootstrapMean(j.shares[key{text, pulse, period}], 1)
				data.Add(text, float64(pulse)/1e6, float64(period)/1e6, in.Value, in.Lo, in.Hi, j.timeouts[key{text, pulse, period}])
			}
		}
	}
	j.out.Tables = append(j.out.Tables, table, data)
}

func (j *judgement) figures() {
	first := j.Timers[0]
	floor := first.Policy.Bounds.Min
	frame := func(name, title, caption string) figure.Figure {
		return figure.Figure{
			Name: name, Title: title, Caption: caption,
			X:     figure.Axis{Label: "period of the pulses, ms"},
			Y:     figure.Axis{Label: "share of the bottleneck's rate", Lo: 0, Hi: 1},
			Marks: []figure.Mark{{Label: "minRTO", At: float64(floor) / 1e6, Vertical: true}, {Label: "minRTO/2", At: float64(floor) / 2e6, Vertical: true}},
		}
	}
	curve := func(name, text string, pulse time.Duration) figure.Series {
		s := figure.Series{Name: name, Kind: figure.Line}
		for _, period := range j.Periods {
			in := stat.BootstrapMean(j.shares[key{text, pulse, period}], 1)
			s.X, s.Y = append(s.X, float64(period)/1e6), append(s.Y, in.Value)
			s.Lo, s.Hi = append(s.Lo, in.Lo), append(s.Hi, in.Hi)
		}
		return s
	}
	one := frame("shrew", fmt.Sprintf("A flow with a floor of %v, against pulses", floor),
		"Published are nulls at minRTO and at half of it. The dashed line is the model, which knows of the floor only.")
	for _, pulse := range j.Pulses {
		one.Series = append(one.Series, curve(fmt.Sprintf("pulses of %v", pulse), first.Text, pulse))
	}
	m := figure.Series{Name: "model", Kind: figure.Line, Dashed: true}
	for x := j.Periods[0]; x <= j.Periods[len(j.Periods)-1]; x += 10 * time.Millisecond {
		m.X, m.Y = append(m.X, float64(x)/1e6), append(m.Y, model(floor, x))
	}
	one.Series = append(one.Series, m)
	all := frame("shrew-timers", fmt.Sprintf("Pulses of %v, against other timers", j.Pulses[0]),
		"The nulls are where the floor puts them. A finer floor moves them to shorter periods; 4.4BSD's ticks spread them over the phases of the pulses.")
	texts := j.all()
	theirs := len(texts) - len(j.gvisors())
	for _, text := range texts[:theirs] {
		all.Series = append(all.Series, curve(text, text, j.Pulses[0]))
	}
	j.out.Figures = append(j.out.Figures, one, all)
	if theirs == len(texts) {
		return
	}
	stacks := frame("shrew-gvisor", fmt.Sprintf("Pulses of %v, against gVisor's own TCP", j.Pulses[0]),
		"Without RACK and its probe the floor puts the nulls where it puts those of the first timers. A note says what is left with both.")
	for _, text := range append([]string{first.Text}, texts[theirs:]...) {
		stacks.Series = append(stacks.Series, curve(text, text, j.Pulses[0]))
	}
	j.out.Figures = append(j.out.Figures, stacks)
}

func (j *judgement) claims() {
	const paper = "Kuzmanovic and Knightly, SIGCOMM 2003"
	first, fine, none := j.Timers[0].Text, j.Timers[1].Text, j.Timers[2].Text
	floor := j.Timers[0].Policy.Bounds.Min
	for _, at := range []struct {
		name   string
		what   string
		period time.Duration
	}{{"null", "minRTO", floor}, {"null-half", "minRTO/2", floor / 2}} {
		in := j.share(first, at.period)
		j.out.Claim(experiments.Claim{
			Name: at.name, Text: fmt.Sprintf("pulses each %v shut out a flow with a floor of %v", at.period, floor), Published: "throughput ≈ 0 at " + at.what,
			Source: paper, Tag: experiments.FromPrint, Measured: experiments.MeasuredWithin(scale(in), "% of the rate").Judging(in.Value), Expected: experiments.Between(0, null, "").OrDiffers(experiments.Between(0, 2*null, "")).Saying("below 10 %%"),

			Otherwise: "the retransmission gets through between two pulses",
		})
	}
	var odd []string
	for _, period := range j.Periods {
		if s := j.share(first, period).Value; s < null && model(floor, period) >= elsewhere {
			odd = append(odd, period.String())
		}
	}
	which := ""
	if len(odd) > 0 {
		which = ": " + strings.Join(odd, ", ")
	}
	j.out.Claim(experiments.Claim{
		Name: "nowhere-else", Text: "there is no null where the floor gives none", Source: paper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%d of %d periods%s", len(odd), len(j.Periods), which), Expected: experiments.Whether(len(odd) == 0, "none where the model leaves 30 %% or more"),

		Otherwise: "the flow's timeout is longer than its floor, or slow start is too slow between two pulses",
	})
	atOne, atHalf := j.share(fine, floor), j.share(fine, floor/2)
	j.out.Claim(experiments.Claim{
		Name: "moves", Text: fmt.Sprintf("a floor of %v has no null at %v and %v", j.Timers[1].Policy.Bounds.Min, floor, floor/2), Published: "throughput ≈ 0 at minRTO and minRTO/2",
		Source: paper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s and %s %% of the rate", experiments.Number(100*atOne.Value), experiments.Number(100*atHalf.Value)), Expected: experiments.Whether(atOne.Value > null && atHalf.Value > null, "above 10 %% at both"),

		Otherwise: "something else than the floor makes the null",
	})
	if fineFloor := j.Timers[1].Policy.Bounds.Min; slices.Contains(j.Periods, fineFloor) {
		in := j.share(fine, fineFloor)
		j.out.Claim(experiments.Claim{
			Name: "moves-to", Text: fmt.Sprintf("pulses each %v shut out a flow with a floor of %v", fineFloor, fineFloor), Published: "throughput ≈ 0 at minRTO",
			Source: paper, Tag: experiments.FromPrint, Measured: experiments.MeasuredWithin(scale(in), "% of the rate").Judging(in.Value), Expected: experiments.Between(0, null, "").OrDiffers(experiments.Between(0, 2*null, "")).Saying("below 10 %%"),

			Otherwise: "the retransmission gets through between two pulses",
		})
	}
	least, at := math.Inf(1), time.Duration(0)
	for _, period := range j.Periods {
		if s := j.share(none, period).Value; period >= floor/2 && s < least {
			least, at = s, period
		}
	}
	j.out.Claim(experiments.Claim{
		Name: "no-floor", Text: fmt.Sprintf("next to no floor, no null from %v up", floor/2), Source: "definition of the attack", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s %% of the rate, least, at %v", experiments.Number(100*least), at), Expected: experiments.Whether(least > null, "above 10 %% at each period"),

		Otherwise: "what the estimator adds to the round trip is as long as a period",
	})
	bsdOne, bsdHalf := j.share(j.BSD.Text, floor), j.share(j.BSD.Text, floor/2)
	spread := j.shares[key{j.BSD.Text, j.Pulses[0], floor}]
	j.out.Claim(experiments.Claim{
		Name: "bsd-smear", Text: "4.4BSD's nulls are smeared: where the pulses lie to its ticks decides", Source: "definition of 4.4BSD's timers", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s and %s %% of the rate at %v and %v; %s to %s %% by phase at %v", experiments.Number(100*bsdOne.Value), experiments.Number(100*bsdHalf.Value),
			floor, floor/2, experiments.Number(100*slices.Min(spread)), experiments.Number(100*slices.Max(spread)), floor),
		Expected:  experiments.Whether(bsdOne.Value >= null && slices.Min(spread) < null, "no null in the mean of the phases at minRTO, though in some"),
		Otherwise: "the ticks do not decide, or all phases drawn are alike",
	})
	j.claimGVisor(paper)
}

// claimGVisor claims that the floor puts the nulls of gVisor's own TCP where it puts those of the first timers, without RACK and probes as these.
func (j *judgement) claimGVisor(source string) {
	floor := j.Timers[0].Policy.Bounds.Min
	if !slices.Contains(j.GVisorFloors, floor) {
		return
	}
	left := func(bare bool) (at, half float64) {
		text := gvisor{floor, bare}.String()
		return j.share(text, floor).Value, j.share(text, floor/2).Value
	}
	at, half := left(true)
	j.out.Claim(experiments.Claim{
		Name: "gvisor", Text: fmt.Sprintf("pulses each %v and each %v shut out gVisor's own TCP with a floor of %v, without RACK and probes", floor, floor/2, floor), Published: "throughput ≈ 0 at minRTO and minRTO/2",
		Source: source, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s and %s %% of the rate", experiments.Number(100*at), experiments.Number(100*half)).Judging(max(at, half)), Expected: experiments.Between(0, null, "").OrDiffers(experiments.Between(0, 2*null, "")).Saying("below 10 %% at both"),

		Otherwise: "something else than the timer repairs what a pulse has lost",
	})
	at, half = left(false)
	j.out.Notes = append(j.out.Notes, fmt.Sprintf("With RACK and its probe for lost tails gVisor's own TCP keeps %s and %s %% of the rate at %v and %v with the same floor. What they change "+
		"was not looked for.", experiments.Number(100*at), experiments.Number(100*half), floor, floor/2))
}

func scale(in stat.Interval) stat.Interval {
	return stat.Interval{Value: 100 * in.Value, Lo: 100 * in.Lo, Hi: 100 * in.Hi}
}
