package incast

import (
	"context"
	"strings"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/plan"
)

// own is the study's plan as a quick run has it.
func own(t *testing.T) *Plan {
	t.Helper()
	f, err := plan.Parse("plan.yaml", []byte(Study.Plan))
	if err != nil {
		t.Fatal(err)
	}
	p := new(Plan)
	if err := f.Decode(p, true); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestQueries tells what a query costs: alone it fills the link, and 40 at once wait for the floor, whatever it is.
func TestQueries(t *testing.T) {
	p := own(t)
	ask := func(floor time.Duration, n int) Cell {
		c, err := run(p, subject{text: p.timers(floor, "off"), classic: true, queries: 5}, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := ask(300*time.Millisecond, 1)
	if mean := c.Took / 5; c.Timed != 0 || c.Dropped != 0 || mean < 8500*time.Microsecond || mean > 8800*time.Microsecond {
		t.Errorf("one server: %+v, want no timeout and about 8.6 ms for each query", c)
	}
	for _, floor := range []time.Duration{300 * time.Millisecond, 10 * time.Millisecond} {
		c := ask(floor, 40)
		if c.Timed != 5 || c.Least < floor || c.Took/5 > floor+12*time.Millisecond {
			t.Errorf("40 servers, floor %v: %+v, want a timeout in each query, which takes the floor and little more", floor, c)
		}
	}
}

// outcome judges a user's plan.
func outcome(t *testing.T, text string) map[string]experiments.Verdict {
	t.Helper()
	f, err := plan.Parse("test", []byte("study: incast\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	j, err := Study.OpenPlan(f, true)
	if err != nil {
		t.Fatal(err)
	}
	r, err := experiments.Run(context.Background(), []*experiments.Job{j}, experiments.Shard{}, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := j.Judge(r[Study.Name])
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]experiments.Verdict{}
	for _, c := range o.Claims {
		verdicts[c.Name] = c.Verdict
	}
	return verdicts
}

const small = "servers: [1, 16, 40]\nseeds: 2\nqueries: 4\nfewer: 4\nticks: [100ms]\nticked_servers: [40]\nothers: []\nreceive_windows: [8688]\ndelacks: [\"off\"]\n"

// TestFalsifier finds that the collapse is gone where the great floor is not great.
func TestFalsifier(t *testing.T) {
	if got := outcome(t, small+"floors: [2ms, 1ms]\nfine: 1ms\n"); got["collapse"] != experiments.NotReproduced {
		t.Errorf("floors of 2 ms and 1 ms: verdicts %v, want no collapse", got)
	}
	got := outcome(t, small+"floors: [300ms, 1ms]\nfine: 1ms\n")
	for _, name := range []string{"collapse", "least-time", "timed-out", "no-collapse-off", "tick-100ms", "windows-fit"} {
		if got[name] != experiments.Reproduced {
			t.Errorf("floors of 300 ms and 1 ms: %s is %q, want reproduced", name, got[name])
		}
	}
}

func TestPlanIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"fine: 7ms":            "fine: 7ms, want one of the floors",
		"servers: [2, 40]":     "servers: [2 40], want rising numbers from 1",
		"delacks: [\"never\"]": `delack: "never": want`,
		"receive_windows: 100": "receive_windows",
	} {
		f, err := plan.Parse("test", []byte("study: incast\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Study.OpenPlan(f, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("plan %q: %v, want %s", text, err, want)
		}
	}
}
