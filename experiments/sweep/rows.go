package sweep

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel/stat"
)

// row is the result of a combination over all seeds.
type row struct {
	at     combination
	sender string // its label
	where  string // the label of its condition
	first  *row   // the row of the condition's first sender

	seeds   []testbed.Result
	objects int

	mean, median, p95, p99 stat.Interval // time of objects, ms
	difference             stat.Interval // from first, pairwise, ms
	spurious               stat.Interval // retransmissions in a run
	ratio                  float64       // of the mean to first's mean
	better, worse          float64       // shares of objects, by more than 1 %

	metrics map[string]float64
}

// metric is a figure of each row.
type metric struct {
	name, unit, about string
}

// metricsOf lists all metrics, in the order of the table of everything.
var metricsOf = []metric{
	{"mean", "ms", "time of an object"},
	{"median", "ms", "time that half of the objects keep"},
	{"p95", "ms", "time that 95 % of the objects keep"},
	{"p99", "ms", "time that 99 % of the objects keep"},
	{"difference", "ms", "mean difference from the first sender, object by object"},
	{"ratio", "", "mean time divided by the first sender's"},
	{"unfinished", "", "objects cut off by the limit, per run"},
	{"goodput", "Mbit/s", "all flows together, from the first start to the last end"},
	{"timeouts", "", "of the sender, in a run"},
	{"probes", "", "for lost tails, in a run"},
	{"lost", "", "segments lost, in a run"},
	{"retransmissions", "", "retransmitted segments, per run"},
	{"spurious", "", "retransmissions of segments that were not lost, per run"},
	{"wait", "ms", "mean time from a lost transmission to the next one of the same bytes"},
	{"wait_median", "ms", "its median"},
	{"wait_p95", "ms", "and what 95 % keep"},
	{"starts", "", "START_TIMER of the sender's wheel, per segment"},
	{"stops", "", "STOP_TIMER, per segment"},
	{"expiries", "", "EXPIRY_PROCESSING, per segment"},
	{"visits", "", "records that the wheel looked at, per segment"},
	{"wakeups", "", "ticks with a busy slot, per segment"},
}

// metricNames are the names of all metrics.
func metricNames() (names []string) {
	for _, m := range metricsOf {
		names = append(names, m.name)
	}
	return names
}

// rows summarises the results of all cells, in order.
func (p *Plan) rows(results []testbed.Result) (all []*row) {
	first := map[string]*row{}
	for i, c := range p.combinations() {
		r := &row{at: c, sender: p.sender(c), where: p.condition(c), seeds: results[i*p.Seeds : (i+1)*p.Seeds]}
		if r.first = first[r.where]; r.first == nil {
			r.first, first[r.where] = r, r
		}
		r.sum()
		all = append(all, r)
	}
	return all
}

func ms[T time.Duration | float64](d T) float64 { return float64(d) / float64(time.Millisecond) }

// sum fills in the computed fields. It must run for first before.
func (r *row) sum() {
	r.mean = stat.BootstrapMean(perSeed(r.seeds, func(s *testbed.Result) float64 { return ms(stat.Mean(s.Times)) }), 1)
	var times [][]time.Duration
	for i := range r.seeds {
		times = append(times, r.seeds[i].Times)
		r.objects += len(r.seeds[i].Times)
	}
	q := quantiles(times, []float64{0.5, 0.95, 0.99})
	r.median, r.p95, r.p99 = q[0], q[1], q[2]

	var apart []float64
	for i := range r.seeds {
		ours, theirs := r.seeds[i].Times, r.first.seeds[i].Times
		sum := 0.0
		for j := range ours {
			d := ours[j] - theirs[j]
			sum += ms(d)
			switch share := float64(d) / float64(max(1, theirs[j])); {
			case share < -0.01:
				r.better++
			case share > 0.01:
				r.worse++
			}
		}
		apart = append(apart, sum/float64(len(ours)))
	}
	r.difference = stat.BootstrapMean(apart, 2)
	r.spurious = stat.BootstrapMean(perSeed(r.seeds, func(s *testbed.Result) float64 { return float64(s.Spurious) }), 4)
	r.ratio = r.mean.Value / r.first.mean.Value
	r.better /= float64(r.objects)
	r.worse /= float64(r.objects)
	r.measure()
}

func perSeed(all []testbed.Result, f func(*testbed.Result) float64) (values []float64) {
	for i := range all {
		values = append(values, f(&all[i]))
	}
	return values
}

// measure fills in the metrics that have a value.
func (r *row) measure() {
	mean := func(f func(*testbed.Result) float64) float64 { return stat.Mean(perSeed(r.seeds, f)) }
	m := map[string]float64{
		"mean": r.mean.Value, "median": r.median.Value, "p95": r.p95.Value, "p99": r.p99.Value,
		"difference": r.difference.Value, "ratio": r.ratio,
		"unfinished":      mean(func(s *testbed.Result) float64 { return float64(s.Unfinished) }),
		"goodput":         mean(func(s *testbed.Result) float64 { return s.Goodput() / 1e6 }),
		"timeouts":        mean(func(s *testbed.Result) float64 { return float64(s.Timeouts) }),
		"probes":          mean(func(s *testbed.Result) float64 { return float64(s.Probes) }),
		"lost":            mean(func(s *testbed.Result) float64 { return float64(s.Lost) }),
		"retransmissions": mean(func(s *testbed.Result) float64 { return float64(s.Retransmitted) }),
		"spurious":        r.spurious.Value,
	}
	var waits []time.Duration
	sum, repaired, sent := time.Duration(0), 0, 0
	var w testbed.Wheel
	for i := range r.seeds {
		s := &r.seeds[i]
		waits = append(waits, s.Waits...)
		sum, repaired, sent = sum+s.WaitSum, repaired+s.Repaired, sent+s.Sent
		if s.Wheel != nil {
			w.Starts += s.Wheel.Starts
			w.Stops += s.Wheel.Stops
			w.Expiries += s.Wheel.Expiries
			w.Visits += s.Wheel.Visits
			w.Wakeups += s.Wheel.Wakeups
		}
	}
	if repaired > 0 {
		m["wait"] = ms(sum) / float64(repaired)
		m["wait_median"], m["wait_p95"] = ms(stat.Median(waits)), ms(stat.Quantile(waits, 0.95))
	}
	if r.seeds[0].Wheel != nil && sent > 0 {
		for name, n := range map[string]uint64{"starts": w.Starts, "stops": w.Stops, "expiries": w.Expiries,
			"visits": w.Visits, "wakeups": w.Wakeups} {
			m[name] = float64(n) / float64(sent)
		}
	}
	for name, x := range m {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			delete(m, name)
		}
	}
	r.metrics = m
}

// quantiles returns quantiles of times in ms, as stat.Quantile defines them, with 95 % bootstrap
// intervals over groups. It sorts once and costs O(1000·n).
func quantiles(groups [][]time.Duration, qs []float64) []stat.Interval {
	type value struct {
		time  time.Duration
		group int
	}
	var all []value
	for g, times := range groups {
		for _, t := range times {
			all = append(all, value{t, g})
		}
	}
	slices.SortStableFunc(all, func(a, b value) int { return int(max(-1, min(1, a.time-b.time))) })
	// of returns the quantiles if group g counts weight[g] times.
	of := func(weight []int) (found []float64) {
		total := 0
		for g, w := range weight {
			total += w * len(groups[g])
		}
		seen, next := 0, 0
		for _, v := range all {
			seen += weight[v.group]
			for next < len(qs) && seen >= max(1, int(math.Ceil(qs[next]*float64(total)))) {
				found = append(found, ms(v.time))
				next++
			}
		}
		return found
	}
	ones := make([]int, len(groups))
	for g := range ones {
		ones[g] = 1
	}
	out := make([]stat.Interval, len(qs))
	for i, x := range of(ones) {
		out[i] = stat.Interval{Value: x, Lo: x, Hi: x}
	}
	if len(groups) < 2 {
		return out
	}
	const resamples = 1000
	rng := rand.New(rand.NewPCG(3, 0x5eed))
	drawn := make([][]float64, len(qs))
	weight := make([]int, len(groups))
	for range resamples {
		clear(weight)
		for range groups {
			weight[rng.IntN(len(groups))]++
		}
		for i, x := range of(weight) {
			drawn[i] = append(drawn[i], x)
		}
	}
	for i := range qs {
		out[i].Lo, out[i].Hi = stat.Quantile(drawn[i], 0.025), stat.Quantile(drawn[i], 0.975)
	}
	return out
}
