package wheels

import (
	"fmt"
	"slices"
	"strconv"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

var locksWords = experiments.Words{
	Question: "How long does a processor hold the lock that the others wait for?",
	Found: "Scheme 2 holds its lock for {scheme2-hold}, Schemes 6 and 7 for {constant-hold}. Under one lock, 8 " +
		"processors with Scheme 2 do the work of {scheme2-speedup#}. On two real processors a wheel for each did " +
		"{real-locks} of one wheel with a lock per bucket.",
}

// Bands in processors' worth of work: the most with Scheme 2 under one lock, and the least with
// Schemes 6 and 7, as a share of all processors.
const (
	locksOneAtMost  = 1.5
	locksAllAtLeast = 0.75
)

// locksWork is the work of several processors under one seed, relative to one processor.
type locksWork struct {
	scheme     string
	processors int
	each       bool // a lock each, else one lock
	longest    uint64
	speedup    float64
}

// locksWorks returns the work of all schedules. That of one processor has one lock and a lock each.
func locksWorks(cells []locksCell) (all []locksWork) {
	for _, c := range cells {
		for _, s := range c.Schedules {
			w := locksWork{c.Scheme, s.Processors, false, s.Longest, s.Rate / c.Schedules[0].Rate}
			if s.Shards == 1 {
				all = append(all, w)
			}
			if s.Shards == s.Processors { // fewer timers in each shard: a shorter search
				w.each = true
				all = append(all, w)
			}
		}
	}
	return all
}

func locksSpeedup(works []locksWork) stat.Interval {
	return judge.Student(judge.Values(works, func(w *locksWork) float64 { return w.speedup }))
}

func locksDirect(scheme string) bool { return scheme == "scheme6" || scheme == "scheme7" }

// locksHolding returns the claim that START and STOP of schemes hold the lock as long as they
// should: START by the timers that run, and STOP for a step.
func locksHolding(p *locksPlan, cells []locksCell, name, text, unit, expected string, of func(scheme string) bool,
	start func(n int) int) experiments.Claim {
	fullest, most, exact := slices.Max(p.Timers), uint64(0), true
	for _, c := range cells {
		for _, h := range c.Holds {
			if of(c.Scheme) {
				exact = exact && h.Start == uint64(start(h.N)) && h.Stop == 1
				if h.N == fullest {
					most = max(most, h.Start)
				}
			}
		}
	}
	c := experiments.Claim{
		Name: name, Class: experiments.Law, Text: text,
		Measured: judge.Said("%d %s with %d timers", most, unit, fullest), Expected: experiments.Whether(exact, "%s",
			expected),
	}
	if most == 0 {
		c.Unless = "the plan has no such scheme"
	}
	return c
}

func locksJudge(p *locksPlan, cells []locksCell) (*experiments.Outcome, error) {
	const paper = "Varghese & Lauck, Appendix B"
	searched := locksHolding(p, cells, "scheme2-hold", "Scheme 2 holds the lock during its whole search", "steps",
		"n+1 steps, exactly", func(s string) bool { return s == "scheme2" }, func(n int) int { return n + 1 })
	searched.Published, searched.Source, searched.Tag = "others wait until it is released", paper, experiments.FromSource
	constant := locksHolding(p, cells, "constant-hold", "Schemes 6 and 7 hold it for one step at any n", "step",
		"one step for START and STOP, exactly", locksDirect, func(int) int { return 1 })
	constant.Source, constant.Tag = "count of steps, after "+paper, experiments.Computed

	works, processors := locksWorks(cells), slices.Max(p.Processors)
	all := judge.Where(works, func(w *locksWork) bool { return w.processors == processors })
	alone := locksSpeedup(judge.Where(all, func(w *locksWork) bool { return w.scheme == "scheme2" && !w.each }))
	var shared stat.Interval
	for i, g := range judge.By(judge.Where(all, func(w *locksWork) bool { return w.each && locksDirect(w.scheme) }),
		func(w *locksWork) string { return w.scheme }) {
		if in := locksSpeedup(g.Rows); i == 0 || in.Value < shared.Value {
			shared = in
		}
	}
	speedup := func(name, text, source string, tag experiments.Tag, in stat.Interval,
		band experiments.Band) experiments.Claim {
		return experiments.Claim{Name: name, Class: experiments.Law, Source: source, Tag: tag,
			Text: fmt.Sprintf(text, processors), Basis: "set for this project",
			Measured: experiments.MeasuredWithin(in, "processors"), Expected: band}
	}
	out := &experiments.Outcome{}
	out.Judge(searched, constant,
		speedup("scheme2-speedup", "under one lock, %d processors with Scheme 2 do hardly more than one", paper,
			experiments.FromSource, alone, experiments.Below(locksOneAtMost, "")),
		speedup("sharded-speedup", "with a lock each, %d processors do nearly all of their work in Schemes 6 and 7",
			"sharded wheels of this project; the paper speaks of locks for parts of one", experiments.Computed, shared,
			experiments.Above(locksAllAtLeast*float64(processors), "")),
		locksReal())
	out.Tables = append(out.Tables, locksRecorded())
	return out, nil
}

// locksReal is about what was recorded on real processors.
func locksReal() experiments.Claim {
	contended := judge.Where(locksRecords(), func(r *locksRecord) bool {
		return r.processors > 1 && r.locks > 1 && r.work == 16
	})
	best := func(inBuckets bool) *locksRecord {
		return judge.Most(judge.Where(contended, func(r *locksRecord) bool { return (r.wheel == bucketed) == inBuckets }),
			func(r *locksRecord) float64 { return r.ratio })
	}
	shards, buckets := best(false), best(true)
	return experiments.Claim{
		Name: "real-locks", Class: experiments.Law, Source: "locks/processors.csv, recorded once",
		Text: fmt.Sprintf("recorded: on %d real processors a wheel for each does more than one wheel with a lock for each "+
			"bucket", shards.processors),
		Tag: experiments.Computed, Basis: "set for this project, after a first measurement",
		Measured: judge.Said("%v (%v to %v) times one processor, against %v (%v to %v)", shards.ratio, shards.lo, shards.hi,
			buckets.ratio, buckets.lo, buckets.hi),
		Expected: experiments.Whether(shards.lo > max(buckets.hi, 1), "more, and more than one processor, with their "+
			"intervals"),
	}
}

func locksRecorded() experiments.Table {
	t := experiments.Table{Name: "processors",
		Title: "Recorded on real processors: pairs of START and STOP, with steps of other work between them",
		Columns: []string{"wheel", "other work", "processors", "locks", "million pairs/s",
			"relative to one processor, one lock", "95 % from", "to"}}
	for _, r := range locksRecords() {
		t.Add(r.wheel, r.work, r.processors, r.locks, r.rate, r.ratio, r.lo, r.hi)
	}
	return t
}

// locksRecord is a row of locks/processors.csv, which the live part measured on real processors: a
// mean ratio of rates over rounds, with its 95 % bootstrap interval.
type locksRecord struct {
	locksWay
	rate, ratio, lo, hi float64
}

// locksRecords reads the file. It panics if the file is broken, as it is part of the program.
func locksRecords() (all []locksRecord) {
	for _, row := range experiments.ReadRows(files, "locks/processors.csv") {
		var x [7]float64
		for i := range x {
			var err error
			if x[i], err = strconv.ParseFloat(row[1+i], 64); err != nil {
				panic("BUG: processors.csv: " + err.Error())
			}
		}
		all = append(all, locksRecord{locksWay{row[0], int(x[0]), int(x[1]), int(x[2])}, x[3], x[4], x[5], x[6]})
	}
	return all
}
