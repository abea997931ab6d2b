package granularity

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

var words = experiments.Words{
	Question: "What do the timer's tick, its floors and a timer per segment each buy?",
	Found: "With duplicate ACKs and a round trip of 20 ms a finer tick alone shortens a response by {tick-alone}, no " +
		"floor alone by {floor-alone}, and both together by {both}: each hides the other. RACK and TLP under the old " +
		"clocks buy {recovery}, and a finer tick without a floor then {clocks}. After all of that a timer per segment " +
		"buys {segment}. Where RACK and TLP find the losses it repairs thin streams at least 5 % sooner in {map-today}; " +
		"where duplicate ACKs do, in {map-old}.",
}

// between is where the bands of a claim come from: runs of other seeds, and of another study.
const between = "a run of study sweep with other responses and seeds"

// The timers of lwIP: as they are, and with TCP_SLOW_INTERVAL at 10 ms.
const (
	lwip     = "lwip"
	lwipFine = "lwip@10ms rtt-tick=10ms floor=10ms"
)

const computed = "computed from the rules of the timers"

// rules returns the claims.
func (t *table) rules() []judge.Rule[Plan, Row] {
	return []judge.Rule[Plan, Row]{
		t.law("tick-alone", "under duplicate ACKs and the old floor, the fine tick alone buys little", 20,
			func(at Place) stat.Interval {
				return t.step(at, old, 0, changedTick)
			}, experiments.Between(8, 20, "%")),
		t.law("floor-alone", "under duplicate ACKs and the old tick, no floor alone buys a quarter", 20,
			func(at Place) stat.Interval {
				return t.step(at, old, 0, changedFloor)
			}, experiments.Between(20, 36, "%")),
		t.law("both", "under duplicate ACKs, the fine tick without a floor buys more than twice as much as both alone", 20,
			func(at Place) stat.Interval {
				return t.step(at, old, 0, changedTick|changedFloor)
			}, experiments.Between(60, 78, "%")),
		t.law("recovery", "RACK and TLP buy more than half under the old clocks", 20,
			func(at Place) stat.Interval {
				return t.gain(at, t.plan.under(changedAcks, old), t.plan.under(changedAcks, today), meanTime)
			}, experiments.Between(52, 72, "%")),
		t.law("clocks", "after RACK and TLP the fine tick without a floor buys a quarter", 20,
			func(at Place) stat.Interval {
				return t.step(at, today, 0, changedTick|changedFloor)
			}, experiments.Between(18, 36, "%")),
		t.law("clocks-100ms", "over a long round trip the same buys little", 100,
			func(at Place) stat.Interval {
				return t.step(at, today, 0, changedTick|changedFloor)
			}, experiments.Between(1, 11, "%")),
		t.law("segment", "after RACK, TLP and the clocks, a timer per segment buys next to nothing", 20,
			func(at Place) stat.Interval {
				return t.step(at, today, changedTick|changedFloor, changedTimer)
			}, experiments.Between(-1, 4, "%")),
		t.law("segment-100ms", "over a long round trip, too", 100,
			func(at Place) stat.Interval {
				return t.step(at, today, changedTick|changedFloor, changedTimer)
			}, experiments.Between(-1, 5, "%")),
		{
			Claim: experiments.Claim{Name: "lwip", Text: "in lwIP a slow timer of 10 ms in place of 500 ms saves more than " +
				"half of a response's time (20 ms)", Source: "shape", Tag: experiments.Computed, Class: experiments.Law,
				Basis: between},
			Applies: func(p *Plan, rows []Row) string {
				if !slices.Contains(p.Stacks, lwip) || !slices.Contains(p.Stacks, lwipFine) {
					return "the plan has not lwIP's timers at both ticks"
				}
				return has(20)(p, rows)
			},
			Measure: func(p *Plan, _ []Row) (experiments.Measure, experiments.Band) {
				in := t.gain(stacksAt(20*time.Millisecond), p.stack(lwip), p.stack(lwipFine), meanTime)
				return experiments.MeasuredWithin(in, "%"), experiments.Between(55, 75, "%")
			},
		},
		{
			Claim: experiments.Claim{Name: "floor-first",
				Text:      "the floor buys more than the tick does, in the mean over all orders, under duplicate ACKs",
				Published: "“dominated by their minimum values, and to a lesser extent, the timer granularity”",
				Source:    "M. Allman and V. Paxson, SIGCOMM 1999, abstract",
				Tag:       experiments.FromPrint, Class: experiments.OfOthers,
				Basis: "the order as printed, without numbers",
				Look:  experiments.Look{Read: experiments.ReadAbstract, At: "abstract"},
			},
			Applies: has(20),
			Measure: func(p *Plan, _ []Row) (experiments.Measure, experiments.Band) {
				shares := t.shares(randomAt(20*time.Millisecond), 5, func(c uint) Setting { return p.under(c, old) })
				in := judge.Ratio(shares[1].values, shares[0].values)
				return experiments.MeasuredWithin(in, "times the tick's"), experiments.Above(1, "times the tick's")
			},
		},
		{
			Claim: experiments.Claim{Name: "map-today", Text: "where RACK and TLP find the losses, a timer per segment " +
				"repairs streams at least 5 % sooner in a part of the map only", Source: computed, Tag: experiments.Computed,
				Class: experiments.Law, Basis: "set for this project: less than half of it"},
			Measure: func(p *Plan, _ []Row) (experiments.Measure, experiments.Band) { return t.paying(today, 0.5) },
		},
		{
			Claim: experiments.Claim{Name: "map-old", Text: "where duplicate ACKs do, it repairs them at least 5 % sooner in " +
				"a larger part", Source: computed, Tag: experiments.Computed, Class: experiments.Law,
				Basis: "set for this project"},
			Measure: func(p *Plan, _ []Row) (experiments.Measure, experiments.Band) {
				m, _ := t.paying(old, 1)
				return m, experiments.Above(float64(t.paid(today)), "").Saying("more than with RACK and TLP")
			},
		},
		{
			Claim: experiments.Claim{Name: "one-in-flight", Text: "with gaps beyond the round trip, one segment is in " +
				"flight, and a timer per segment changes less than 5 %", Source: computed, Tag: experiments.Computed,
				Class: experiments.Law,
				Basis: "set for this project"},
			Applies: func(p *Plan, _ []Row) string {
				if p.Gaps[len(p.Gaps)-1] < 2.5 || p.Losses[0] != 1 || p.Times[0] != 1 {
					return "the plan has no lone loss at a gap of 2.5 round trips"
				}
				return ""
			},
			Measure: func(p *Plan, _ []Row) (experiments.Measure, experiments.Band) {
				most := 0.0
				for _, m := range t.pairs() {
					if m.Gap >= 2.5 && m.Losses == 1 && m.Times == 1 {
						most = max(most, math.Abs(m.gain.Value))
					}
				}
				return experiments.Measured(most, "% at most"), experiments.Below(worth, "%")
			},
		},
		{
			Claim: experiments.Claim{Name: "restart-adds", Text: "an ACK that restarts the only timer adds a round trip less " +
				"the gap to the wait for a lone loss, where the timer repairs it", Published: "up to a round trip",
				Source: "computed from RFC 6298 §5 (5.3) and RFC 7765 §4", Tag: experiments.Computed, Class: experiments.Law,
				Basis: "the rule: half a round trip at a gap of half of one, less what duplicate ACKs repair before"},
			Applies: func(p *Plan, _ []Row) string {
				if !slices.Contains(p.Gaps, 0.5) || p.Losses[0] != 1 || p.Times[0] != 1 ||
					!slices.Contains(p.MapRTT, 20*time.Millisecond) {
					return "the plan has no lone loss at a gap of half a round trip of 20 ms"
				}
				return ""
			},
			Measure: func(p *Plan, _ []Row) (experiments.Measure, experiments.Band) {
				for _, m := range t.pairs() {
					if m.Gap == 0.5 && m.Losses == 1 && m.Times == 1 && m.recovery == old && m.floor == 0 &&
						m.RTT == 20*time.Millisecond {
						return experiments.Measured(m.added, "round trips"), experiments.Between(0.25, 0.6, "round trips")
					}
				}
				panic("BUG: Applies has found it")
			},
		},
		{
			Claim: experiments.Claim{Name: "sum", Text: "what the six factors buy adds up to the whole difference, at each " +
				"place under each seed", Source: "L. Shapley, A value for n-person games, 1953", Tag: experiments.Computed,
				Class: experiments.Check, Basis: "arithmetic"},
			Measure: func(p *Plan, _ []Row) (experiments.Measure, experiments.Band) {
				return experiments.Measured(t.missing(), "ms"), experiments.AtMost(1e-6, "ms")
			},
		},
	}
}

// law is a claim about a gain at a round trip, in ms, with responses under random loss.
func (t *table) law(name, text string, rtt int, of func(at Place) stat.Interval,
	band experiments.Band) judge.Rule[Plan, Row] {
	return judge.Rule[Plan, Row]{
		Claim: experiments.Claim{Name: name, Text: fmt.Sprintf("%s (%d ms)", text, rtt), Source: "shape",
			Tag: experiments.Computed, Class: experiments.Law, Basis: between},
		Applies: has(rtt),
		Measure: func(p *Plan, _ []Row) (experiments.Measure, experiments.Band) {
			return experiments.MeasuredWithin(of(randomAt(time.Duration(rtt)*time.Millisecond)), "%"), band
		},
	}
}

// has returns whether a plan has a round trip, in ms.
func has(rtt int) func(p *Plan, _ []Row) string {
	return func(p *Plan, _ []Row) string {
		if slices.Contains(p.RTT, time.Duration(rtt)*time.Millisecond) {
			return ""
		}
		return fmt.Sprintf("the plan has no round trip of %d ms", rtt)
	}
}

// step returns what further changes buy after some under a recovery, without delayed ACKs.
func (t *table) step(at Place, recovery string, before, more uint) stat.Interval {
	before |= changedAcks
	return t.gain(at, t.plan.under(before, recovery), t.plan.under(before|more, recovery), meanTime)
}

// paid returns in how many settings of the map a timer per segment pays under a recovery.
func (t *table) paid(recovery string) (n int) {
	for _, m := range t.pairs() {
		if m.recovery == recovery && m.pays() {
			n++
		}
	}
	return n
}

// paying returns the same as a measure, with those where it costs, and the band of a share.
func (t *table) paying(recovery string, most float64) (experiments.Measure, experiments.Band) {
	n, pay, cost := 0, 0, 0
	for _, m := range t.pairs() {
		if m.recovery == recovery {
			n++
			if m.pays() {
				pay++
			}
			if m.costs() {
				cost++
			}
		}
	}
	m := experiments.MeasuredText("%d of %d settings, and as much later in %d", pay, n, cost)
	return m.Judging(float64(pay)), experiments.AtMost(most*float64(n), "settings")
}

// missing returns the most by which the values of the six factors miss the whole difference.
func (t *table) missing() (most float64) {
	for _, u := range t.plan.units() {
		if u.places[0].Part != partEnds {
			continue
		}
		at := u.places[0]
		shares := t.shares(at, 6, t.plan.set)
		before, after := t.at(at, t.plan.set(0)), t.at(at, t.plan.set(63))
		for seed := range t.plan.Seeds {
			sum := 0.0
			for i := range shares {
				sum += shares[i].values[seed]
			}
			most = max(most, math.Abs(judge.Ms(before[seed].Mean-after[seed].Mean)-sum))
		}
	}
	return most
}
