package tcptimers

import (
	"math/rand"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestDefaultPolicy checks that the default policy is "internet" under another name.
func TestDefaultPolicy(t *testing.T) {
	p, q := MustPolicy(DefaultPolicy), MustPolicy("internet")
	if p.Name = q.Name; p != q {
		t.Errorf("the default policy is %+v, want %+v", p, q)
	}
}

// spurious counts the samples that arrive after the timeout set when their segments were sent, on
// a steady path to a peer that delays some of its ACKs by at most delay.
func spurious(p *Policy, rtt, delay time.Duration, rng *rand.Rand, delayed func(i int) bool) (n int) {
	e := p.NewEstimator()
	now := wheel.Time(rng.Int63n(int64(time.Second)))
	e.Sample(Sample{RTT: p.Measure(now, now.Add(rtt))}) // the handshake is not delayed
	for i := range 2000 {
		now = now.Add(time.Duration(rng.Int63n(int64(50 * ms))))
		took := rtt
		if delayed(i) {
			took += delay
		}
		if p.RexmitDeadline(now, e.RTO(), Flight{Sent: now, Earliest: now, Segments: 1}).Sub(now) < took {
			n++
		}
		e.Sample(Sample{RTT: p.Measure(now, now.Add(took)), Round: true})
	}
	return n
}

// TestNoSpuriousTimeouts: with any mix of undelayed ACKs and ACKs delayed by up to the profile's
// measure, the timer does not expire before the ACK arrives, at any round-trip time. (With the
// same floor on the timeout, and none on the variation, it sometimes does.)
func TestNoSpuriousTimeouts(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	mixes := map[string]func(int) bool{
		"always":  func(int) bool { return true },
		"every 2": func(i int) bool { return i%2 == 1 },
		"rarely":  func(i int) bool { return i%200 == 199 },
		"random":  func(int) bool { return rng.Intn(2) == 0 },
	}
	for _, c := range []struct {
		profile string
		delay   time.Duration
	}{
		{"internet", 40 * ms}, {"internet", 50 * ms}, {"datacenter", 4 * ms}, {"linux", 200 * ms}, {"bsd", 200 * ms}, {"lwip", 250 * ms},
	} {
		for mix, delayed := range mixes {
			for _, rtt := range []time.Duration{100 * time.Microsecond, ms, 9 * ms, 49 * ms, 100 * ms, 500 * ms} {
				p := MustPolicy(c.profile)
				if n := spurious(&p, rtt, c.delay, rng, delayed); n > 0 {
					t.Errorf("%s, RTT %v, %s delayed by %v: %d spurious timeouts", c.profile, rtt, mix, c.delay, n)
				}
			}
		}
	}
	p := MustPolicy("internet")
	p.VarMin = 0
	if spurious(&p, 49*ms, 40*ms, rng, mixes["rarely"]) == 0 {
		t.Error("a floor on the timeout alone gives no spurious timeout either: the test proves nothing")
	}
}

// TestDeadPeer checks how long a dead peer goes unnoticed, from the last segment to the last
// probe's end.
func TestDeadPeer(t *testing.T) {
	for name, want := range map[string]time.Duration{
		"bsd": 7800 * time.Second, "lwip": 7875 * time.Second, "linux": 7875 * time.Second, "internet": 7875 * time.Second,
	} {
		p := MustPolicy(name)
		for cut := wheel.Time(0); cut < wheel.Time(time.Second); cut += 7654321 {
			now := p.Deadline(cut, p.KeepIdle)
			for range p.KeepCount {
				now = p.Deadline(now, p.KeepInterval)
			}
			if off := (now.Sub(cut) - want).Abs(); off >= p.Tick {
				t.Errorf("%s: noticed after %v, want %v within a tick", name, now.Sub(cut), want)
			}
		}
		// RFC 9293 §3.8.4: keep-alives "MUST default to off (MUST-25)", and their interval "MUST
		// default to no less than two hours (MUST-28)".
		if p.Keepalive || p.KeepIdle < 2*time.Hour {
			t.Errorf("%s: keepalive %t after %v, want off, after 2h", name, p.Keepalive, p.KeepIdle)
		}
	}
}
