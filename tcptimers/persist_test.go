package tcptimers

import (
	"testing"
	"time"
)

// RFC 9293 §3.8.6.1: the interval between probes begins with the RTO and grows exponentially,
// within the policy's bounds: those of 4.4BSD are 5 and 60 s.
func TestPersistInterval(t *testing.T) {
	for _, c := range []struct {
		policy string
		rto    time.Duration
		want   []time.Duration
	}{
		{"rfc6298", 3 * time.Second, []time.Duration{3 * time.Second, 6 * time.Second, 12 * time.Second, 24 * time.Second,
			48 * time.Second, time.Minute, time.Minute}},
		{"bsd", 1500 * ms, []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute}},
		{"linux", 220 * ms, []time.Duration{220 * ms, 440 * ms, 880 * ms}},
		{"rfc6298", time.Hour, []time.Duration{time.Minute, time.Minute}},
	} {
		p := MustPolicy(c.policy)
		for probes, want := range c.want {
			if got := p.PersistInterval(c.rto, probes); got != want {
				t.Errorf("%s: PersistInterval(%v, %d) = %v, want %v", c.policy, c.rto, probes, got, want)
			}
		}
		if got := p.PersistInterval(c.rto, 1<<30); got != p.PersistMax {
			t.Errorf("%s: PersistInterval(%v, 2^30) = %v, want %v", c.policy, c.rto, got, p.PersistMax)
		}
	}
}

func TestPersistIntervalDoublesToItsCeiling(t *testing.T) {
	// RFC 9293 §3.8.6.1: "and SHOULD increase exponentially the interval between successive probes
	// (SHLD-30)."
	const rto, most = 300 * time.Millisecond, time.Minute
	p := MustPolicy("rfc6298")
	p.PersistMin, p.PersistMax = rto, most
	for probes, want := range map[int]time.Duration{
		0: rto, 1: 2 * rto, 7: 128 * rto, 8: most, 62: most, 63: most, 1000: most,
	} {
		if got := p.PersistInterval(rto, probes); got != want {
			t.Errorf("PersistInterval(%v, %d) = %v, want %v", rto, probes, got, want)
		}
	}
	if got := p.PersistInterval(2*most, 0); got != most {
		t.Errorf("an RTO above the bound: %v, want %v", got, most)
	}
}

// RFC 9293 §3.6.1: TIME-WAIT lasts twice the MSL: 2 minutes in RFC 9293 §3.4.2, 30 s in all
// stacks modelled here.
func TestMSL(t *testing.T) {
	for _, name := range PolicyNames() {
		if p := MustPolicy(name); p.MSL != 30*time.Second {
			t.Errorf("%s: MSL %v, want 30s", name, p.MSL)
		}
	}
}
