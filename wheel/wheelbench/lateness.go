package wheelbench

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

// The sources of timers whose lateness can be measured, besides Runtime.
const (
	Realtime = "realtime"        // wheel.Realtime's AfterFunc: a goroutine per expiry
	Inline   = "realtime-inline" // its InlineFunc: in the server's goroutine
	Alarm    = "alarm"           // a bare wheel.Alarm, with no wheel and no tick
)

// LatenessSources returns the names of all sources.
func LatenessSources() []string { return []string{Realtime, Inline, Alarm, Runtime} }

// LatenessOptions are the parameters of MeasureLateness. A zero field means its default.
type LatenessOptions struct {
	// Scheme and Tick configure the Realtime. Defaults: wheel.Default, 100 µs.
	Scheme string
	Tick   time.Duration

	// Intervals are how long the timers run, 0 to 1 h. A random part of a tick is added to each.
	// Default: 100 µs, 1 ms, 10 ms.
	Intervals []time.Duration

	// Samples is the number of timers per source and interval, 1 to 10^7. Default: 500.
	Samples int

	// Sources are names of LatenessSources. Default: Realtime, Inline, Runtime.
	Sources []string

	// Seed seeds the random parts of a tick. Default: 1.
	Seed uint64

	// NoSpin is wheel.AlarmConfig.NoSpin.
	NoSpin bool

	// Progress, if not nil, is called after each timer.
	Progress func(done, total int)
}

func (o *LatenessOptions) setDefaults() error {
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
		return fmt.Errorf("lateness: no source, want some of %s", strings.Join(LatenessSources(), ", "))
	}
	for _, name := range o.Sources {
		if !slices.Contains(LatenessSources(), name) {
			return fmt.Errorf("lateness: unknown source %q, want some of %s", name, strings.Join(LatenessSources(), ", "))
		}
	}
	return nil
}

// MeasureLateness runs len(Sources)·len(Intervals)·Samples timers, one after another, and takes
// as long as they run. It returns the error of ctx when that ends first. Other errors name the
// option that is out of bounds, or the system call that failed.
func MeasureLateness(ctx context.Context, o LatenessOptions) (LatenessReport, error) {
	if err := o.setDefaults(); err != nil {
		return LatenessReport{}, err
	}
	epoch := time.Now()
	alarm := wheel.AlarmConfig{Epoch: epoch, NoSpin: o.NoSpin}
	rt, err := wheel.Start(wheel.RealtimeConfig{Scheme: o.Scheme, Tick: o.Tick, Alarm: alarm})
	if err != nil {
		return LatenessReport{}, err
	}
	defer rt.Close()

	sources := make([]source, len(o.Sources))
	for i, name := range o.Sources {
		if sources[i], err = newSource(name, rt, alarm); err != nil {
			return LatenessReport{}, err
		}
		defer sources[i].stop()
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	done, total := 0, len(o.Sources)*len(o.Intervals)*o.Samples
	report := newLatenessReport(o)
	for _, interval := range o.Intervals {
		afterDeadline := make([][]time.Duration, len(sources))
		afterTick := make([][]time.Duration, len(sources))
		for range o.Samples {
			for i := range sources {
				late, tick, err := sources[i].sample(ctx, interval+time.Duration(rng.Int64N(int64(o.Tick))))
				if err != nil {
					return LatenessReport{}, err
				}
				afterDeadline[i] = append(afterDeadline[i], late)
				if sources[i].deadline != nil {
					afterTick[i] = append(afterTick[i], tick)
				}
				if done++; o.Progress != nil {
					o.Progress(done, total)
				}
			}
		}
		for i := range sources {
			report.add(o, o.Sources[i], interval, afterDeadline[i], afterTick[i])
		}
	}
	return report, nil
}

// source starts one timer at a time.
type source struct {
	fired    chan time.Time                 // receives the instant of each expiry
	start    func(d time.Duration)          // starts the timer
	deadline func() (at time.Time, ok bool) // tick of the running timer; nil without ticks
	round    func(at time.Time) time.Time   // tick of a deadline, for a timer that has already expired
	stop     func()
}

func newSource(name string, rt *wheel.Realtime, alarm wheel.AlarmConfig) (source, error) {
	s := source{fired: make(chan time.Time, 1), stop: func() {}}
	fire := func() { s.fired <- time.Now() }
	switch name {
	case Runtime:
		// Made and stopped before the first measurement, as for the other sources.
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
				if int64(a.Now()) >= due.Load() { // else Wait reported an instant that was replaced
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

// sample runs one timer of d. It returns the lateness after its deadline, and after its tick if
// the source has ticks.
func (s *source) sample(ctx context.Context, d time.Duration) (afterDeadline, afterTick time.Duration, err error) {
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
