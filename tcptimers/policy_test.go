package tcptimers

import (
	"math"
	"slices"
	"testing"
	"time"

	"tcpwheel/internal/setting"
	"tcpwheel/wheel"
)

// TestPolicyNames: every name makes a valid policy of that name.
func TestPolicyNames(t *testing.T) {
	if got, want := PolicyNames(), []string{"per-segment", "rfc6298", "rfc7765", "bsd", "linux"}; !slices.Equal(got, want) {
		t.Errorf("PolicyNames() = %v, want %v", got, want)
	}
	if PolicyNames()[0] != DefaultPolicy {
		t.Errorf("the first policy is not the default, %s", DefaultPolicy)
	}
	for _, name := range PolicyNames() {
		p := MustPolicy(name)
		if err := p.Check(); err != nil || p.Name != name {
			t.Errorf("policy %q, named %q: %v", name, p.Name, err)
		}
		if p.NewEstimator().RTO() != p.Bounds.Initial {
			t.Errorf("%s: RTO %v at first, want %v", name, p.NewEstimator().RTO(), p.Bounds.Initial)
		}
	}
	_, err := NewPolicy("rfc793")
	want := `tcptimers: unknown policy "rfc793", want one of per-segment, rfc6298, rfc7765, bsd, linux, internet, datacenter, linux-jiffies, lwip`
	if err == nil || err.Error() != want {
		t.Errorf("NewPolicy(rfc793): %v, want %s", err, want)
	}
	defer func() {
		if got := recover(); got != "BUG: "+want {
			t.Errorf("MustPolicy(rfc793) panics with %v, want BUG: %s", got, want)
		}
	}()
	MustPolicy("rfc793")
}

// TestCheck breaks each field once.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		breakIt func(p *Policy)
		want    string
	}{
		{func(p *Policy) { *p = Policy{} }, "tcptimers: tick 0s, want 1us to 500ms"},
		{func(p *Policy) { p.RTTTick = -1 }, "tcptimers: rtt-tick -1ns, want 0s to 500ms"},
		{func(p *Policy) { p.RTTTick = time.Second }, "tcptimers: rtt-tick 1s, want 0s to 500ms"},
		{func(p *Policy) { p.Tick = 999 }, "tcptimers: tick 999ns, want 1us to 500ms"},
		{func(p *Policy) { p.Tick = 501 * ms }, "tcptimers: tick 501ms, want 1us to 500ms"},
		{func(p *Policy) { p.Phase = 4 }, "tcptimers: phase Phase(4), want one of shared, own, countdown, jiffies"},
		{func(p *Policy) { p.Estimator = 9 }, "tcptimers: estimator EstimatorKind(9), want one of rfc6298, linux, bsd, tahoe, lwip"},
		{func(p *Policy) { p.Estimator = EstimatorBSD },
			"tcptimers: rtt-tick 0s, want 1µs to 500ms for an estimator that counts ticks"},
		{func(p *Policy) { p.VarMin = -1 }, "tcptimers: var-min -1ns, want 0s to 24h"},
		{func(p *Policy) { p.Jitter = math.NaN() }, "tcptimers: jitter NaN, want 0 to 1"},
		{func(p *Policy) { p.Jitter = 1.5 }, "tcptimers: jitter 1.5, want 0 to 1"},
		{func(p *Policy) { p.Tick, p.DelAck.Heartbeat = 1000001, FastTick },
			"tcptimers: delack-heartbeat 200ms and tick 1.000001ms, want a common measure of at least 1µs"},
		{func(p *Policy) { p.Bounds.Initial = 0 }, "tcptimers: rto-initial 0s, want 1ns to 24h"},
		{func(p *Policy) { p.Bounds.Min = 0 }, "tcptimers: rto-min 0s, want 1ns to 24h"},
		{func(p *Policy) { p.Bounds.Max = ms }, "tcptimers: rto-max 1ms, want 50ms (rto-min) to 24h0m0s"},
		{func(p *Policy) { p.Rexmit = 3 }, "tcptimers: rexmit RexmitMode(3), want one of per-segment, restart, rto-restart"},
		{func(p *Policy) { p.MaxAckDelay = time.Second }, "tcptimers: max-ack-delay 1s, want 0s to 500ms"},
		{func(p *Policy) { p.SharedTimer = true }, "tcptimers: shared-timer with rexmit per-segment, want restart"},
		{func(p *Policy) { p.ProbeSlack = time.Second }, "tcptimers: probe-slack 1s, want 0s to 500ms"},
		{func(p *Policy) { p.R1 = 0 }, "tcptimers: r1 0, want 1 or more"},
		{func(p *Policy) { p.R2 = -1 }, "tcptimers: r2 -1ns, want a duration such as 20ms"},
		{func(p *Policy) { p.MaxRexmits = -1 }, "tcptimers: max-rexmits -1, want 0 to 254"},
		{func(p *Policy) { p.MaxRexmits = 255 }, "tcptimers: max-rexmits 255, want 0 to 254"},
		{func(p *Policy) { p.R2 = 0 }, "tcptimers: r2 0s and max-rexmits 0, want one above 0"},
		{func(p *Policy) { p.SynR2 = 0 }, "tcptimers: syn-r2 0s, want 1ns or more"},
		{func(p *Policy) { p.SynLinearTimeouts = -1 }, "tcptimers: syn-linear-timeouts -1, want 0 to 127"},
		{func(p *Policy) { p.SynLinearTimeouts = 128 }, "tcptimers: syn-linear-timeouts 128, want 0 to 127"},
		{func(p *Policy) { p.KeepIdle = 0 }, "tcptimers: keepalive after 0s, then each 1m15s, 9 times, want all above 0"},
		{func(p *Policy) { p.KeepInterval = 0 }, "tcptimers: keepalive after 2h0m0s, then each 0s, 9 times, want all above 0"},
		{func(p *Policy) { p.KeepCount = 0 }, "tcptimers: keepalive after 2h0m0s, then each 1m15s, 0 times, want all above 0"},
		{func(p *Policy) { p.DelAck.Every = 3 }, "tcptimers: delack-every 3, want 1 to 2"},
		{func(p *Policy) { p.DelAck.Quick = 65 }, "tcptimers: delack-quick 65, want 0 to 64"},
		{func(p *Policy) { p.DelAck.Heartbeat = time.Second }, "tcptimers: delack-heartbeat 1s, want 0s to 500ms"},
		{func(p *Policy) { p.DelAck.Min = -1 }, "tcptimers: delack-min -1ns, want 0s to 500ms"},
		{func(p *Policy) { p.DelAck.Max = 30 * ms }, "tcptimers: delack-max 30ms, want 40ms (delack-min) to 500ms"},
		{func(p *Policy) { p.DelAck.Delay = 41 * ms }, "tcptimers: delack-delay 41ms, want 40ms (delack-min) to 40ms (delack-max)"},
		{func(p *Policy) { p.PersistMin = 0 }, "tcptimers: persist-min 0s, want 1ns or more"},
		{func(p *Policy) { p.PersistMax = 0 }, "tcptimers: persist-max 0s, want 50ms (persist-min) to 24h0m0s"},
		{func(p *Policy) { p.MSL = 3 * time.Minute }, "tcptimers: msl 3m0s, want 1ns to 2m"},
		{func(p *Policy) { p.FinWait2 = 0 }, "tcptimers: fin-wait-2 0s, want 1ns or more"},
	} {
		p := MustPolicy(DefaultPolicy)
		c.breakIt(&p)
		if err := p.Check(); err == nil || err.Error() != c.want {
			t.Errorf("Check() = %v, want %s", err, c.want)
		}
	}
}

func TestSwitches(t *testing.T) {
	for _, name := range Switches() {
		on, off := MustPolicy("linux"), MustPolicy("linux")
		for text, p := range map[string]*Policy{"on": &on, "off": &off} {
			if err := setting.Set(p, name, text); err != nil {
				t.Errorf("%s %s: %v", name, text, err)
			}
		}
		if on == off {
			t.Errorf("%s changes nothing", name)
		}
	}
}

// TestGranularitiesHold: each policy at each granularity of either clock, with every scheme.
func TestGranularitiesHold(t *testing.T) {
	for _, name := range PolicyNames() {
		for _, tick := range granularities {
			p := MustPolicy(name)
			p.Tick, p.RTTTick = tick, tick
			e := p.NewEstimator()
			for i := range 100 {
				e.Sample(Sample{RTT: p.Measure(wheel.Time(i*1234567), wheel.Time(i*1234567).Add(30*ms))})
			}
			if rto := e.RTO(); rto < p.Bounds.Min || rto > p.Bounds.Max {
				t.Errorf("%s, tick %v: RTO %v, want %v to %v", name, tick, rto, p.Bounds.Min, p.Bounds.Max)
			}
			for _, scheme := range wheel.Schemes() {
				if _, err := p.NewWheel(scheme, 0, false); err != nil {
					t.Errorf("%s, tick %v: %v", name, tick, err)
				}
			}
		}
	}
}

// TestNames: a known value prints its name, an unknown one its number.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		got  interface{ String() string }
		want string
	}{
		{EstimatorRFC6298, "rfc6298"}, {EstimatorLinux, "linux"}, {EstimatorBSD, "bsd"}, {EstimatorTahoe, "tahoe"}, {EstimatorKind(7), "EstimatorKind(7)"},
		{RexmitPerSegment, "per-segment"}, {RexmitRestart, "restart"}, {RexmitRTORestart, "rto-restart"},
		{RexmitMode(7), "RexmitMode(7)"},
		{PhaseShared, "shared"}, {PhaseOwn, "own"}, {PhaseCountdown, "countdown"}, {PhaseJiffies, "jiffies"}, {Phase(7), "Phase(7)"},
		{Rexmit, "rexmit"}, {Linger, "linger"}, {Kind(99), "Kind(99)"},
	} {
		if c.got.String() != c.want {
			t.Errorf("%#v is called %s, want %s", c.got, c.got, c.want)
		}
	}
	for k := range Kind(Kinds) {
		if text, err := k.MarshalText(); err != nil || string(text) != k.String() || k.String() == "" {
			t.Errorf("Kind %d: text %q, %v, want %q", k, text, err, k)
		}
	}
}

// TestMisuse: constructors panic on parameters that no estimator can have.
func TestMisuse(t *testing.T) {
	for name, f := range map[string]func(){
		"policy":      func() { (&Policy{}).NewEstimator() },
		"bounds":      func() { NewLinux(Bounds{Min: time.Hour, Max: time.Second}) },
		"K":           func() { NewRFC6298(StandardConfig{K: -1}) },
		"G":           func() { NewRFC6298(StandardConfig{G: math.MaxInt64}) },
		"beta":        func() { NewRFC6298(StandardConfig{BetaInv: 1 << 30}) },
		"no tick":     func() { NewBSD(0, Bounds{}) },
		"coarse tick": func() { NewBSD(2*time.Hour, Bounds{}) },
	} {
		func() {
			defer func() {
				if got, ok := recover().(string); !ok || got[:5] != "BUG: " {
					t.Errorf("%s: panics with %q, want a message that begins BUG:", name, got)
				}
			}()
			f()
		}()
	}
}
