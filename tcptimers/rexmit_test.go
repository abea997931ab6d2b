package tcptimers

import (
	"math/rand"
	"slices"
	"testing"
	"time"

	"tcpwheel/wheel"
)

func at(d time.Duration) wheel.Time { return wheel.Time(d) }

// RFC 7765 §4: with fewer than four outstanding and unsent segments the timer expires RTO after
// the earliest was sent. With four or more, or if the earliest is older than the RTO, it restarts
// in full.
func TestRFC7765(t *testing.T) {
	p := MustPolicy("rfc7765")
	for _, c := range []struct {
		now, earliest, rto time.Duration
		segments           int
		want               time.Duration
	}{
		{100 * ms, 0, time.Second, 1, time.Second},
		{100 * ms, 0, time.Second, 3, time.Second},
		{100 * ms, 0, time.Second, 4, 1100 * ms},
		{100 * ms, 0, time.Second, 100, 1100 * ms},
		{999 * ms, 0, time.Second, 1, time.Second},
		{1000 * ms, 0, time.Second, 1, 2 * time.Second},
		{1500 * ms, 0, time.Second, 1, 2500 * ms},
		{100 * ms, 100 * ms, time.Second, 1, 1100 * ms},
	} {
		got := p.RexmitDeadline(at(c.now), c.rto, Flight{Earliest: at(c.earliest), Segments: c.segments})
		if got != at(c.want) {
			t.Errorf("RexmitDeadline(%v, %v, earliest %v of %d) = %v, want %v",
				c.now, c.rto, c.earliest, c.segments, got, c.want)
		}
	}
}

// TestTailLoss is E17 without TLP: of k segments sent at 0 the last j are lost, and the ACK of
// the others arrives at RTT. The first retransmission is at RTT+RTO with one restarted timer, and
// at RTO with a timer per segment. RTO restart equals the latter for up to three lost segments.
func TestTailLoss(t *testing.T) {
	const rtt, rto = 20 * ms, 220 * ms
	for j := 1; j <= 6; j++ {
		f := Flight{Sent: 0, Earliest: 0, Segments: j}
		restart := rto
		if j >= 4 {
			restart = rtt + rto
		}
		for name, want := range map[string]time.Duration{
			"per-segment": rto, "rfc6298": rtt + rto, "rfc7765": restart, "linux": rtt + rto,
		} {
			p := MustPolicy(name)
			if got := p.RexmitDeadline(at(rtt), rto, f); got != at(want) {
				t.Errorf("%s, %d lost: %v, want %v", name, j, got, want)
			}
		}
	}
}

// TestPerSegment: each segment has its own deadline, even if that has passed.
func TestPerSegment(t *testing.T) {
	p := MustPolicy("per-segment")
	for _, sent := range []time.Duration{0, 5 * ms, 300 * ms} {
		got := p.RexmitDeadline(at(time.Second), 250*ms, Flight{Sent: at(sent), Earliest: 0, Segments: 1})
		if want := at(sent + 250*ms); got != want {
			t.Errorf("sent at %v: %v, want %v", sent, got, want)
		}
	}
}

// TestRandomize: RTO + rand(0.5)·RTO is uniform from RTO to 1.5·RTO, the same for the same seed,
// and never early.
func TestRandomize(t *testing.T) {
	p := MustPolicy("per-segment")
	if got := p.Randomize(time.Second, nil); got != time.Second {
		t.Errorf("without jitter: %v, want 1s", got)
	}
	p.Jitter = 0.5
	a, b := rand.New(rand.NewSource(1)), rand.New(rand.NewSource(1))
	const n = 10000
	var sum time.Duration
	var tenths [5]int
	for range n {
		got := p.Randomize(time.Second, a)
		if got < time.Second || got >= 1500*ms {
			t.Fatalf("%v, want from 1s to below 1.5s", got)
		}
		if again := p.Randomize(time.Second, b); again != got {
			t.Fatalf("%v with the same seed, want %v", again, got)
		}
		sum += got
		tenths[(got-time.Second)/(100*ms)]++
	}
	if mean := sum / n; (mean - 1250*ms).Abs() > 5*ms {
		t.Errorf("mean %v, want 1.25s", mean)
	}
	for i, k := range tenths {
		if k < n/5-200 || k > n/5+200 {
			t.Errorf("%d of %d from 1.%d s, want about a fifth", k, n, i)
		}
	}
}

// RFC 9293 §3.8.3: "The value of R2 SHOULD correspond to at least 100 seconds" and for a SYN "at
// least 3 minutes (MUST-23)".
func TestGivesUp(t *testing.T) {
	p := MustPolicy("rfc6298")
	if p.GivesUp(at(99*time.Second), 0, 50) || !p.GivesUp(at(100*time.Second), 0, 0) {
		t.Errorf("R2 %v: want to give up at 100s, after any number of retransmissions", p.R2)
	}
	if p.GivesUpSyn(at(179*time.Second), 0, true) || !p.GivesUpSyn(at(180*time.Second), 0, true) {
		t.Errorf("R2 of a SYN %v: want to give up at 3m", p.SynR2)
	}
	if p.R1 < 3 {
		t.Errorf("R1 = %d, want at least 3 (SHLD-10)", p.R1)
	}
	b := MustPolicy("bsd")
	if b.GivesUp(at(time.Hour), 0, 11) || !b.GivesUp(at(time.Second), 0, 12) {
		t.Errorf("4.4BSD: want to give up after 12 retransmissions, at any time")
	}
}

// ip-sysctl.rst, tcp_syn_linear_timeouts: "With an initial RTO of 1 and tcp_syn_linear_timeouts =
// 4 we would expect SYN RTOs to be: 1, 1, 1, 1, 1, 2, 4, ... (4 linear timeouts, and the first
// exponential backoff using 2^0 * initial_RTO)." And tcp_syn_retries: "Default value is 6, which
// corresponds to 67seconds (with tcp_syn_linear_timeouts = 4) till the last retransmission with
// the current initial RTO of 1second. With this the final timeout for an active TCP connection
// attempt will happen after 131seconds."
func TestSynLinearTimeouts(t *testing.T) {
	p := MustPolicy("linux")
	for _, c := range []struct {
		active bool
		want   []time.Duration // in seconds
	}{
		{true, []time.Duration{1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64}},
		{false, []time.Duration{1, 2, 4, 8, 16, 32, 64}},
	} {
		e := p.NewEstimator()
		now, got := at(0), []time.Duration(nil)
		for rexmits := 0; !p.GivesUpSyn(now, 0, c.active); rexmits++ {
			now = now.Add(e.RTO())
			got = append(got, e.RTO()/time.Second)
			if !c.active || p.BacksOffSyn(rexmits) {
				e.Backoff()
			}
		}
		if !slices.Equal(got, c.want) || now != at(p.R2Syn(c.active)) {
			t.Errorf("active open %v: timeouts of %d s, given up after %v, want %d s", c.active, got, now.Sub(0), c.want)
		}
	}
}

// TestLinuxR2: tcp_retries2 = 15 is 924.6 s at the least RTO, the sum of 16 timeouts.
func TestLinuxR2(t *testing.T) {
	p := MustPolicy("linux")
	sum, rto := time.Duration(0), p.Bounds.Min
	for range 16 {
		sum += rto
		rto = min(2*rto, p.Bounds.Max)
	}
	if p.R2 != sum {
		t.Errorf("R2 %v, want %v", p.R2, sum)
	}
}
