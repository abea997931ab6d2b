package shrew

import (
	"strings"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/internal/testbed"
)

// TestPulses runs the attack: pulses each second shut out a flow with a floor of a second, and cost
// a flow with a fifth of that little more than a timeout each.
func TestPulses(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	share := func(timers string, period time.Duration) Cell {
		c, err := run(p, testbed.MustTimers(timers), []time.Duration{p.RoundTrip}, Cell{Pulse: 100 * time.Millisecond,
			Period: period, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const coarse, fine = "rfc6298@exact floor=1s control=newreno delack=off",
		"rfc6298@exact floor=200ms control=newreno delack=off"
	if c := share(coarse, 0); c.Share < 0.95 || c.Timeouts != 0 {
		t.Errorf("without pulses: %+v, want 95 %% of the rate, and no timeout", c)
	}
	if c := share(coarse, time.Second); c.Share > 0.05 || c.Timeouts > 10 {
		t.Errorf("a floor of 1 s, pulses each second: %+v, want less than 5 %%, and timeouts that back off", c)
	}
	if c := share(fine, time.Second); c.Share < 0.5 || c.Timeouts < 35 || c.Timeouts > 45 {
		t.Errorf("a floor of 200 ms, pulses each second: %+v, want at least half of the rate, and a timeout for "+
			"each pulse", c)
	}
}

// TestGVisor runs the attack on gVisor's own TCP, where the probe helps.
func TestGVisor(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	share := func(bare bool, period time.Duration) Cell {
		subject := testbed.Subject{Kind: testbed.GVisor, Floor: time.Second, NoRACK: bare}
		c, err := runStacks(p, subject, Cell{Pulse: 100 * time.Millisecond, Period: period, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := share(true, 0); c.Share < 0.95 || c.Timeouts != 0 {
		t.Errorf("without pulses: %+v, want 95 %% of the rate, and no timeout", c)
	}
	if c := share(true, time.Second); c.Share > 0.05 || c.Timeouts > 10 {
		t.Errorf("pulses each second: %+v, want less than 5 %%, and timeouts that back off", c)
	}
	if c := share(false, time.Second/2); c.Share < 0.1 {
		t.Errorf("with RACK and probes, two pulses a second: %+v, want more than 10 %%", c)
	}
}

// TestSubjects runs the engine in a gVisor stack against pulses: they shut it out as they do the
// engine alone.
func TestSubjects(t *testing.T) {
	o := studytest.Run(t, Study, "study: shrew\nperiods: [500ms, 1s]\nseeds: 1\nduration: 10s\nothers: []\n"+
		"other_lengths: []\nflow_round_trips: []\ngvisor_floors: []\ngvisor_seeds: 1\n"+
		"subjects: [binding rfc6298@exact floor=1s control=newreno delack=off, gvisor floor=200ms -rack]\n")
	found := 0
	for _, table := range o.Tables {
		for _, row := range table.Rows {
			if name, ok := row[0].(string); ok && strings.HasPrefix(name, "binding rfc6298") {
				found++
			}
		}
	}
	if found == 0 {
		t.Errorf("no table has the binding: %v", o.Tables)
	}
	c, err := runStacks(studytest.Own[Plan](t, Study),
		testbed.Subject{Kind: testbed.Binding, Timers: testbed.MustTimers("rfc6298@exact floor=1s control=newreno " +
			"delack=off")},
		Cell{Pulse: 100 * time.Millisecond, Period: time.Second, Seed: 1})
	if err != nil || c.Share > 0.05 || c.Timeouts > 10 {
		t.Errorf("pulses each second: %+v, %v, want less than 5 %%, and timeouts that back off", c, err)
	}
}

// TestFalsifier checks that pulses that do not fill the queue shut no flow out.
func TestFalsifier(t *testing.T) {
	if testing.Short() {
		t.Skip("results are the same under the race detector, which takes ten times as long")
	}
	o := studytest.Run(t, Study, "study: shrew\npulse_rate: 100000\nperiods: [200ms, 500ms, 1s]\nseeds: "+
		"2\nduration: 10s\ngvisor_seeds: 1\n")
	for _, c := range o.Claims {
		if (strings.HasPrefix(c.Name, "null") || c.Name == "moves-to" || c.Name == "gvisor") &&
			c.Verdict != experiments.NotReproduced {
			t.Errorf("weak pulses: %s is %q with %v, want not reproduced", c.Name, c.Verdict, c.Measured)
		}
	}
}

// TestElsewhere runs plans that leave claims without meaning: they do not apply, and say why.
func TestElsewhere(t *testing.T) {
	const few = "seeds: 1\nduration: 2s\ngvisor_floors: []\nother_lengths: []\nothers: []\n"
	for plan, want := range map[string]map[string]string{
		"buffer: 30000\nperiods: [200ms, 500ms, 1s]\nflow_round_trips: []\n": {
			"null":      "pulses of 100ms are shorter than the queued round trip of 180ms",
			"flows":     "no flows, or flows with a shorter round trip",
			"condition": "there is one length of pulses", "gvisor": "gVisor's own TCP does not run with a floor of 1s",
		},
		"round_trip: 50ms\nflow_round_trips: [20ms]\n": {"null": "shorter than the queued round trip of 130ms",
			"flows": "that of the bottleneck, 50ms"},
		"periods: [700ms, 1s]\n": {"null": "the plan has no such rows: pulses each 1s and each 500ms",
			"moves-to": "the plan has no runs", "moves": "the plan has no runs"},
	} {
		o := studytest.Run(t, Study, "study: shrew\n"+few+plan)
		for name, reason := range want {
			if c := studytest.Claim(t, o, name); c.Verdict != experiments.NotApplicable || !strings.Contains(c.Why,
				reason) {
				t.Errorf("%s: %s is %q, %q; want %q, %q", plan, name, c.Verdict, c.Why, experiments.NotApplicable,
					reason)
			}
		}
	}
}

func TestPlanIsChecked(t *testing.T) {
	studytest.WantRefused(t, Study, map[string]string{
		"periods: [50ms, 1s]": "above the longest pulse",
		"subjects: [linux]":   `subjects: "linux", want binding or gvisor`,
		"subjects: [kernel]":  "the kernel's TCP runs in real time",
		"gvisor_floors: [1s]\nsubjects: [gvisor floor=1s]": `subjects: "gVisor's own TCP, floor=1s" occurs twice`,
	})
}
