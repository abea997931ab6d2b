package tcptimers

import (
	"math/rand"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestBSDFixedPoint runs tcp_xmit_timer's recurrence. At round trips that cross no tick it
// settles at t_srtt = 7 and t_rttvar = 3, an RTO of 3 ticks, from the first sample on. A crossed
// tick raises the RTO to 5, then to 4 ticks.
func TestBSDFixedPoint(t *testing.T) {
	e := NewBSD(SlowTick, Bounds{}).(*bsd)
	want := func(step string, srtt8, rttvar4 int64, ticks time.Duration) {
		t.Helper()
		if e.srtt8 != srtt8 || e.rttvar4 != rttvar4 || e.RTO() != ticks*SlowTick {
			t.Errorf("%s: t_srtt %d, t_rttvar %d, RTO %v, want %d, %d, %v",
				step, e.srtt8, e.rttvar4, e.RTO(), srtt8, rttvar4, ticks*SlowTick)
		}
	}
	want("at first", 0, 24, 12)
	e.Sample(Sample{})
	want("first sample", 8, 2, 3)
	for range 100 {
		e.Sample(Sample{})
		want("at rest", 7, 3, 3)
	}
	e.Sample(Sample{RTT: SlowTick})
	want("a tick crossed", 8, 4, 5)
	e.Sample(Sample{})
	want("one later", 7, 4, 4)
	e.Sample(Sample{})
	want("two later", 7, 3, 3)
}

// TestBSDFixedPointFromAnywhere: from any state, round trips below a tick lead back to 3 ticks.
func TestBSDFixedPointFromAnywhere(t *testing.T) {
	for k := range time.Duration(200) {
		e := NewBSD(SlowTick, Bounds{})
		e.Sample(Sample{RTT: k * SlowTick})
		e.Sample(Sample{RTT: (199 - k) * SlowTick})
		for range 200 {
			e.Sample(Sample{})
		}
		if e.RTO() != 3*SlowTick {
			t.Errorf("after %d and %d ticks: RTO %v, want %v", k, 199-k, e.RTO(), 3*SlowTick)
		}
	}
}

// TestBSDWait is the time from START to expiry at the fixed point, over all phases of the sweep:
// above 1000 and at most 1500 ms, 1250 on average.
func TestBSDWait(t *testing.T) {
	p := MustPolicy("bsd")
	e := p.NewEstimator()
	e.Sample(Sample{RTT: p.Measure(wheel.Time(time.Millisecond), wheel.Time(11*time.Millisecond))})
	const step = 100 * time.Microsecond
	var sum, least, most time.Duration
	n := time.Duration(0)
	for at := wheel.Time(0); at < wheel.Time(SlowTick); at = at.Add(step) {
		wait := p.RexmitDeadline(at, e.RTO(), Flight{}).Sub(at)
		if n == 0 {
			least, most = wait, wait
		}
		least, most = min(least, wait), max(most, wait)
		sum += wait
		n++
	}
	if least != time.Second+step || most != 1500*time.Millisecond {
		t.Errorf("waits from %v to %v, want %v to %v", least, most, time.Second+step, 1500*time.Millisecond)
	}
	if mean := sum / n; mean != 1250*time.Millisecond+step/2 {
		t.Errorf("mean %v, want %v", mean, 1250*time.Millisecond+step/2)
	}
}

// TestBSDWaitWithCrossings anchors the figures of Brakmo and Peterson (JSAC 1995): the mean wait
// for a timeout by the round-trip time, with a coefficient of variation of 0.3 and each segment
// sent on the previous one's ACK. A sweep between a segment and its ACK raises it above 1250 ms.
// 4.4BSD waits for more than a second where a fine clock needs 300 ms.
func TestBSDWaitWithCrossings(t *testing.T) {
	rng := rand.New(rand.NewSource(1995))
	for _, c := range []struct{ rtt, want time.Duration }{
		{10 * ms, 1280 * ms}, {50 * ms, 1402 * ms}, {100 * ms, 1550 * ms}, {150 * ms, 1705 * ms},
	} {
		coarse, fine := MustPolicy("bsd"), MustPolicy("per-segment")
		fine.Bounds.Min, fine.VarMin = 1, 0
		e, f := coarse.NewEstimator(), fine.NewEstimator()
		now, sum, fineSum := wheel.Time(0), time.Duration(0), time.Duration(0)
		const n = 100000
		for range n {
			rtt := time.Duration(max(0.1, 1+0.3*rng.NormFloat64()) * float64(c.rtt))
			e.Sample(Sample{RTT: coarse.Measure(now, now.Add(rtt))})
			f.Sample(Sample{RTT: fine.Measure(now, now.Add(rtt))})
			now = now.Add(rtt)
			sum += coarse.RexmitDeadline(now, e.RTO(), Flight{}).Sub(now)
			fineSum += fine.RexmitDeadline(now, f.RTO(), Flight{Sent: now}).Sub(now)
		}
		mean, fineMean := sum/n, fineSum/n
		if (mean - c.want).Abs() > 10*ms {
			t.Errorf("RTT %v: 4.4BSD waits %v on average, want %v", c.rtt, mean, c.want)
		}
		// Published: 1100 ms, where less than 300 ms would have been right.
		if fineMean > 300*ms || float64(mean)/float64(fineMean) < 1100.0/300 {
			t.Errorf("RTT %v: a fine clock waits %v on average to 4.4BSD's %v, want below 300 ms, and a ratio of 1100/300",
				c.rtt, fineMean, mean)
		}
	}
}

// TestTahoe: with RTO = SRTT + 2·RTTVAR, 4.3BSD-Tahoe rests at 2 ticks. A crossed tick raises the
// RTO to 3 ticks for one sample. Its SYN waits for 12 ticks and then twice as long, and the fourth
// expiry clears the average but not the timeout.
func TestTahoe(t *testing.T) {
	p := MustPolicy("bsd")
	p.Estimator = EstimatorTahoe
	e := p.NewEstimator()
	want := func(step string, ticks time.Duration) {
		t.Helper()
		if e.RTO() != ticks*SlowTick {
			t.Errorf("%s: RTO %v, want %d ticks of %v", step, e.RTO(), ticks, SlowTick)
		}
	}
	want("SYN", 12)
	e.Backoff()
	want("SYN again", 24)
	e = e.New()
	for range 100 {
		e.Sample(Sample{})
		want("at rest", 2)
	}
	e.Sample(Sample{RTT: SlowTick})
	want("a tick crossed", 3)
	e.Sample(Sample{})
	want("one later", 2)
	for range 50 {
		e.Sample(Sample{RTT: 20 * SlowTick})
	}
	last := e.RTO()
	for n := range 6 {
		e.Backoff()
		if want := min(last<<(n+1), 64*time.Second); e.RTO() != want {
			t.Errorf("RTO %v after %d expiries, want %v", e.RTO(), n+1, want)
		}
	}
	if e.SRTT() != 0 {
		t.Errorf("SRTT %v after 6 expiries, want 0", e.SRTT())
	}
}

// TestBSDBackoff: a SYN is retransmitted after 6, 24, 48 and 64 s, data by tcp_backoff[]. (TCP/IP
// Illustrated, Volume 1, §18.3, shows 5.8 and 24 s: the first sweep was near.)
func TestBSDBackoff(t *testing.T) {
	e := NewBSD(SlowTick, Bounds{})
	for i, want := range []time.Duration{6, 24, 48, 64, 64} {
		if e.RTO() != want*time.Second {
			t.Errorf("SYN %d: RTO %v, want %ds", i, e.RTO(), want)
		}
		e.Backoff()
	}
	e = NewBSD(SlowTick, Bounds{})
	e.Sample(Sample{})
	for i, ticks := range []time.Duration{3, 6, 12, 24, 48, 96, 128, 128, 128, 128, 128, 128, 128, 128} {
		if e.RTO() != ticks*SlowTick || e.Backoffs() != i {
			t.Errorf("RTO %v after %d expiries, want %v after %d", e.RTO(), e.Backoffs(), ticks*SlowTick, i)
		}
		e.Backoff()
	}
}

// RFC 6298 §5: "a TCP implementation MAY clear SRTT and RTTVAR after backing off the timer
// multiple times".
func TestBSDClearsAfterFourExpiries(t *testing.T) {
	e := NewBSD(SlowTick, Bounds{})
	for range 50 {
		e.Sample(Sample{RTT: 20 * SlowTick})
	}
	for range 3 {
		e.Backoff()
	}
	if e.SRTT() == 0 {
		t.Error("SRTT cleared after 3 expiries")
	}
	before := e.(*bsd).srtt8>>bsdRTTShift + e.(*bsd).rttvar4
	e.Backoff()
	if after := e.(*bsd).rttvar4; e.SRTT() != 0 || after != before {
		t.Errorf("SRTT %v and TCP_REXMTVAL %d after 4 expiries, want 0 and still %d", e.SRTT(), after, before)
	}
	e.Sample(Sample{})
	if e.RTO() != 3*SlowTick {
		t.Errorf("RTO %v, want that of a first sample, %v", e.RTO(), 3*SlowTick)
	}
}
