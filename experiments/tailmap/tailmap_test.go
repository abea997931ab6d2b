package tailmap

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"tcpwheel/experiments"
)

// run runs the quick plan, with the cells changed by sabotage if that is not nil.
func run(t *testing.T, sabotage func(c *Cell)) (cells []Cell, out *experiments.Outcome) {
	t.Helper()
	job, err := Study.Open(true)
	if err != nil {
		t.Fatal(err)
	}
	results, err := experiments.Run(context.Background(), []*experiments.Job{job}, experiments.Shard{}, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := results[Study.Name]
	for i := range raw {
		var c Cell
		if err := json.Unmarshal(raw[i], &c); err != nil {
			t.Fatal(err)
		}
		if sabotage != nil {
			sabotage(&c)
			if raw[i], err = json.Marshal(c); err != nil {
				t.Fatal(err)
			}
		}
		cells = append(cells, c)
	}
	if out, err = job.Judge(raw); err != nil {
		t.Fatal(err)
	}
	return cells, out
}

func verdicts(out *experiments.Outcome) map[string]experiments.Verdict {
	v := map[string]experiments.Verdict{}
	for _, c := range out.Claims {
		v[c.Name] = c.Verdict
	}
	return v
}

func TestTails(t *testing.T) {
	cells, out := run(t, nil)
	for _, c := range out.Claims {
		want := experiments.Reproduced
		if c.Name == "complete" || c.Name == "complete-probe" {
			want = experiments.Differs // what was expected leaves out ssthresh, and RFC 9937
		}
		if c.Verdict != want {
			t.Errorf("%s: %s, %v; want %s", c.Name, c.Verdict, c.Measured, want)
		}
	}
	// A round trip of 20 ms over Linux's floor: 240 / 220 / 60 ms, and 240 alone; over a floor of 1 s: 1020 / 1000 / 60 and 260 ms.
	for _, c := range cells {
		if c.Kind != kindMap || c.RTT != 20*time.Millisecond {
			continue
		}
		want := map[string][2]int{oneTimer: {240, 240}, rtoRestart: {220, 220}, perSegment: {220, 220}, probe: {240, 60}}
		if c.Floor == floorSecond {
			want = map[string][2]int{oneTimer: {1020, 1020}, rtoRestart: {1000, 1000}, perSegment: {1000, 1000}, probe: {260, 60}}
		}
		for rule, w := range want {
			for i, lost := range []int{1, 3} {
				if got := find(c.Tails, rule, lost).Resend; got/time.Microsecond != time.Duration(w[i])*1000 {
					t.Errorf("floor of %s, %s, %d lost: sent again after %v, want %dms", c.Floor, rule, lost, got, w[i])
				}
			}
		}
	}
}

// TestFalsifier has the one timer and the timer per segment change places.
func TestFalsifier(t *testing.T) {
	_, out := run(t, func(c *Cell) {
		for i := range c.Tails {
			switch c.Tails[i].Rule {
			case oneTimer:
				c.Tails[i].Rule = perSegment
			case perSegment:
				c.Tails[i].Rule = oneTimer
			}
		}
	})
	v := verdicts(out)
	for _, name := range []string{"first-resend", "age"} {
		if v[name] != experiments.NotReproduced {
			t.Errorf("%s: %s with the rules swapped", name, v[name])
		}
	}
}

func TestRounds(t *testing.T) {
	for _, test := range []struct{ n, bound, want int }{
		{1, 99, 1}, {2, 99, 2}, {3, 99, 2}, {4, 99, 3}, {7, 99, 3}, {8, 99, 4}, {15, 99, 4},
		{7, 3, 4}, {9, 4, 4},
	} {
		if got := rounds(test.n, test.bound); got != test.want {
			t.Errorf("rounds(%d, %d) = %d, want %d", test.n, test.bound, got, test.want)
		}
	}
}
