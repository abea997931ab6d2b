package spike

import (
	"cmp"
	"fmt"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

var words = experiments.Words{
	Question: "Do coarse timers ride out a delay spike, and at what price?",
	Found: "Granularity trades spurious retransmissions ({fewer}) for waiting ({price}). A response to spurious " +
		"timeouts avoids the trade: Eifel is {undo-eifel}.",
}

// sender is timers under all seeds: the wait of a lost segment in ms, and the retransmissions in
// the greatest spike, without a response and with all three.
type sender struct {
	timers
	waits, spurious, kept stat.Interval
}

func senders(p *Plan, cells []Cell, all []row) (senders []sender) {
	highest := slices.Max(p.Peaks)
	for _, tm := range p.all() {
		var waits [][]float64
		for _, c := range cells {
			if c.Timers == tm.name && len(c.Waits) > 0 {
				waits = append(waits, judge.Values(c.Waits, func(w *int64) float64 { return float64(*w) / 1e3 }))
			}
		}
		if len(waits) == 0 {
			continue
		}
		retransmissions := func(response string) stat.Interval {
			rows := judge.Where(all, func(r *row) bool {
				return r.timers.name == tm.name && r.Peak == highest && r.Response == response
			})
			return judge.Student(judge.Values(rows, func(r *row) float64 { return float64(r.Retransmissions) }))
		}
		senders = append(senders, sender{tm, judge.Jackknife(waits, stat.Mean[float64]), retransmissions(none),
			retransmissions(every)})
	}
	return senders
}

// outcome judges the spikes and the waits, and shows them.
func outcome(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out, all := &experiments.Outcome{}, rows(p, cells)
	senders := senders(p, cells, all)
	hits := judge.Where(all, func(r *row) bool { return r.tried && r.harmful && r.timers.family != ofStack })
	out.Judge(hiddenClaim(p, all))
	out.Judge(tradeClaims(senders)...)
	out.Judge(responseClaims(hits)...)
	out.Tables = append(out.Tables, responseTable(hits))
	out.Figures = append(out.Figures, pareto(p, senders))
	for _, s := range senders {
		switch {
		case s.name == "per-segment":
			out.Notes = append(out.Notes, judge.Say("The responses avoid the trade-off: the default, which has all three, "+
				"waits %v ms for a lost segment and makes %v spurious retransmissions in the greatest spike. Timers that wait as "+
				"long make %v without a response.", s.waits, s.kept, s.spurious))
		case s.family == ofStack:
			out.Notes = append(out.Notes, judge.Say("gVisor's own TCP waits %v ms for a lost segment, the time of a probe, and "+
				"makes %v spurious retransmissions in the greatest spike; %v without SACK and timestamps.", s.waits, s.kept,
				s.spurious))
		}
	}
	return out, nil
}

func hiddenClaim(p *Plan, all []row) experiments.Claim {
	hidden := judge.Where(all, func(r *row) bool {
		return (r.timers.family == ofTick || r.timers.family == ofFloor) && r.Response == none && r.Peak > p.RTT &&
			r.Peak-p.RTT < r.timers.size
	})
	caused := judge.Count(hidden, func(r *row) bool { return r.Retransmissions > 0 })
	c := experiments.Claim{
		Name: "hidden", Class: experiments.Law, Source: "definition of the timers", Tag: experiments.Computed,
		Text:     "a rise of the round trip below the granularity, or the floor on the variation, makes no timer expire",
		Measured: judge.Said("%d of %d spikes caused retransmissions", caused, len(hidden)).Judging(float64(caused)),
		Expected: experiments.Exactly(0, "").Saying("none"),
	}
	if len(hidden) == 0 {
		c.Unless = "the plan has no spike below a granularity or floor"
	}
	return c
}

// tradeClaims are about granularities, by size.
func tradeClaims(senders []sender) []experiments.Claim {
	grain := judge.Where(senders, func(s *sender) bool { return s.family == ofTick })
	slices.SortFunc(grain, func(a, b sender) int { return cmp.Compare(a.size, b.size) })
	finest, coarsest := grain[0], grain[len(grain)-1]
	more, sooner := 0, 0
	for i := 1; i < len(grain); i++ {
		if grain[i].spurious.Lo > grain[i-1].spurious.Hi {
			more++
		}
		if grain[i].waits.Value <= grain[i-1].waits.Value {
			sooner++
		}
	}
	correlation := judge.RankCorrelation(judge.Values(grain, func(s *sender) float64 { return s.waits.Value }),
		judge.Values(grain, func(s *sender) float64 { return s.spurious.Value }))
	return []experiments.Claim{
		{
			Name: "fewer", Class: experiments.Law, Source: "definition of the timers", Tag: experiments.Computed,
			Text:     "the coarser the timers, the fewer spurious retransmissions in the greatest spike",
			Measured: judge.Said("%v segments at %v, %v at %v", finest.spurious, finest.name, coarsest.spurious, coarsest.name),
			Expected: experiments.Whether(more == 0 && coarsest.spurious.Value <= finest.spurious.Value/2,
				"never more than at the next finer, except by chance; the coarsest at most half of the finest"),
		},
		{
			Name: "price", Class: experiments.Law, Source: "definition of the timers", Tag: experiments.Computed,
			Text:     "the coarser the timers, the longer the wait of a lost segment",
			Measured: judge.Said("%v ms at %v, %v ms at %v", finest.waits, finest.name, coarsest.waits, coarsest.name),
			Expected: experiments.Whether(sooner == 0, "more at each step"),
		},
		{
			Name: "trade-off", Class: experiments.Law, Tag: experiments.FromPrint, Basis: "set for this project",
			Text:     "so granularity trades spurious retransmissions for waiting",
			Source:   "shape, after Allman and Paxson 1999 (abstract) for the floor",
			Measured: experiments.Measured(correlation, "rank correlation"),
			Expected: experiments.AtMost(-0.8, "").OrDiffers(experiments.AtMost(-0.3, "")),
		},
	}
}

// responseClaims are about spikes that cause a timeout without a response.
func responseClaims(hits []row) []experiments.Claim {
	with := func(response string) []row {
		return judge.Where(hits, func(r *row) bool { return r.Response == response })
	}
	window := func(r *row) float64 { return r.window }
	isBack := func(r *row) bool { return back(&r.Spike) }
	regained := func(rows []row) string {
		return fmt.Sprintf("back in %d of %d spikes, %.0f %% of it in the mean", judge.Count(rows, isBack), len(rows),
			100*judge.Sum(rows, window)/float64(len(rows)))
	}
	alone := with(none)
	claims := []experiments.Claim{{
		Name: "harm", Class: experiments.Law, Source: "RFC 5681 §3.1", Tag: experiments.Standard,
		Text:     "without a response, the window stays where a spurious timeout put it",
		Measured: judge.Said("%s", regained(alone)),
		Expected: experiments.Whether(float64(judge.Count(alone, isBack)) <= 0.05*float64(len(alone)), "back in at most "+
			"5 %%"),
	}}
	for _, r := range []struct{ name, response, source string }{
		{"undo-frto", frto, "RFC 5682 §2.1"}, {"undo-eifel", eifel, "RFC 3522 and RFC 4015"},
		{"undo-dsack", dsack, "RFC 3708"},
	} {
		rows := with(r.response)
		single := judge.Where(rows, func(r *row) bool { return r.Timeouts <= 1 })
		n := judge.Count(rows, isBack)
		claims = append(claims, experiments.Claim{
			Name: r.name, Class: experiments.Law, Source: r.source, Tag: experiments.Standard,
			Text: r.response + " restores the window",
			Measured: judge.Said("%s; in %d of %d with no second timeout", regained(rows), judge.Count(single, isBack),
				len(single)),
			Expected: experiments.Whether(float64(n)/float64(len(rows)) >= 0.95, "back in 95 %%").OrDiffers(
				experiments.Whether(judge.Sum(rows, window) > judge.Sum(alone, window), "a greater window")),
		})
	}
	if len(hits) == 0 {
		for i := range claims {
			claims[i].Unless = "no spike of the plan causes a timeout"
		}
	}
	return claims
}

func responseTable(hits []row) experiments.Table {
	t := experiments.Table{Name: "responses", Title: "Effect of responses on the spikes that cause a timeout without one",
		Columns: []string{"response", "spikes", "window back, %", "window after, % of before", "with one timeout",
			"of them back, %", "spurious retransmissions, segments"}}
	for _, g := range judge.By(hits, func(r *row) string { return r.Response }) {
		isBack := func(r *row) bool { return back(&r.Spike) }
		single := judge.Where(g.Rows, func(r *row) bool { return r.Timeouts <= 1 })
		n := float64(len(g.Rows))
		t.Add(g.Key, len(g.Rows), 100*float64(judge.Count(g.Rows, isBack))/n,
			100*judge.Sum(g.Rows, func(r *row) float64 { return r.window })/n, len(single),
			100*float64(judge.Count(single, isBack))/float64(max(len(single), 1)),
			judge.Mean(g.Rows, func(r *row) float64 { return float64(r.Retransmissions) }))
	}
	return t
}

func pareto(p *Plan, senders []sender) figure.Figure {
	f := figure.Figure{
		Name: "pareto", Title: fmt.Sprintf("Gain and cost of coarse timers in a spike to %v", slices.Max(p.Peaks)),
		Caption: "Granularity and floors move along one curve: fewer spurious retransmissions, more waiting. Responses to " +
			"spurious timeouts leave it, downwards, without waiting.",
		X: figure.Axis{Label: "wait of a lost segment, ms", Log: true},
		Y: figure.Axis{Label: "spurious retransmissions in a spike, segments"},
	}
	add := func(name string, family family, sign int, of ...func(s *sender) stat.Interval) {
		s := figure.Series{Name: name, Kind: figure.Points, Group: sign, Marker: sign}
		for i := range senders {
			for _, y := range of {
				if senders[i].family == family {
					s.AddInterval(senders[i].waits.Value, y(&senders[i]))
				}
			}
		}
		if len(s.X) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	bare := func(s *sender) stat.Interval { return s.spurious }
	kept := func(s *sender) stat.Interval { return s.kept }
	add("granularity G, no response", ofTick, 1, bare)
	add("floor, no response", ofFloor, 2, bare)
	add("whole policies, no response", ofPolicy, 4, bare)
	add("whole policies, all three responses", ofPolicy, 3, kept)
	add("gVisor, no response and all", ofStack, 5, kept, bare)
	return f
}
