package tcptimers

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// TestLinuxFloorIsOnTheVariation: with a steady round trip RTO = SRTT + 200 ms, not max(200 ms,
// ·).
func TestLinuxFloorIsOnTheVariation(t *testing.T) {
	for _, rtt := range []time.Duration{100 * time.Microsecond, 20 * ms, 150 * ms, 900 * ms} {
		e := NewLinux(Bounds{})
		for range 2000 {
			e.Sample(Sample{RTT: rtt, Round: true})
		}
		// A falling variation stops 3 ns above the floor, where a quarter of the difference is 0.
		if want := rtt + 200*ms; e.RTO() < want || e.RTO() > want+3 {
			t.Errorf("RTO at a steady %v = %v, want %v and at most 3 ns more", rtt, e.RTO(), want)
		}
	}
}

// TestLinuxSteps computes tcp_rtt_estimator by hand: samples of 100, 200 and 100 ms, one per
// round trip.
func TestLinuxSteps(t *testing.T) {
	e := NewLinux(Bounds{}).(*linux)
	for i, step := range []struct{ rtt, srtt8, mdev4, rttv4 time.Duration }{
		{100 * ms, 800 * ms, 200 * ms, 200 * ms},
		// error 100: mdev + 100 − 50
		{200 * ms, 900 * ms, 250 * ms, 250 * ms},
		// error −12.5: mdev + 12.5 − 62.5, mdev_max 200
		{100 * ms, 887500 * time.Microsecond, 200 * ms, 250 * ms},
		// error 389.06: mdev + 389.06 − 50
		{500 * ms, 887500*time.Microsecond + 389062500, 539062500 * time.Nanosecond, 539062500},
	} {
		e.Sample(Sample{RTT: step.rtt, Round: true})
		if i == 2 {
			// mdev_max was 200 ms in this round, so RTTVAR falls by a quarter of the difference.
			step.rttv4 -= 50 * ms / 4
		}
		if e.srtt8 != step.srtt8 || e.mdev4 != step.mdev4 || e.rttv4 != step.rttv4 {
			t.Errorf("step %d: srtt·8 %v, mdev·4 %v, rttvar·4 %v, want %v, %v, %v", i,
				e.srtt8, e.mdev4, e.rttv4, step.srtt8, step.mdev4, step.rttv4)
		}
	}
}

// TestLinuxJiffies: the doubled timeout is one of whole jiffies. In a kernel's trace, all of 96
// consecutive timeouts were.
func TestLinuxJiffies(t *testing.T) {
	p, err := NewPolicy("linux-jiffies")
	if err != nil {
		t.Fatal(err)
	}
	e := p.NewEstimator().New()
	e.Sample(Sample{RTT: time.Millisecond, Round: true})
	for i, want := range []time.Duration{204, 408, 816} { // not 201, 402 and 804
		if got := e.RTO(); got != want*ms {
			t.Errorf("RTO after %d timeouts = %v, want %v", i, got, want*ms)
		}
		e.Backoff()
	}
}

// TestLinuxFallingRTT: the RTO does not rise when the round-trip time falls; that of RFC 6298
// does.
func TestLinuxFallingRTT(t *testing.T) {
	l, r := NewLinux(Bounds{}), NewRFC6298(StandardConfig{Bounds: Bounds{Min: 1}})
	for range 200 {
		l.Sample(Sample{RTT: time.Second, Round: true})
		r.Sample(Sample{RTT: time.Second})
	}
	wasL, wasR := l.RTO(), r.RTO()
	l.Sample(Sample{RTT: 100 * ms, Round: true})
	r.Sample(Sample{RTT: 100 * ms})
	if l.RTO() > wasL {
		t.Errorf("Linux: RTO %v, want at most %v", l.RTO(), wasL)
	}
	if r.RTO() <= wasR {
		t.Errorf("RFC 6298: RTO %v, want above %v", r.RTO(), wasR)
	}
}

// TestLinuxSynTimedOut: without a sample the timeout falls back to 3 s; with one it is the
// sample's.
func TestLinuxSynTimedOut(t *testing.T) {
	// RFC 6298 §5 (5.7), as in Linux.
	e := NewLinux(Bounds{})
	e.Backoff()
	e.SynTimedOut()
	if e.RTO() != 3*time.Second {
		t.Errorf("RTO %v, want 3s", e.RTO())
	}
	e.Sample(Sample{RTT: 20 * ms})
	if e.RTO() != 220*ms {
		t.Errorf("RTO %v, want 220ms", e.RTO())
	}
	e.SynTimedOut()
	if e.RTO() != 220*ms {
		t.Errorf("RTO %v after a handshake that gave a sample, want 220ms", e.RTO())
	}
}

// TestLinuxBounds: 1 s at first, doubled up to 120 s.
func TestLinuxBounds(t *testing.T) {
	e := NewLinux(Bounds{})
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 120, 120} {
		if e.RTO() != want*time.Second {
			t.Errorf("RTO %v after %d expiries, want %ds", e.RTO(), e.Backoffs(), want)
		}
		e.Backoff()
	}
}
