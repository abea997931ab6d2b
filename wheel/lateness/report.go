package lateness

import (
	"math"
	"runtime"
	"slices"
	"time"
)

// Report is what Measure has found.
type Report struct {
	Scheme  string        `json:"scheme"`
	Tick    time.Duration `json:"tick_ns"`
	Samples int           `json:"samples"` // timers per series
	Seed    uint64        `json:"seed"`
	NoSpin  bool          `json:"no_spin,omitempty"`
	System  string        `json:"system"` // GOOS/GOARCH
	Go      string        `json:"go"`
	CPUs    int           `json:"cpus"`
	Series  []Series      `json:"series"` // by interval, then source, in the order of the options
}

// Series are the timers of one source and interval.
type Series struct {
	Source   string        `json:"source"`
	Interval time.Duration `json:"interval_ns"`
	Tick     time.Duration `json:"tick_ns"`
	Deadline Distribution  `json:"after_deadline"`
	AtTick   *Distribution `json:"after_tick,omitempty"` // nil for a source that has no ticks
}

// Distribution tells how late the timers of a series were.
type Distribution struct {
	Samples int `json:"samples"`

	P50 time.Duration `json:"p50_ns"`
	P90 time.Duration `json:"p90_ns"`
	P99 time.Duration `json:"p99_ns"`
	Max time.Duration `json:"max_ns"`

	// Histogram has a bucket for each of the bounds 1, 2, 5, 10 µs and so on up to 10 ms, and one for what lies beyond.
	Histogram []Bucket `json:"histogram"`

	// Sorted are all samples in ascending order.
	Sorted []time.Duration `json:"-"`
}

// Bucket counts the timers that were less late than Below and not less than the bound of the bucket before.
type Bucket struct {
	Below time.Duration `json:"below_ns,omitempty"` // 0 in the last, which has no bound
	Count int           `json:"count"`
}

func newReport(o Options) Report {
	return Report{
		Scheme:  o.Scheme,
		Tick:    o.Tick,
		Samples: o.Samples,
		Seed:    o.Seed,
		NoSpin:  o.NoSpin,
		System:  runtime.GOOS + "/" + runtime.GOARCH,
		Go:      runtime.Version(),
		CPUs:    runtime.GOMAXPROCS(0),
	}
}

func (r *Report) add(o Options, source string, interval time.Duration, asked, ticks []time.Duration) {
	s := Series{Source: source, Interval: interval, Tick: o.Tick, Deadline: newDistribution(asked)}
	if ticks != nil {
		d := newDistribution(ticks)
		s.AtTick = &d
	}
	r.Series = append(r.Series, s)
}

// bounds are those of the histogram's buckets but the last.
var bounds = func() (b []time.Duration) {
	for d := time.Microsecond; d < 10*time.Millisecond; d *= 10 {
		b = append(b, d, 2*d, 5*d)
	}
	return append(b, 10*time.Millisecond)
}()

// newDistribution takes the samples over and sorts them. There is one at least.
func newDistribution(samples []time.Duration) Distribution {
	slices.Sort(samples)
	d := Distribution{
		Samples:   len(samples),
		P50:       quantile(samples, 0.50),
		P90:       quantile(samples, 0.90),
		P99:       quantile(samples, 0.99),
		Max:       samples[len(samples)-1],
		Histogram: make([]Bucket, len(bounds)+1),
		Sorted:    samples,
	}
	for i, b := range bounds {
		d.Histogram[i].Below = b
	}
	for _, s := range samples {
		i, found := slices.BinarySearch(bounds, s)
		if found {
			i++
		}
		d.Histogram[i].Count++
	}
	return d
}

// quantile returns the least sample that is not below a part q of all: the nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(int(math.Ceil(q*float64(len(sorted)))), 1)-1]
}
