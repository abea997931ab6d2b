package tcptimers

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/wheel"
)

var granularities = []time.Duration{
	time.Microsecond, 10 * time.Microsecond, ms, 4 * ms, 10 * ms, 100 * ms, 200 * ms, 500 * ms,
}

// TestExpiryError starts timers at all phases of the tick, with every scheme and granularity.
// Each expires exactly at Deadline: never early (RFC 6298 §5), late by less than a tick, and by
// half a tick on average.
func TestExpiryError(t *testing.T) {
	for _, scheme := range wheel.Schemes() {
		if strings.Contains(scheme, "nichols") || scheme == "runtime" {
			continue // rounds to coarser units, or uses another clock
		}
		for _, tick := range granularities {
			p := MustPolicy("per-segment")
			p.Tick, p.Origin = tick, 12345
			w, err := p.NewWheel(scheme, 0, false)
			if err != nil {
				t.Fatal(err)
			}
			const n = 200
			want := map[uint64]wheel.Time{}
			var sum time.Duration
			for i := range uint64(n) {
				// Deadlines of all phases: n equal parts of a tick.
				start := wheel.Time(time.Duration(i) * tick / n)
				asked := start.Add(20 * tick)
				at := p.Deadline(start, 20*tick)
				if late := at.Sub(asked); late < 0 || late >= tick {
					t.Fatalf("%s, tick %v: off by %v, want from 0 to below a tick", scheme, tick, late)
				}
				sum += at.Sub(asked)
				want[i] = at
				w.Schedule(w.New(i), at)
			}
			if mean := sum / n; (mean - tick/2).Abs() > tick/n+1 {
				t.Errorf("%s, tick %v: late by %v on average, want %v", scheme, tick, mean, tick/2)
			}
			w.Advance(wheel.Time(30*tick), 0, func(tm wheel.Timer) {
				if at := want[w.Owner(tm)]; w.Now() != at {
					t.Errorf("%s, tick %v: expired at %v, want %v", scheme, tick, w.Now(), at)
				}
				delete(want, w.Owner(tm))
			})
			if len(want) > 0 {
				t.Errorf("%s, tick %v: %d timers did not expire", scheme, tick, len(want))
			}
		}
	}
}

// TestOwnPhase: the interval rounds up to whole ticks from the timer's own start, to the
// microsecond of the wheel.
func TestOwnPhase(t *testing.T) {
	p := MustPolicy("per-segment")
	p.Phase, p.Tick = PhaseOwn, 100*ms
	for _, c := range []struct {
		start    wheel.Time
		interval time.Duration
		want     wheel.Time
	}{
		{0, 0, 0},
		{7000, 1, wheel.Time(100*ms) + 7000},
		{7000, 100 * ms, wheel.Time(100*ms) + 7000},
		{7000, 100*ms + 1, wheel.Time(200*ms) + 7000},
		{7001, 100 * ms, wheel.Time(100*ms) + 8000},
		{5, -1, 1000},
		{5, math.MaxInt64, math.MaxInt64},
	} {
		if got := p.Deadline(c.start, c.interval); got != c.want {
			t.Errorf("Deadline(%d, %v) = %d, want %d", c.start, c.interval, got, c.want)
		}
	}
	if got := p.WheelTick(); got != time.Microsecond {
		t.Errorf("WheelTick() = %v, want 1µs", got)
	}
}

// TestJiffies: as Linux 6.18 was seen to retransmit at HZ 250, with multiples of 32 ms at 9.6 ms.
func TestJiffies(t *testing.T) {
	p := MustPolicy("linux-jiffies")
	p.Origin = wheel.Time(9600 * time.Microsecond)
	at := func(us int64) wheel.Time { return wheel.Time(us * int64(time.Microsecond)) }
	for _, c := range []struct {
		start, interval int64 // µs
		want            int64
	}{
		{9600, 0, 13600},                         // on a tick: the next one
		{13599, 1, 17600},                        // a begun tick counts
		{13600, 4000, 21600},                     // a whole tick
		{20000, 47999, 69600},                    // 12 ticks
		{20000, 62 * 4000, 17600 + 63*4000},      // the last that is exact to the tick
		{20000, 63 * 4000, 9600 + 9*32_000},      // from 252 ms on to 32 ms: 17.6 + 252 = 9.6 + 260
		{9600, 63 * 4000, 9600 + 8*32_000},       // 252 ms, and the next multiple
		{9600, 64 * 4000, 9600 + 9*32_000},       // 256 ms is a multiple and expires at the next
		{20000, 2_016_000, 9600 + 8*256_000},     // from 2.016 s on to 256 ms
		{20000, 16_128_000, 9600 + 8*2_048_000},  // from 16.128 s on to 2.048 s
		{20000, 64_000_000, 9600 + 32*2_048_000}, // a backed-off RTO
	} {
		if got := p.Deadline(at(c.start), time.Duration(c.interval)*time.Microsecond); got != at(c.want) {
			t.Errorf("Deadline(%d µs, %d µs) = %v, want %v", c.start, c.interval, got, at(c.want))
		}
	}
	for interval := time.Duration(0); interval < 20*time.Second; interval += 3_333_333 {
		late := p.Deadline(12_345_678, interval).Sub(12_345_678) - interval
		if most := max(interval/7, 0) + 2*p.Tick; late <= 0 || late > most {
			t.Errorf("%v: late by %v, want above 0 and up to %v", interval, late, most)
		}
	}
}

// TestCountdown: a timer of n ticks expires at the n-th sweep after its start, in ((n-1)·500,
// n·500] ms.
func TestCountdown(t *testing.T) {
	p := MustPolicy("bsd")
	p.Origin = 777
	for n := time.Duration(1); n <= 5; n++ {
		for phase := time.Duration(0); phase < SlowTick; phase += 7 * ms {
			start := p.Origin.Add(3*SlowTick + phase)
			at := p.Deadline(start, n*SlowTick)
			if want := p.Origin.Add((3 + n) * SlowTick); at != want {
				t.Errorf("%d ticks from phase %v: %v, want %v", n, phase, at, want)
			}
			if wait := at.Sub(start); wait <= (n-1)*SlowTick || wait > n*SlowTick {
				t.Errorf("%d ticks from phase %v: waits %v", n, phase, wait)
			}
		}
	}
	if got, want := p.Deadline(p.Origin, 0), p.Origin.Add(SlowTick); got != want {
		t.Errorf("Deadline of no interval = %v, want the next sweep, %v", got, want)
	}
}

// TestMeasure: over uniform phases, a clock of tick G measures a round trip without bias,
// with variance G²·p·(1−p), where p is the fraction of a tick that remains of the round trip.
func TestMeasure(t *testing.T) {
	p := MustPolicy("per-segment")
	p.Origin = -3
	for _, tick := range granularities {
		p.RTTTick = tick
		const n = 1000
		for _, part := range []time.Duration{0, 1, 250, 500, 999} {
			rtt := 2*tick + part*tick/n
			var sum time.Duration
			up := 0
			for i := range n {
				sent := wheel.Time(time.Duration(i) * tick / n)
				got := p.Measure(sent, sent.Add(rtt))
				switch got {
				case 2 * tick:
				case 3 * tick:
					up++
				default:
					t.Fatalf("tick %v: a round trip of %v measures %v", tick, rtt, got)
				}
				sum += got
			}
			if bias := sum/n - rtt; bias.Abs() > tick/n {
				t.Errorf("tick %v, RTT %v: bias %v, want 0", tick, rtt, bias)
			}
			// Of n measurements p·n are a tick longer: a Bernoulli variable with variance
			// G²·p·(1−p).
			if up != int(part) {
				t.Errorf("tick %v, RTT %v: %d of %d are a tick longer, want %d", tick, rtt, up, n, part)
			}
		}
	}
	p.RTTTick = 0
	if got := p.Measure(100, 223); got != 123 {
		t.Errorf("an exact clock measures %v, want 123ns", got)
	}
	for _, p.RTTTick = range []time.Duration{0, ms} {
		if got := p.Measure(wheel.Time(time.Second), 5); got != 0 {
			t.Errorf("a clock that stepped back measures %v, want 0", got)
		}
	}
}

// TestWheelTick: a policy's wheel has the ticks of both sweeps, with every scheme.
func TestWheelTick(t *testing.T) {
	p := MustPolicy("bsd")
	if got := p.WheelTick(); got != 100*ms {
		t.Errorf("WheelTick() of 500 and 200 ms = %v, want 100ms", got)
	}
	for _, scheme := range wheel.Schemes() {
		w, err := p.NewWheel(scheme, 0, true)
		if err != nil || w.Scheme() != scheme {
			t.Errorf("NewWheel(%s): %v", scheme, err)
		}
	}
	if _, err := p.NewWheel("scheme8", 0, false); err == nil {
		t.Error("NewWheel of an unknown scheme: no error")
	}
	p.Tick = 0
	if _, err := p.NewWheel(wheel.Default, 0, false); err == nil {
		t.Error("NewWheel of a policy without a tick: no error")
	}
}

// TestDeadlineNearTheEnds: instants are clamped to their range, and rounding is the same before
// the origin.
func TestDeadlineNearTheEnds(t *testing.T) {
	for _, phase := range []Phase{PhaseShared, PhaseOwn, PhaseCountdown, PhaseJiffies} {
		p := MustPolicy("per-segment")
		p.Phase = phase
		var got []wheel.Time
		for _, start := range []wheel.Time{math.MaxInt64 - 1, -1500 * wheel.Time(time.Microsecond)} {
			got = append(got, p.Deadline(start, time.Hour))
		}
		before := wheel.Time(time.Hour - ms) // the tick at or after -1.5 ms + 1 h
		switch phase {
		case PhaseOwn:
			before = wheel.Time(time.Hour - 1500*time.Microsecond)
		case PhaseCountdown:
			before = wheel.Time(time.Hour - 2*ms)
		case PhaseJiffies: // 3.6 million ticks are on the seventh level, with multiples of 8^6
			before = wheel.Time(14 * 1 << 18 * ms)
		}
		if !slices.Equal(got, []wheel.Time{math.MaxInt64, before}) {
			t.Errorf("%v: %v, want the end of time and %v", phase, got, before)
		}
	}
}
