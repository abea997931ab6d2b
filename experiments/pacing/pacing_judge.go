package pacing

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

var words = experiments.Words{
	Question: "How fine must a wheel's tick be for pacing and for retransmission timers, and what does sharing it cost?",
	Found: "Only a tick below the time of a packet spaces packets: with one of a tenth of it, and of ten times it, " +
		"{burst}. What pacing gains in goodput needs less, a tick of a tenth of the round trip: {keeps}. At the coarsest " +
		"tick short transfers that wait for the retransmission timer take {rto}. One wheel for both looks at {shared#} " +
		"records more for a packet than two wheels.",
}

const (
	aggarwal = "Aggarwal, Savage and Anderson, INFOCOM 2000, abstract"
	kempf    = "Kempf et al., QUIC Steps, CoNEXT 2025"
	gapsData = kempf + ": its data, summed up in gaps.csv"
	// What the authors of QUIC Steps measured, in % of the packets: lines of gaps.csv. tcp+tls-cubic
	// is the kernel's TCP, and quiche over fq without GSO the one whose packets fq spaces.
	tcpAlone, tcpUpTo5 = 0.19, 99.95
	fqAlone            = 80.88
	tcpGoodput         = 37.37 // Mbit/s
	tcpDropped         = 16.5  // packets
	published          = 104857600
	// precise is a tick that releases as precisely as fq was found to do.
	precise = 100 * time.Microsecond
	// gained is the least gain in goodput that counts, in %.
	gained = 5
)

func seed(c *Cell) int     { return c.Seed }
func took(c *Cell) float64 { return c.Took.Seconds() }
func timeouts(c *Cell) int { return int(c.Timeouts) }

// perTook and perSent are ratios of sums.
func perTook(cells []Cell) float64 {
	return judge.Sum(cells, func(c *Cell) float64 { return c.Bits }) / judge.Sum(cells, took)
}

func perSent(cells []Cell, of func(*Cell) float64) float64 {
	return judge.Sum(cells, of) / judge.Sum(cells, func(c *Cell) float64 { return float64(c.Sent) })
}

func alone(c *Cell) float64 { return 100 * float64(c.Alone) }
func upTo5(c *Cell) float64 { return 100 * float64(c.UpTo5) }

func ofKind(cells []Cell, kind string) []Cell {
	return judge.Where(cells, func(c *Cell) bool { return c.Kind == kind })
}

func withPacing(cells []Cell, paced bool) []Cell {
	return judge.Where(cells, func(c *Cell) bool { return c.Paced == paced })
}

func atTick(cells []Cell, at time.Duration) []Cell {
	return judge.Where(cells, func(c *Cell) bool { return c.Tick == at })
}

// link is a path, and all that follows from it.
type link struct {
	rate int
	trip time.Duration
	gap  time.Duration
	room int
}

func linkOf(c *Cell) link { return link{c.Rate, c.RoundTrip, c.Gap, c.Room} }

func (l link) name() string { return judge.Say("%v Mbit/s, %v", float64(l.rate)/1e6, l.trip) }

// holdsTen reports whether a path holds ten packets. Elsewhere the first packets of a connection are
// paced faster than the path sends.
func (l link) holdsTen() bool { return l.trip >= 10*l.gap }

// gain is the goodput that pacing gains on a path at one tick, in %.
type gain struct {
	link
	tick time.Duration
	stat.Interval
}

// gains returns those of a kind on paths without losses of their own.
func gains(cells []Cell, kind string) (all []gain) {
	type at struct {
		link
		tick time.Duration
	}
	idle := judge.Where(cells, func(c *Cell) bool { return c.Kind == kind && c.Loss == 0 })
	for _, g := range judge.By(idle, func(c *Cell) at { return at{linkOf(c), c.Tick} }) {
		all = append(all, gain{g.Key.link, g.Key.tick, judge.Resampled(g.Rows, seed, func(cells []Cell) float64 {
			return 100 * (perTook(withPacing(cells, true))/perTook(withPacing(cells, false)) - 1)
		})})
	}
	return all
}

// span returns the least and the greatest value.
func span(all []gain) (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	for _, g := range all {
		if !(g.Value >= lo) {
			lo = g.Value
		}
		if !(g.Value <= hi) {
			hi = g.Value
		}
	}
	return lo, hi
}

// better and worse return on how many paths pacing is, by more than gained.
func better(all []gain) int { return judge.Count(all, func(g *gain) bool { return g.Lo > gained }) }
func worse(all []gain) int  { return judge.Count(all, func(g *gain) bool { return g.Hi < -gained }) }

func judgePacing(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	all := gains(cells, onPath)
	out.Judge(claimsOnGoodput(p, cells, all)...)
	out.Judge(claimsOnGaps(p, ofKind(cells, ofGaps))...)
	out.Judge(claimOnBursts(cells), claimOnTails(p, ofKind(cells, ofTails)), claimOnQueues(p, ofKind(cells, ofQueue)))
	unended := judge.Count(cells, func(c *Cell) bool { return c.Bits == 0 && c.Kind != ofQueue && c.Kind != ofOld })
	expired := judge.Sum(ofKind(cells, ofQueue), timeouts)
	out.Judge(experiments.Claim{
		Name: "all", Class: experiments.Check, Tag: experiments.Computed, Source: "definition",
		Text:     "all transfers end, and no retransmission timer of the queues expires",
		Measured: judge.Said("%d without an end, %d expired", unended, expired),
		Expected: experiments.Whether(unended == 0 && expired == 0, "none"),
	})
	out.Tables = append(out.Tables, ticksTable(cells))
	out.Figures = append(out.Figures, trainsFigure(cells))
	return out, nil
}

func claimsOnGoodput(p *Plan, cells []Cell, all []gain) []experiments.Claim {
	finest := p.Ticks[0]
	at := func(all []gain) []gain { return judge.Where(all, func(g *gain) bool { return g.tick == finest }) }
	old, now := at(gains(cells, ofOld)), at(all)
	counts := func(all []gain) string {
		return fmt.Sprintf("worse by more than %d %% on %d of %d paths, better on %d", gained, worse(all), len(all),
			better(all))
	}
	gainsAt := map[link]float64{}
	for _, g := range now {
		gainsAt[g.link] = g.Lo
	}
	tenth := judge.Where(all, func(g *gain) bool {
		return g.tick > finest && g.tick <= g.trip/10 && gainsAt[g.link] > gained
	})
	trip := judge.Where(all, func(g *gain) bool { return g.tick >= g.trip+time.Duration(g.room)*g.gap })
	lo, hi := span(now)
	kept, _ := span(tenth)
	left, most := span(trip)
	queue := fmt.Sprintf("a queue of %v times rate and round trip", p.Buffer)
	claims := []experiments.Claim{
		{
			Name: "worse", Class: experiments.OfOthers, Tag: experiments.FromPrint, Source: aggarwal,
			Text:      "pacing often has significantly worse throughput than none, with a TCP of the paper's time and " + queue,
			Published: "\"pacing often has significantly worse throughput\"",
			Basis:     "ours, as no number was read: less by more than 5 % on more than a third of the paths",
			Measured:  judge.Said("%s", counts(old)),
			Expected: experiments.Whether(3*worse(old) > len(old), "worse on more than a third of them").OrDiffers(
				experiments.Whether(worse(old) > 0, "worse on one")),
			Look: experiments.Look{Read: experiments.ReadAbstract,
				Quote: "However, we show that contrary to intuition, pacing often has significantly worse throughput than " +
					"regular TCP because it is susceptible to synchronized losses and it delays congestion signals.",
				Turns: "nearly anything: transfers=1, transfer=50 and buffer=1 leave 1 path, access=1 none, and transfer=2 " +
					"gives 4. With timestamps it is 1, with SACK too none; CUBIC with both is the next claim"},
		},
		{
			Name: "sack", Class: experiments.Law, Tag: experiments.Computed, Source: "found here, by --set timers",
			Text:     "with SACK, CUBIC and " + queue + " pacing is better on more paths than it is worse",
			Basis:    "5 % either way",
			Measured: judge.Said("%s; %v to %v %%", counts(now), lo, hi),
			Expected: experiments.Whether(better(now) > worse(now), "more paths"),
		},
		{
			Name: "keeps", Class: experiments.Law, Tag: experiments.Computed,
			Text: "where pacing by the finest tick gains more than 5 % in goodput, a tick of a tenth of the round trip or " +
				"less still does",
			Source:   "definition of pacing: a window is spread over a round trip, here in ten trains or more",
			Basis:    "5 %, set for this project after a first run",
			Measured: judge.Said("%v %% more goodput at least, on %d of %d paths", kept, better(now), len(now)),
			Expected: experiments.Whether(kept > gained, "more than 5 %% on each"),
		},
		{
			Name: "no-gain", Class: experiments.Law, Tag: experiments.Computed,
			Text:     "a tick of a round trip with a full queue, or more, leaves nothing of what pacing gains",
			Source:   "definition of pacing: a window is spread over a round trip",
			Basis:    "5 %, set for this project",
			Measured: judge.Said("%v to %v %% more goodput than without pacing", left, most),
			Expected: experiments.Whether(most <= gained, "at most 5 %% more on each path"),
		},
	}
	if len(now) == 0 {
		claims[1].Unless = "the plan has no paths without losses"
	}
	if len(tenth) == 0 {
		claims[2].Unless = "no such path, or no tick between the finest and a tenth of a round trip"
	}
	if len(trip) == 0 {
		claims[3].Unless = "no tick is as long as a round trip with a full queue"
	}
	return claims
}

// gapLooks are how the data of QUIC Steps was read, by claim.
var gapLooks = map[string]experiments.Look{
	"no-pacing": {Read: experiments.ReadCode, At: "analysis/build/data/tcp+tls-cubic, 20 repetitions",
		Quote: `"TCP/TLS": "tcp+tls-cubic" (analysis/data.py)`},
	"goodput": {Read: experiments.ReadCode,
		At:    "results/detailed/tcp+tls-cubic, 19 of 20 repetitions (one archive could not be read)",
		Quote: `"average": "37.36 (± 0.00) Mbps" (repetition 1)`},
	"dropped": {Read: experiments.ReadCode,
		At:    "results/detailed/tcp+tls-cubic, the netem of the bottleneck, 19 of 20 repetitions",
		Quote: "Sent 109788239 bytes 72526 pkt (dropped 16, overlimits 0 requeues 0) (repetition 1)"},
}

// sameAsTCP are the claims that a sender without pacing does over the path of QUIC Steps what the
// kernel's TCP did. That the goodput is the rate of the bottleneck is a check.
func sameAsTCP(sender string, cells []Cell, turns map[string]string) []experiments.Claim {
	of, upTo := perSent(cells, alone), perSent(cells, upTo5)
	near := func(x, published float64) bool { return math.Abs(x/published-1) <= 0.1 }
	claims := []experiments.Claim{
		{
			Name: "no-pacing", Class: experiments.OfOthers, Source: gapsData,
			Text: "without pacing hardly a packet of " + sender + " leaves alone, and nearly all leave in trains of up to " +
				"five",
			Published: judge.Say("%v %% alone, %v %% in trains of up to five", tcpAlone, tcpUpTo5),
			Basis:     "ours: at most 5 % alone; the other share ± 10 %, the rule of all studies",
			Measured:  judge.Said("%v %% alone, %v %% in trains of up to five", of, upTo),
			Expected: experiments.Whether(of <= 5 && near(upTo, tcpUpTo5), "%s", judge.Say(
				"at most 5 %% alone, %v %% ± 10 %% in trains of up to five", tcpUpTo5)).OrDiffers(
				experiments.Whether(of <= 20, "at most 20 %% alone")),
		},
		{
			Name: "goodput", Class: experiments.Check, Source: kempf + ": result.json of tcp+tls-cubic in its data",
			Text:      "without pacing " + sender + " fills that path, as was measured",
			Published: judge.Say("%v Mbit/s, the mean of 19 repetitions", tcpGoodput),
			Measured:  experiments.Measured(perTook(cells)/1e6, "Mbit/s"),
			Expected: experiments.Printed(tcpGoodput, "Mbit/s").OrDiffers(
				experiments.Above(18, "Mbit/s")),
		},
		{
			Name: "dropped", Class: experiments.OfOthers, Source: kempf + ": tc-stats.txt of tcp+tls-cubic in its data",
			Text:      sender + " loses as many packets to the queue of that path",
			Published: judge.Say("%v packets, the mean of 19 repetitions", tcpDropped),
			Measured:  experiments.Measured(float64(judge.Sum(cells, func(c *Cell) int { return int(c.Dropped) })), "packets"),
			Expected:  experiments.Printed(tcpDropped, "packets").OrDiffers(experiments.Above(1, "packets")),
		},
	}
	for i := range claims {
		c := &claims[i]
		c.Tag, c.Look = experiments.FromPrint, gapLooks[c.Name]
		c.Look.Turns = turns[c.Name]
	}
	return claims
}

func claimsOnGaps(p *Plan, gaps []Cell) []experiments.Claim {
	claims := sameAsTCP("a TCP", atTick(withPacing(gaps, false), p.Ticks[0]), map[string]string{
		"no-pacing": `gap_timers="per-segment control=cubic" with gap_bytes=4000000 gives 18 % alone, from the slow ` +
			`start, and differs; with Linux's timers it is 0. Their trains are of three to five where those here are of two: ` +
			`1.1 % of their packets are in trains of up to two`,
		"goodput": "gap_bytes=4000000 gives 30.6; nothing of gap_bytes from 20 MB up, gap_buffer from 20 up, gap_timers: " +
			"the bottleneck decides, so other TCPs reach it too",
		"dropped": `gap_timers="per-segment control=cubic" loses 133, nearly all in the slow start, which HyStart++ ends ` +
			`later than Linux's HyStart; gap_buffer=60 loses 14, gap_buffer=40 36, and gap_bytes=20000000 1`,
	})
	for i := range claims {
		claims[i].Measured.Exact = claims[i].Measured.Text == ""
	}
	if p.GapBytes < published {
		claims[2].Unless = fmt.Sprintf("the download is shorter than the published one of %d bytes, and so loses less",
			published)
	}
	spaced := experiments.Claim{
		Name: "precise", Class: experiments.Law, Tag: experiments.Computed,
		Text:   fmt.Sprintf("a tick of %v is fine enough for the precision that fq was found to have", precise),
		Source: "gaps.csv, of quiche over fq without GSO: from the data of Kempf et al., QUIC Steps",
		Basis: "their measurement, by their own rule for trains; a real machine adds its lateness, see --live " +
			"kernel",
		Measured: experiments.Measured(perSent(atTick(withPacing(gaps, true), precise), alone), "% of the packets"),
		Expected: experiments.AtLeast(fqAlone, "%").OrDiffers(experiments.AtLeast(50, "%")),
	}
	if spaced.Measured.Exact = true; len(atTick(gaps, precise)) == 0 {
		spaced.Unless = fmt.Sprintf("the plan has no tick of %v", precise)
	}
	return append(claims, spaced)
}

// claimOnBursts compares ticks of at most a tenth of a packet time with those of ten and more.
func claimOnBursts(cells []Cell) experiments.Claim {
	type step struct {
		link
		tick  time.Duration
		paced bool
	}
	fine, coarse, without := math.NaN(), math.NaN(), math.NaN()
	idle := judge.Where(cells, func(c *Cell) bool { return c.Kind == onPath && c.Loss == 0 && linkOf(c).holdsTen() })
	for _, g := range judge.By(idle, func(c *Cell) step { return step{linkOf(c), c.Tick, c.Paced} }) {
		switch x := perSent(g.Rows, alone); {
		case !g.Key.paced:
			if !(x <= without) {
				without = x
			}
		case g.Key.tick <= g.Key.gap/10:
			if !(x >= fine) {
				fine = x
			}
		case g.Key.tick >= 10*g.Key.gap:
			if !(x <= coarse) {
				coarse = x
			}
		}
	}
	c := experiments.Claim{
		Name: "burst", Class: experiments.Law, Tag: experiments.Computed,
		Text: "a tick of at most a tenth of the bottleneck's packet time releases packets one by one, and one of ten " +
			"packet times or more in trains, as if none were paced",
		Source: "definition of the tick: all releases of a tick leave together",
		Basis:  "at least 90 % alone, at most 25 %; set for this project after a first run",
		Measured: judge.Said("%v %% of the packets alone at least, %v %% at most; without pacing %v %% at most", fine, coarse,
			without),
		Expected: experiments.Whether(fine >= 90 && coarse <= 25, "at least 90 %% at fine ticks, at most 25 %% at coarse "+
			"ones"),
	}
	if fine != fine || coarse != coarse {
		c.Unless = "the plan has no such ticks, or no path without losses that holds ten packets"
	}
	return c
}

func claimOnTails(p *Plan, tails []Cell) experiments.Claim {
	finest, coarsest := p.Ticks[0], p.Ticks[len(p.Ticks)-1]
	later := func(cells []Cell) (all []float64) { // by path, in %
		for _, g := range judge.By(cells, linkOf) {
			all = append(all, 100*(judge.Sum(atTick(g.Rows, coarsest), took)/judge.Sum(atTick(g.Rows, finest), took)-1))
		}
		return all
	}
	most := math.Inf(-1)
	for _, x := range later(tails) {
		most = max(most, x)
	}
	c := experiments.Claim{
		Name: "rto", Class: experiments.Law, Tag: experiments.Computed,
		Text: fmt.Sprintf("a tick of %v costs short transfers, whose lost tails wait for the retransmission timer, at most "+
			"a tenth of their time", coarsest),
		Source: "definition of the tick: a timer is late by less than one, and waits for a floor and a round trip",
		Basis:  "set for this project, beforehand",
		Measured: experiments.MeasuredWithin(judge.Resampled(tails, seed, func(cells []Cell) float64 {
			return stat.Mean(later(cells))
		}), judge.Say("%% longer than at %v, in the mean of the paths, and %v %% at most, with %v timeouts", finest, most,
			experiments.Number(float64(judge.Sum(atTick(tails, finest), timeouts))))),
		Expected: experiments.AtMost(10, "%").OrDiffers(experiments.AtMost(50, "%")),
	}
	if judge.Sum(tails, timeouts) == 0 {
		c.Unless = "nothing waited for a retransmission timer"
	}
	return c
}

func claimOnQueues(p *Plan, cells []Cell) experiments.Claim {
	most := p.Flows[len(p.Flows)-1]
	records := func(queue string) float64 {
		return perSent(judge.Where(cells, func(c *Cell) bool { return c.Queue == queue && c.Flows == most }),
			func(c *Cell) float64 { return float64(c.Work) })
	}
	c := experiments.Claim{
		Name: "shared", Class: experiments.Law, Tag: experiments.Computed,
		Text:   "one wheel for both looks at no more than one record more for a packet than two wheels do",
		Source: "Scheme 6: a record is looked at once in a rotation, so a shorter rotation meets a waiting timer more often",
		Basis:  "one look for each packet, as the plan's packets of a flow are at most a rotation apart",
		Measured: experiments.Measured(records(oneWheel)-records("two-wheels"),
			fmt.Sprintf("records more for a packet, at %d flows", most)),
		Expected: experiments.AtMost(1, ""),
	}
	if c.Measured.Exact = true; !p.has("two-wheels") {
		c.Unless = "the plan has one wheel only"
	}
	return c
}

// yes returns a truth for a table.
func yes(is bool) string { return experiments.Text(is) }

func ticksTable(cells []Cell) experiments.Table {
	t := experiments.Table{Name: "ticks", Title: "Transfers by the tick of the one wheel, means of all paths: with " +
		"pacing, and without, where the tick is that of the other timers alone", Columns: []string{"path loses, %", "paced",
		"tick, ms", "goodput, Mbit/s", "packets in a train", "longest train", "waiting in the queue, packets",
		"dropped by the queue, %", "timeouts"}}
	type row struct {
		loss  float64
		paced bool
		tick  time.Duration
	}
	for _, loss := range judge.Along(ofKind(cells, onPath), func(c *Cell) float64 { return c.Loss }) {
		for _, g := range judge.By(loss.Rows, func(c *Cell) row { return row{c.Loss, c.Paced, c.Tick} }) {
			mean := func(of func(cells []Cell) float64) float64 {
				var all []float64
				for _, path := range judge.By(g.Rows, linkOf) {
					all = append(all, of(path.Rows))
				}
				return stat.Mean(all)
			}
			sent := func(of func(*Cell) float64) float64 {
				return mean(func(cells []Cell) float64 { return perSent(cells, of) })
			}
			t.Add(100*loss.Key, yes(g.Key.paced), g.Key.tick, mean(perTook)/1e6, mean(trainLength),
				judge.Most(g.Rows, longest).Longest, sent(func(c *Cell) float64 { return c.QueueSum }),
				100*sent(func(c *Cell) float64 { return float64(c.Dropped) }), judge.Sum(g.Rows, timeouts))
		}
	}
	return t
}

func longest(c *Cell) float64 { return float64(c.Longest) }

func trainLength(cells []Cell) float64 {
	return 1 / perSent(cells, func(c *Cell) float64 { return float64(c.Trains) })
}

func trainsFigure(cells []Cell) figure.Figure {
	f := figure.Figure{
		Name: "trains", Title: "Length of a train by the tick, in packet times of the bottleneck",
		Caption: "A tick of a tenth of a packet time spaces packets. At one of many packet times they leave in pairs, as " +
			"ACKs release them: what is due within the tick leaves with the ACK.",
		X: figure.Axis{Label: "tick / packet time", Log: true}, Y: figure.Axis{Label: "packets in a train, mean", Log: true},
	}
	paced := judge.Where(cells, func(c *Cell) bool { return c.Kind == onPath && c.Paced })
	least := judge.Along(paced, func(c *Cell) float64 { return c.Loss })[0].Rows
	for _, g := range judge.By(least, linkOf) {
		f.Series = append(f.Series, judge.Curve(g.Key.name(), figure.Line, g.Rows, func(c *Cell) float64 {
			return float64(c.Tick) / float64(c.Gap)
		}, trainLength))
	}
	return f
}

func gapsTable(train time.Duration, gaps []Cell) experiments.Table {
	t := experiments.Table{Name: "gaps", Title: fmt.Sprintf("Packets by the length of their train, ended by a gap of %v, "+
		"over the path of QUIC Steps", train), Columns: []string{"paced", "tick, ms", "alone, %", "in trains of up to 5, %",
		"longest", "dropped, packets", "goodput, Mbit/s"}}
	for i := range gaps {
		c := gaps[i : i+1]
		t.Add(yes(c[0].Paced), c[0].Tick, perSent(c, alone), perSent(c, upTo5), c[0].Longest, c[0].Dropped, perTook(c)/1e6)
	}
	return t
}
