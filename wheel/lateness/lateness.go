package lateness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tcpwheel/wheel"
)

// The sources of timers that can be measured.
const (
	Realtime = "realtime"        // wheel.Realtime's AfterFunc: a goroutine per expiry
	Inline   = "realtime-inline" // its InlineFunc: in the server's goroutine
	Alarm    = "alarm"           // a bare wheel.Alarm, with no wheel and no tick
	Runtime  = "runtime"         // time.AfterFunc
)

// Sources returns the names of all sources.
func Sources() []string { return []string{Realtime, Inline, Alarm, Runtime} }

// Options say what to measure. The zero value of each field stands for its default.
type Options struct {
	// Scheme and Tick are those of the Realtime: wheel.Default and 100 µs by default.
	Scheme string
	Tick   time.Duration

	// Intervals are how long the timers run: 100 µs, 1 ms and 10 ms by default. A part of a tick is added to each.
	Intervals []time.Duration

	// Samples is the number of timers per source and interval, 500 by default.
	Samples int

	// Sources are the names of what to measure: Realtime, Inline and Runtime by default.
	Sources []string

	// Seed makes the random parts of a tick: 1 by default.
	Seed uint64

	// NoSpin is that of the alarms: see wheel.AlarmConfig.
	NoSpin bool

	// Progress is called after each timer with the number of those done, unless it is nil.
	Progress func(done, total int)
}

func (o *Options) setDefaults() error {
	if o.Scheme == "" {
		o.Scheme = wheel.Default
	}
	if o.Tick == 0 {
		o.Tick = 100 * time.Microsecond
	}
	if o.Intervals == nil {
		o.Intervals = []time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond}
	}
	if o.Samples == 0 {
		o.Samples = 500
	}
	if o.Sources == nil {
		o.Sources = []string{Realtime, Inline, Runtime}
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	const most = 10_000_000
	if o.Samples < 0 || o.Samples > most {
		return fmt.Errorf("lateness: samples %d, want 1 to %d", o.Samples, most)
	}
	if len(o.Intervals) == 0 {
		return fmt.Errorf("lateness: no interval, want one at least")
	}
	for _, d := range o.Intervals {
		if d < 0 || d > time.Hour {
			return fmt.Errorf("lateness: interval %v, want 0s to %v", d, time.Hour)
		}
	}
	if len(o.Sources) == 0 {
		return fmt.Errorf("lateness: no source, want some of %s", strings.Join(Sources(), ", "))
	}
	for _, name := range o.Sources {
		if !slices.Contains(Sources(), name) {
			return fmt.Errorf("lateness: unknown source %q, want some of %s", name, strings.Join(Sources(), ", "))
		}
	}
	return nil
}

// Measure runs len(Sources)·len(Intervals)·Samples timers, one after another. It takes as long as they run, and leaves
// with the error of ctx when that ends. Other errors name the option that is out of bounds.
func Measure(ctx context.Context, o Options) (Report, error) {
	if err := o.setDefaults(); err != nil {
		return Report{}, err
	}
	epoch := time.Now()
	alarm := wheel.AlarmConfig{Epoch: epoch, NoSpin: o.NoSpin}
	rt, err := wheel.Start(wheel.RealtimeConfig{Scheme: o.Scheme, Tick: o.Tick, Alarm: alarm})
	if err != nil {
		return Report{}, err
	}
	defer rt.Close()

	sources := make([]source, len(o.Sources))
	for i, name := range o.Sources {
		if sources[i], err = newSource(name, rt, alarm); err != nil {
			return Report{}, err
		}
		defer sources[i].stop()
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	done, total := 0, len(o.Sources)*len(o.Intervals)*o.Samples
	report := newReport(o)
	for _, interval := range o.Intervals {
		asked := make([][]time.Duration, len(sources))
		ticks := make([][]time.Duration, len(sources))
		for range o.Samples {
			for i := range sources {
				late, tick, err := sources[i].sample(ctx, interval+time.Duration(rng.Int64N(int64(o.Tick))))
				if err != nil {
					return Report{}, err
				}
				asked[i] = append(asked[i], late)
				if sources[i].deadline != nil {
					ticks[i] = append(ticks[i], tick)
				}
				if done++; o.Progress != nil {
					o.Progress(done, total)
				}
			}
		}
		for i := range sources {
			report.add(o, o.Sources[i], interval, asked[i], ticks[i])
		}
	}
	return report, nil
}

// source starts one timer at a time.
type source struct {
	fired    chan time.Time                 // gets the instant of each expiry
	start    func(d time.Duration)          // starts the timer
	deadline func() (at time.Time, ok bool) // the tick of the timer that runs; nil if the source has no ticks
	round    func(at time.Time) time.Time   // the tick of a deadline, for a timer that has expired meanwhile
	stop     func()
}

func newSource(name string, rt *wheel.Realtime, alarm wheel.AlarmConfig) (source, error) {
	s := source{fired: make(chan time.Time, 1), stop: func() {}}
	fire := func() { s.fired <- time.Now() }
	switch name {
	case Runtime:
		// Made and stopped before anything is measured, as the timers of the others are.
		t := time.AfterFunc(time.Hour, fire)
		s.start = func(d time.Duration) { t.Reset(d) }
		s.stop = func() { t.Stop() }
		t.Stop()
		return s, nil
	case Alarm:
		a, err := wheel.NewAlarm(alarm)
		if err != nil {
			return s, err
		}
		ended := make(chan struct{})
		var due atomic.Int64
		go func() {
			defer close(ended)
			for a.Wait() == nil {
				if int64(a.Now()) >= due.Load() { // else it is the one before: see Wait
					fire()
				}
			}
		}()
		s.start = func(d time.Duration) {
			at := a.Now().Add(d)
			due.Store(int64(at))
			a.Arm(at)
		}
		s.stop = func() { a.Close(); <-ended }
		return s, nil
	}
	start := rt.AfterFunc
	if name == Inline {
		start = rt.InlineFunc
	}
	t := start(time.Hour, fire)
	t.Stop()
	s.start = func(d time.Duration) { t.Reset(d) }
	s.stop = func() { t.Stop() }
	s.deadline = func() (time.Time, bool) {
		at, ok := t.Deadline()
		return alarm.Epoch.Add(time.Duration(at)), ok
	}
	s.round = func(at time.Time) time.Time {
		d := at.Sub(alarm.Epoch) + rt.Tick() - 1
		return alarm.Epoch.Add(d - d%rt.Tick())
	}
	return s, nil
}

// sample runs one timer of d and returns its lateness after its deadline, and after its tick if it has one.
func (s *source) sample(ctx context.Context, d time.Duration) (asked, tick time.Duration, err error) {
	deadline := time.Now().Add(d)
	s.start(d)
	due := time.Time{}
	if s.deadline != nil {
		ok := false
		if due, ok = s.deadline(); !ok {
			due = s.round(deadline)
		}
	}
	select {
	case at := <-s.fired:
		return at.Sub(deadline), at.Sub(due), nil
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
}
