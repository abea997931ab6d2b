package congestion

import (
	"math"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// stage is CUBIC in congestion avoidance after a loss at a window of n segments of 1000 bytes, at
// time 0.
func stage(t *testing.T, n uint32) (*controlTest, *cubic) {
	t.Helper()
	h := newControlTest(t, "cubic", Config{Reduce: ReduceFlight})
	c := h.c.(*cubic)
	c.cwnd, c.ssthresh = n*mss, n*mss
	c.OnCongestion(0, n*mss, FastRetransmit)
	c.OnRecovered(0, n*mss)
	return h, c
}

func TestCubicFunction(t *testing.T) {
	// RFC 9438 §4.2: W_cubic(t) = C*(t-K)^3 + W_max, K = cubic root of (W_max-cwnd_epoch)/C. At
	// W_max = 36 and cwnd_epoch = 25.2 segments K³ = 10.8/0.4 = 27, and K = 3 s.
	h, c := stage(t, 36)
	h.want(25200, 25200)
	h.ack(mss)
	if c.wMax != 36000 || c.k != 3 {
		t.Fatalf("W_max %v, K %v, want 36000, 3", c.wMax, c.k)
	}
	for _, test := range []struct{ t, want float64 }{
		{0, 25200}, {1, 32800}, {2, 35600}, {3, 36000}, {4, 36400}, {5, 39200}, {6, 46800}, {8, 86000}, {3.5, 36050},
	} {
		if got := c.at(test.t); got != test.want {
			t.Errorf("W_cubic(%v) = %v, want %v", test.t, got, test.want)
		}
	}
}

// TestCubicBits has the bits of floating point results: they are the same on every machine.
func TestCubicBits(t *testing.T) {
	for _, test := range []struct {
		x    float64
		want float64
	}{{0, 0}, {-1, 0}, {1, 1}, {8, 2}, {27, 3}, {1000, 10}, {1e-9, 1e-3}, {0.125, 0.5}, {1e30, 1e10}} {
		if got := cubeRoot(test.x); got != test.want {
			t.Errorf("cubeRoot(%v) = %v, want %v", test.x, got, test.want)
		}
	}
	for x := 1e-12; x < 1e40; x *= 1.37 {
		if got, want := cubeRoot(x), math.Cbrt(x); math.Abs(got-want) > 4e-16*want {
			t.Errorf("cubeRoot(%v) = %v, math.Cbrt %v", x, got, want)
		}
	}
	_, c := stage(t, 100)
	c.OnAck(0, Ack{Acked: mss, Flight: 70 * mss, Limited: true, RTT: time.Millisecond, SRTT: time.Millisecond})
	if got, want := math.Float64bits(c.k), uint64(0x4010DE601024FB88); got != want {
		t.Errorf("K = %#x (%v), want %#x", got, c.k, want)
	}
	if got, want := math.Float64bits(c.at(1.7)), uint64(0x40F6DB463A879768); got != want {
		t.Errorf("W_cubic(1.7) = %#x (%v), want %#x", got, c.at(1.7), want)
	}
}

func TestCubicDecrease(t *testing.T) {
	// RFC 9438 §4.6: ssthresh = flight_size * β_cubic, 2 segments at least; on ECE cwnd is 1 MSS at
	// least.
	h, c := stage(t, 100)
	h.want(70*mss, 70*mss)
	if c.wMax != 100*mss || c.cwndPrior != 100*mss {
		t.Errorf("W_max %v, cwnd_prior %v", c.wMax, c.cwndPrior)
	}
	c.OnCongestion(0, 50*mss, FastRetransmit)
	h.want(35*mss, 35*mss)
	// RFC 9438 §4.7: with fast convergence W_max is cwnd*(1+β_cubic)/2 if cwnd < W_max: 70 of 100
	// segments.
	if c.wMax != 59500 {
		t.Errorf("W_max %v after fast convergence, want 59500", c.wMax)
	}
	c.fastConvergence = false
	c.OnCongestion(0, 35*mss, FastRetransmit)
	if c.wMax != 35*mss {
		t.Errorf("W_max %v without fast convergence", c.wMax)
	}
	for range 20 {
		c.OnCongestion(0, c.cwnd, ECN)
	}
	h.want(mss, 2*mss)
	c.OnCongestion(0, c.cwnd, FastRetransmit)
	h.want(2*mss, 2*mss)
}

func TestCubicRegions(t *testing.T) {
	ack := func(c *cubic, now, rtt time.Duration) {
		c.OnAck(wheel.Time(now), Ack{Acked: mss, Flight: c.cwnd, Una: 1, Nxt: 9, RTT: rtt, SRTT: rtt, Limited: true})
	}
	// RFC 9438 §4.4 and RFC 9438 §4.5: cwnd grows by (target-cwnd)/cwnd, target being
	// W_cubic(t+RTT): concave at t = 1 s, 35600-25200 = 10400, by 10400·1000/25200 = 412.698
	// bytes.
	_, c := stage(t, 36)
	ack(c, 0, time.Second)
	c.cwnd, c.frac, c.wEst = 25200, 0, 0
	ack(c, time.Second, time.Second)
	if c.cwnd != 25612 || math.Abs(float64(c.frac)-0.6984) > 0.0001 {
		t.Errorf("concave: cwnd %d + %v, want 25612.6984", c.cwnd, c.frac)
	}
	// Convex: at t = 4 s, target is W_cubic(5) = 39200, from 36000: 3200/36.
	c.cwnd, c.frac, c.wEst = 36*mss, 0, 0
	ack(c, 4*time.Second, time.Second)
	if c.cwnd != 36088 {
		t.Errorf("convex: cwnd %d, want 36088", c.cwnd)
	}
	// RFC 9438 §4.2: target is between cwnd and 1.5·cwnd: half a segment for a segment.
	c.cwnd, c.frac = 36*mss, 0
	ack(c, time.Hour, time.Second)
	if c.cwnd != 36500 {
		t.Errorf("bound: cwnd %d, want 36500", c.cwnd)
	}
	c.cwnd, c.frac = 60*mss, 0
	ack(c, 4*time.Second, 0)
	if c.cwnd != 60000 {
		t.Errorf("cwnd %d, want it to stay above W_cubic", c.cwnd)
	}
}

func TestCubicRenoFriendly(t *testing.T) {
	// RFC 9438 §4.3: "CUBIC is in the Reno-friendly region and cwnd SHOULD be set to W_est at each
	// reception of a new ACK." In an RTT of 1 ms W_est gains 9/17 of a segment, and W_cubic almost
	// nothing.
	h, c := stage(t, 100)
	h.rtt = time.Millisecond
	for range 17 {
		h.round()
	}
	if c.cwnd < 78*mss || c.cwnd > 79*mss+100 {
		t.Errorf("cwnd %d after 17 round trips, want 70 + 9 segments", c.cwnd)
	}
	for c.wEst < float64(c.cwndPrior) {
		h.round()
	}
	// RFC 9438 §4.3: "Once W_est has grown to reach the cwnd at the time of most recently setting
	// ssthresh" it gains a segment.
	before := c.wEst
	for range 10 {
		h.round()
	}
	if gain := c.wEst - before; gain < 9.8*mss || gain > 10.1*mss {
		t.Errorf("W_est gains %v bytes in 10 round trips", gain)
	}
}

func TestCubicApplicationLimited(t *testing.T) {
	// RFC 9438 §4.2: t "MUST NOT include periods during which cwnd has not been updated due to
	// application-limited behavior".
	h, c := stage(t, 36)
	h.ack(mss)
	h.now = wheel.Time(time.Second)
	h.ack(mss)
	c.OnApplicationLimited(wheel.Time(time.Second))
	c.OnApplicationLimited(wheel.Time(5 * time.Second))
	c.OnAck(wheel.Time(6*time.Second), Ack{Acked: mss, Flight: 2 * mss, Una: h.una, Nxt: h.una + 1})
	c.OnIdle(wheel.Time(60*time.Second), time.Millisecond, time.Second)
	h.now = wheel.Time(61 * time.Second)
	h.ack(mss)
	if c.epoch != wheel.Time(60*time.Second) {
		t.Errorf("t_epoch %v, want 1m0s: t goes on at 1 s", c.epoch)
	}
}

func TestCubicTimeout(t *testing.T) {
	// RFC 9438 §4.8: after a timeout "K is set to 0, and W_max is set to the congestion window size
	// at the beginning of the current congestion avoidance stage."
	h, c := stage(t, 100)
	c.OnTimeout(0, 70*mss, true)
	h.want(mss, 49*mss)
	for c.InSlowStart() {
		h.round()
	}
	h.ack(mss)
	if c.k != 0 || c.wMax < 49*mss || c.wMax > 51*mss {
		t.Errorf("K %v, W_max %v, want 0 and about ssthresh", c.k, c.wMax)
	}
}

func TestCubicAfterHyStart(t *testing.T) {
	// RFC 9438 §4.10: without a loss W_max is undefined, and the stage begins with K = 0 and W_max
	// = cwnd.
	h := newControlTest(t, "cubic", Config{})
	c := h.c.(*cubic)
	for i := 0; c.InSlowStart() && i < 30; i++ {
		if c.cwnd > 100*mss {
			h.rtt = 150 * time.Millisecond
		}
		h.round()
	}
	if c.InSlowStart() || c.cwndPrior != c.ssthresh || c.k != 0 || c.wMax < float64(c.ssthresh) {
		t.Errorf("ssthresh %d, cwnd_prior %d, K %v, W_max %v", c.ssthresh, c.cwndPrior, c.k, c.wMax)
	}
}

// TestCubicUndoTimeout: the curve goes on where it was when the slow start after the undo is over, as
// if the time between had not passed.
func TestCubicUndoTimeout(t *testing.T) {
	h, c := stage(t, 36)
	c.keepCurve = true
	h.ack(mss)
	want := *c
	c.OnTimeout(h.now, c.cwnd, true)
	h.now = h.now.Add(time.Second)
	if !c.Undo(h.now, 10*mss, mss) {
		t.Fatal("nothing to undo")
	}
	h.want(11*mss, want.cwnd)
	for c.InSlowStart() {
		h.ack(mss)
	}
	h.ack(mss)
	if c.wMax != want.wMax || c.k != want.k || !c.staged || c.epoch.Sub(want.epoch) < time.Second {
		t.Errorf("%+v, want %+v and a second or more between their epochs", *c, want)
	}
	c.OnTimeout(h.now, c.cwnd, true)
	c.OnTimeout(h.now, mss, false)
	if c.resuming {
		t.Error("a timeout that is not undone keeps the curve")
	}
}

func TestCubicUndo(t *testing.T) {
	// RFC 9438 §4.9.2: the variables are restored "if the current cwnd is lower than cwnd_prior".
	h, c := stage(t, 36)
	h.ack(mss)
	want := *c
	c.OnCongestion(0, c.cwnd, FastRetransmit)
	c.OnRecovered(0, c.cwnd)
	h.ack(mss)
	if !c.Undo(h.now, mss, mss) {
		t.Fatal("nothing to undo")
	}
	if c.cwnd != want.cwnd || c.ssthresh != want.ssthresh || c.wMax != want.wMax || c.k != want.k || c.epoch != want.epoch ||
		c.wEst != want.wEst || c.cwndPrior != want.cwndPrior || !c.staged {
		t.Errorf("%+v, want %+v", *c, want)
	}
	c.OnCongestion(0, c.cwnd, FastRetransmit)
	c.cwnd = 40 * mss // cwnd grew meanwhile
	ssthresh := c.ssthresh
	c.Undo(h.now, mss, mss)
	h.want(40*mss, ssthresh)
}
