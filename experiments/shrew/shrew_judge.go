package shrew

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

var words = experiments.Words{
	Question: "Do pulses at the period of the retransmission timeout shut a flow out?",
	Found: "Pulses of 100 ms at a period of minRTO, or of half of it, leave a flow without RACK and TLP at most {null#} " +
		"% of the rate. That needs pulses as long as the queued round trip ({condition}) and a timeout that is the floor. " +
		"Flows with longer round trips go on: together they keep {flows}. Fine timers without a floor have no null: they " +
		"keep {no-floor}.",
}

// The bands, in % of the rate: no throughput; and where the model leaves so much, there must be no
// null.
const (
	null      = 10
	elsewhere = 30
)

const (
	paper     = "Kuzmanovic and Knightly, SIGCOMM 2003"
	published = "throughput ≈ 0 at minRTO and minRTO/2"
)

func seed(c *Cell) int             { return c.Seed }
func period(c *Cell) time.Duration { return c.Period }
func share(c *Cell) float64        { return c.Share }
func percent(c *Cell) float64      { return 100 * c.Share }

// kept returns the mean share of the rows, in %.
func kept(rows []Cell) float64 { return 100 * judge.Mean(rows, share) }

func mean(rows []Cell, of func(*Cell) float64) stat.Interval {
	return stat.BootstrapMean(judge.Values(rows, of), 1)
}

func in(rows []Cell, t time.Duration) []Cell {
	return judge.Where(rows, func(c *Cell) bool { return c.Period == t })
}

// study is a plan with its cells, and what follows from the bottleneck.
type study struct {
	*Plan
	one, several []Cell
	floor, fine  time.Duration
	queued       time.Duration // the round trip with a full queue: a pulse as long loses a whole flight
	// spared is the time to fill the queue and an idle round trip: a shorter pulse cannot lose a whole
	// flight.
	spared time.Duration
}

// onWire returns how long a link takes to send so many bytes.
func onWire(bytes, rate int) time.Duration {
	return time.Duration(8e9 * float64(bytes) / float64(rate))
}

func outcome(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	s := &study{Plan: p, floor: p.Published.Policy.Bounds.Min, fine: p.Finer.Policy.Bounds.Min}
	s.one = judge.Where(cells, func(c *Cell) bool { return !c.Several })
	s.several = judge.Where(cells, func(c *Cell) bool { return c.Several })
	s.queued = p.RoundTrip + onWire(p.Buffer, p.Rate)
	s.spared = p.RoundTrip + onWire(p.Buffer, max(p.PulseRate-p.Rate, 1))
	out := &experiments.Outcome{}
	out.Judge(s.null(), s.nowhereElse(), s.moves(), s.movesTo(), s.condition(), s.noFloor(), s.smear(), s.flows(),
		s.gvisor())
	out.Tables = append(out.Tables, s.timersTable(), s.flowsTable())
	out.Figures = append(out.Figures, s.figure())
	return out, nil
}

// of returns the rows of a sender against pulses of the first length.
func (s *study) of(sender string) []Cell {
	return judge.Where(s.one, func(c *Cell) bool { return c.Timers == sender && c.Pulse == s.Length && c.Period > 0 })
}

func (s *study) left(sender string, t time.Duration) float64 { return kept(in(s.of(sender), t)) }

// model returns the share that the floor leaves to a flow that sends at full rate from each timeout
// that meets no pulse to the next one.
func (s *study) model(t time.Duration) float64 {
	next := math.Ceil(float64(s.floor)/float64(t)) * float64(t)
	return (next - float64(s.floor)) / next
}

func (s *study) tooShort() string {
	return judge.Say("pulses of %v are shorter than the queued round trip of %v, and leave packets of a flight", s.Length,
		s.queued)
}

func (s *study) null() experiments.Claim {
	without := ""
	if cfg := s.Published.Config(); !cfg.Policy.RACK && !cfg.Policy.TLP {
		without = ", without RACK and TLP"
	}
	both := judge.Where(s.of(s.Published.Text), func(c *Cell) bool {
		return c.Period == s.floor || c.Period == s.floor/2
	})
	c := experiments.Claim{
		Name: "null", Class: experiments.OfOthers, Tag: experiments.FromPrint,
		Text: judge.Say("pulses of %v each %v and each %v shut out a flow with a floor of %v%s; a pulse lasts at least the "+
			"queued round trip, %v, and the timeout is the floor", s.Length, s.floor, s.floor/2, s.floor, without, s.queued),
		Published: published, Source: paper + ", Fig. 4 and §3.2",
		Basis: "ours: no number was read, nearly zero is at most 10 %",
		Look: experiments.Look{Read: experiments.ReadSummary,
			At: "CS244's reproduction of Fig. 4; another one's reading of §3.2",
			Quote: "the throughput reaches 0 at two points: interburst period = minRTO and interburst period = minRTO / 2; " +
				"the attack duration minus the time to fill up the TCP buffer should be greater than the RTT",
			Turns: "RACK and TLP, with which the flow keeps 64 %; other_lengths: pulses of 75 ms and more do it, of 50 ms and " +
				"less not; round trips of several flows; a timer with another floor, with ticks, with a random part, or with " +
				"a probe"},
		Measured: experiments.MeasuredWithin(judge.Resampled(both, seed, func(rows []Cell) float64 {
			most := math.NaN()
			for _, g := range judge.By(rows, period) {
				if x := kept(g.Rows); !(x <= most) {
					most = x
				}
			}
			return most
		}), "% of the rate, the greater of the two"),
		Expected:  experiments.AtMost(null, "%").OrDiffers(experiments.AtMost(2*null, "%")),
		Otherwise: "the retransmission arrives between two pulses",
	}
	switch {
	case s.Length < s.queued:
		c.Unless = s.tooShort()
	case !slices.Contains(s.Periods, s.floor) || !slices.Contains(s.Periods, s.floor/2):
		c.Unless = judge.Say("the plan has no such rows: pulses each %v and each %v", s.floor, s.floor/2)
	}
	return c
}

// law returns a law after the paper.
func law(name, text string, measured experiments.Measure, expected experiments.Band,
	otherwise string) experiments.Claim {
	return experiments.Claim{Name: name, Class: experiments.Law, Source: paper, Tag: experiments.FromPrint, Text: text,
		Basis: "the band of a null", Measured: measured, Expected: expected, Otherwise: otherwise}
}

func (s *study) nowhereElse() experiments.Claim {
	var odd []string
	for _, g := range judge.Along(s.of(s.Published.Text), period) {
		if kept(g.Rows) < null && 100*s.model(g.Key) >= elsewhere {
			odd = append(odd, g.Key.String())
		}
	}
	text := judge.Say("%d of %d periods", len(odd), len(s.Periods))
	if len(odd) > 0 {
		text += ": " + strings.Join(odd, ", ")
	}
	c := law("nowhere-else", "there is no null where the floor predicts none", judge.Said("%s", text),
		experiments.Whether(len(odd) == 0, "none where the model leaves %d %% or more", elsewhere),
		"the flow's timeout is longer than its floor, or slow start is too slow between two pulses")
	c.Basis = ""
	return c
}

func (s *study) moves() experiments.Claim {
	at, half := s.left(s.Finer.Text, s.floor), s.left(s.Finer.Text, s.floor/2)
	c := law("moves", judge.Say("a floor of %v has no null at %v and %v", s.fine, s.floor, s.floor/2),
		judge.Known("%v and %v %% of the rate", at, half).Judging(min(at, half)), experiments.Above(null, "% at both"),
		"something other than the floor makes the null")
	c.Published = published
	return c
}

func (s *study) movesTo() experiments.Claim {
	c := law("moves-to", judge.Say("a floor of %v has its null at %v, with pulses of at least the queued round trip of %v",
		s.fine, s.fine, s.queued), experiments.Measured(math.NaN(), ""),
		experiments.AtMost(null, "%").OrDiffers(experiments.AtMost(2*null, "%")),
		"the retransmission arrives between two pulses")
	c.Published = "throughput ≈ 0 at minRTO"
	if rows := in(s.of(s.Finer.Text), s.fine); len(rows) > 0 {
		c.Measured = experiments.MeasuredWithin(mean(rows, share).Times(100), "% of the rate")
	}
	if s.Length < s.queued {
		c.Unless = s.tooShort()
	}
	return c
}

func (s *study) condition() experiments.Claim {
	pulsed := judge.Where(s.one, func(c *Cell) bool { return c.Timers == s.Published.Text && c.Period > 0 })
	holds := true
	text := judge.Listing(judge.Along(pulsed, func(c *Cell) time.Duration { return c.Pulse }),
		func(g *judge.Group[time.Duration, Cell]) string {
			at, half := kept(in(g.Rows, s.floor)), kept(in(g.Rows, s.floor/2))
			holds = holds && (g.Key < s.queued || max(at, half) < null) && (g.Key > s.spared || min(at, half) >= null)
			return judge.Say("%v %v and %v", g.Key, at, half)
		})
	c := law("condition", judge.Say("both nulls are there where pulses last at least the round trip with a full queue, "+
		"%v, and not where they last at most %v, the time to fill the queue and an idle round trip", s.queued,
		s.spared.Round(time.Millisecond)),
		judge.Said("%% of the rate at %v and %v, by pulse: %s", s.floor, s.floor/2, text),
		experiments.Whether(holds, "at both periods, below %d %% with the former pulses and %d %% or more with the latter",
			null, null), "the window of the flow at the pulse decides too, not only the length of the pulse")
	c.Source, c.Tag = "computed: a shorter pulse leaves packets of the flight that cause duplicate ACKs",
		experiments.Computed
	if len(s.Others) == 0 {
		c.Unless = "there is one length of pulses"
	}
	return c
}

func (s *study) noFloor() experiments.Claim {
	least, at := math.NaN(), time.Duration(0)
	for _, g := range judge.Along(s.of(s.NoFloor.Text), period) {
		if x := kept(g.Rows); g.Key >= s.floor/2 && !(x >= least) {
			least, at = x, g.Key
		}
	}
	c := law("no-floor", judge.Say("with nearly no floor there is no null from %v up", s.floor/2),
		judge.Known("%v %% of the rate, least, at %v", least, at).Judging(least),
		experiments.Above(null, "% at each period"), "the estimator makes the timeout as long as a period")
	c.Source, c.Tag = "definition of the attack", experiments.Computed
	return c
}

func (s *study) smear() experiments.Claim {
	at, half := s.left(s.BSD.Text, s.floor), s.left(s.BSD.Text, s.floor/2)
	phases := judge.Values(in(s.of(s.BSD.Text), s.floor), percent)
	least, most := math.NaN(), math.NaN()
	if len(phases) > 0 {
		least, most = slices.Min(phases), slices.Max(phases)
	}
	c := law("bsd-smear", "4.4BSD's nulls are smeared: the phase of the pulses relative to its ticks decides",
		judge.Known("%v and %v %% of the rate at %v and %v; %v to %v %% by phase at %v", at, half, s.floor, s.floor/2, least,
			most, s.floor),
		experiments.Whether(at >= null && least < null, "no null in the mean of the phases at minRTO, but in some"),
		"the ticks do not decide, or all phases drawn are alike")
	c.Source, c.Tag, c.Basis = "definition of 4.4BSD's timers", experiments.Computed, ""
	return c
}

func (s *study) flows() experiments.Claim {
	c := law("flows", "flows with several round trips are shut out together", experiments.Measured(math.NaN(), ""),
		experiments.AtMost(null, "%").OrDiffers(experiments.AtMost(2*null, "%")),
		"flows with longer round trips have packets in flight after the pulse, and repair without a timeout")
	c.Source, c.Tag = "definition of the attack: the floor is the same for all flows", experiments.Computed
	n := len(s.FlowTrips)
	if n > 0 {
		c.Text = judge.Say("%d flows with round trips of %v to %v are shut out together at a period of %v", n, s.FlowTrips[0],
			s.FlowTrips[n-1], s.floor)
	}
	if rows := in(s.several, s.floor); len(rows) > 0 {
		c.Measured = experiments.MeasuredWithin(mean(rows, percent), "% of the rate")
	}
	if n == 0 || slices.Min(s.FlowTrips) < s.RoundTrip {
		c.Unless = judge.Say("no flows, or flows with a shorter round trip than that of the bottleneck, %v", s.RoundTrip)
	}
	return c
}

func (s *study) gvisor() experiments.Claim {
	bare := testbed.Subject{Kind: testbed.GVisor, Floor: s.floor, NoRACK: true}
	at, half := s.left(bare.String(), s.floor), s.left(bare.String(), s.floor/2)
	c := law("gvisor", judge.Say("pulses each %v and each %v shut out gVisor's own TCP with a floor of %v, without RACK "+
		"and probes", s.floor, s.floor/2, s.floor), judge.Known("%v and %v %% of the rate", at, half).Judging(max(at, half)),
		experiments.AtMost(null, "%").OrDiffers(experiments.AtMost(2*null, "%")),
		"a means other than the timer repairs the losses of a pulse")
	c.Published = published
	if !slices.Contains(s.GVisorFloors, s.floor) {
		c.Unless = judge.Say("gVisor's own TCP does not run with a floor of %v", s.floor)
	}
	return c
}

func (s *study) timersTable() experiments.Table {
	t := experiments.Table{Name: "timers",
		Title: judge.Say("Share of the bottleneck left to the flow, in %%, with pulses of %v in each period T", s.Length),
		Columns: []string{"timers", "no pulses", judge.Say("T = %v", s.floor/2), judge.Say("T = %v", s.floor),
			judge.Say("least above %v", s.floor/2), "at T, ms", judge.Say("seeds from, at %v", s.floor), "to",
			judge.Say("timeouts, at %v", s.floor)}}
	shown := judge.Where(s.one, func(c *Cell) bool { return c.Pulse == s.Length })
	for _, g := range judge.By(shown, func(c *Cell) string { return c.Timers }) {
		least, at := math.NaN(), math.NaN()
		for _, p := range judge.Along(g.Rows, period) {
			if x := kept(p.Rows); p.Key > s.floor/2 && !(x >= least) {
				least, at = x, judge.Ms(p.Key)
			}
		}
		row := []any{g.Key, kept(in(g.Rows, 0)), kept(in(g.Rows, s.floor/2)), kept(in(g.Rows, s.floor)), least, at, "", "",
			""}
		if rows := in(g.Rows, s.floor); len(rows) > 0 {
			all := judge.Values(rows, percent)
			row = append(row[:6], slices.Min(all), slices.Max(all),
				judge.Mean(rows, func(c *Cell) float64 { return float64(c.Timeouts) }))
		}
		t.Add(row...)
	}
	return t
}

func (s *study) flowsTable() experiments.Table {
	t := experiments.Table{Name: "flows",
		Title:   judge.Say("Shares of several flows, in %% of the rate, with pulses of %v: by round trip", s.Length),
		Columns: []string{"period, ms", "all", "95 % from", "to"}}
	for _, trip := range s.FlowTrips {
		t.Columns = append(t.Columns, trip.String())
	}
	for _, g := range judge.By(s.several, period) {
		all := mean(g.Rows, percent)
		row := []any{judge.Ms(g.Key), all.Value, all.Lo, all.Hi}
		for i := range s.FlowTrips {
			row = append(row, 100*judge.Mean(g.Rows, func(c *Cell) float64 { return c.Flows[i] }))
		}
		t.Add(row...)
	}
	return t
}

func (s *study) figure() figure.Figure {
	f := figure.Figure{
		Name: "shrew", Title: fmt.Sprintf("A flow with a floor of %v, against pulses", s.floor),
		Caption: "Nulls at minRTO and at half of it are published. The dashed line is the model, which knows only the " +
			"floor: the flow sends at full rate from each timeout that meets no pulse to the next pulse.",
		X: figure.Axis{Label: "period of the pulses, ms"},
		Y: figure.Axis{Label: "share of the bottleneck's rate", Hi: 1},
		Marks: []figure.Mark{{Label: "minRTO", At: judge.Ms(s.floor), Vertical: true},
			{Label: "minRTO/2", At: judge.Ms(s.floor / 2), Vertical: true}},
	}
	pulsed := judge.Where(s.one, func(c *Cell) bool { return c.Timers == s.Published.Text && c.Period > 0 })
	for _, g := range judge.By(pulsed, func(c *Cell) time.Duration { return c.Pulse }) {
		f.Series = append(f.Series, judge.Curve(judge.Say("pulses of %v", g.Key), figure.Line, g.Rows,
			func(c *Cell) float64 { return judge.Ms(c.Period) },
			func(rows []Cell) stat.Interval { return mean(rows, share) }))
	}
	model := figure.Series{Name: "model", Kind: figure.Line, Dashed: true}
	for t := s.Periods[0]; t <= s.Periods[len(s.Periods)-1]; t += 10 * time.Millisecond {
		model.Add(judge.Ms(t), s.model(t))
	}
	f.Series = append(f.Series, model)
	return f
}
