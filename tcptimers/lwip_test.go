package tcptimers

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestLWIP runs the recurrence of tcp_in.c by hand: sv begins at LWIP_TCP_RTO_TIME in ticks, and
// there is no special first sample.
func TestLWIP(t *testing.T) {
	e := NewLWIP(SlowTick, Bounds{}).(*lwip)
	want := func(step string, sa, sv int64, ticks time.Duration) {
		t.Helper()
		if e.sa != sa || e.sv != sv || e.RTO() != ticks*SlowTick {
			t.Errorf("%s: sa %d, sv %d, RTO %v, want %d, %d, %v", step, e.sa, e.sv, e.RTO(), sa, sv, ticks*SlowTick)
		}
	}
	want("at first", 0, 6, 6)
	e.Sample(Sample{RTT: 499 * ms})
	want("first sample", 0, 5, 5)
	e.Sample(Sample{})
	want("second", 0, 4, 4)
	for range 100 {
		e.Sample(Sample{})
		want("at rest", 0, 3, 3)
	}
	e.Sample(Sample{RTT: SlowTick})
	want("a tick crossed", 1, 4, 4)
	e.Sample(Sample{RTT: 20 * SlowTick}) // m is 20: sa 21, sv 4+20-1
	want("ten seconds", 21, 23, 25)
	e.Sample(Sample{RTT: 2 * SlowTick}) // m is 2 - 2
	want("their mean again", 21, 18, 20)
	// tcp_backoff[] is 1, 2, 3, 4, 5, 6, 7, 7, …, and an s16_t holds 32767.
	for _, shift := range []time.Duration{1, 2, 3, 4, 5, 6, 7, 7, 7} {
		e.Backoff()
		if got := e.RTO(); got != 20<<shift*SlowTick {
			t.Errorf("backed off %d times: RTO %v, want %v", e.Backoffs(), got, 20<<shift*SlowTick)
		}
	}
	e.sv = 1000
	if got := e.RTO(); got != LWIPBounds.Max {
		t.Errorf("RTO %v, want the ceiling, %v", got, LWIPBounds.Max)
	}
	e.Sample(Sample{RTT: 2 * SlowTick})
	want("a sample ends it", 21, 750, 752)
}

// TestLWIPSweep: a timer of 3 ticks expires at the third tcp_slowtmr after it started.
func TestLWIPSweep(t *testing.T) {
	p := MustPolicy("lwip")
	for at, want := range map[time.Duration]time.Duration{0: 1500 * ms, 1: 1500 * ms, 499 * ms: 1500 * ms, 500 * ms: 2000 * ms} {
		if got := p.RexmitDeadline(wheel.Time(at), 3*SlowTick, Flight{}); got != wheel.Time(want) {
			t.Errorf("started at %v: expires at %v, want %v", at, got, want)
		}
	}
}
