package wheelbench

import (
	"runtime"
	"slices"
	"time"

	"tcpwheel/wheel/stat"
)

// LatenessReport is the result of MeasureLateness.
type LatenessReport struct {
	Scheme  string           `json:"scheme"`
	Tick    time.Duration    `json:"tick_ns"`
	Samples int              `json:"samples"` // timers per series
	Seed    uint64           `json:"seed"`
	NoSpin  bool             `json:"no_spin,omitempty"`
	System  string           `json:"system"` // GOOS/GOARCH
	Go      string           `json:"go"`
	CPUs    int              `json:"cpus"`
	Series  []LatenessSeries `json:"series"` // by interval, then source
}

// LatenessSeries are the timers of one source and interval.
type LatenessSeries struct {
	Source   string        `json:"source"`
	Interval time.Duration `json:"interval_ns"`
	Tick     time.Duration `json:"tick_ns"`
	Deadline Distribution  `json:"after_deadline"`
	AtTick   *Distribution `json:"after_tick,omitempty"` // nil for a source without ticks
}

// Distribution is how late the timers of a series were.
type Distribution struct {
	Samples int `json:"samples"`

	P50 time.Duration `json:"p50_ns"`
	P90 time.Duration `json:"p90_ns"`
	P99 time.Duration `json:"p99_ns"`
	Max time.Duration `json:"max_ns"`

	// Histogram has a bucket for each of the bounds 1, 2, 5, 10 µs and so on to 10 ms, and a last
	// one without a bound.
	Histogram []Bucket `json:"histogram"`

	// Sorted are all samples in ascending order.
	Sorted []time.Duration `json:"-"`
}

// Bucket counts the timers whose lateness was below Below and not below the bound of the previous
// bucket.
type Bucket struct {
	Below time.Duration `json:"below_ns,omitempty"` // 0 in the last bucket, which has no bound
	Count int           `json:"count"`
}

func newLatenessReport(o LatenessOptions) LatenessReport {
	return LatenessReport{
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

func (r *LatenessReport) add(o LatenessOptions, source string, interval time.Duration, afterDeadline, afterTick []time.Duration) {
	s := LatenessSeries{Source: source, Interval: interval, Tick: o.Tick, Deadline: newDistribution(afterDeadline)}
	if afterTick != nil {
		d := newDistribution(afterTick)
		s.AtTick = &d
	}
	r.Series = append(r.Series, s)
}

// latenessBounds are the bounds of all buckets but the last.
var latenessBounds = func() (b []time.Duration) {
	for d := time.Microsecond; d < 10*time.Millisecond; d *= 10 {
		b = append(b, d, 2*d, 5*d)
	}
	return append(b, 10*time.Millisecond)
}()

// newDistribution takes ownership of the samples, at least one, and sorts them.
func newDistribution(samples []time.Duration) Distribution {
	slices.Sort(samples)
	d := Distribution{
		Samples:   len(samples),
		P50:       quantile(samples, 0.50),
		P90:       quantile(samples, 0.90),
		P99:       quantile(samples, 0.99),
		Max:       samples[len(samples)-1],
		Histogram: make([]Bucket, len(latenessBounds)+1),
		Sorted:    samples,
	}
	for i, b := range latenessBounds {
		d.Histogram[i].Below = b
	}
	for _, s := range samples {
		i, found := slices.BinarySearch(latenessBounds, s)
		if found {
			i++
		}
		d.Histogram[i].Count++
	}
	return d
}

// quantile returns the q-quantile, as in package stat.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[stat.Rank(len(sorted), q)]
}
