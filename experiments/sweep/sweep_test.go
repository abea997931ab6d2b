package sweep

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/plan"
)

// run runs a plan of a user, and checks its outcome.
func run(t *testing.T, name, text string, quick bool) *experiments.Outcome {
	t.Helper()
	f, err := plan.Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	j, err := Study.OpenPlan(f, quick)
	if err != nil {
		t.Fatal(err)
	}
	return studytest.RunJob(t, j)
}

// rowsIn returns the runs that an outcome has for other programs, by sender.
func rowsIn(t *testing.T, out *experiments.Outcome) map[string][]Row {
	t.Helper()
	var text bytes.Buffer
	if err := out.Records.JSON(&text); err != nil {
		t.Fatal(err)
	}
	all := map[string][]Row{}
	for line := range bytes.Lines(text.Bytes()) {
		var row Row
		if err := experiments.UnmarshalCell(line, &row); err != nil {
			t.Fatal(err)
		}
		all[row.Sender] = append(all[row.Sender], row)
	}
	return all
}

// example runs the quick form of an example.
func example(t *testing.T, name string) *experiments.Outcome {
	t.Helper()
	text, err := os.ReadFile("examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, name, string(text), true)
}

// TestLate: where one packet of a hundred is 5 ms late, ours keeps the time of a path without late
// packets, 4.6 s, and takes less than a fifth of gVisor's TCP (docs/gvisor.md).
func TestLate(t *testing.T) {
	rows := rowsIn(t, example(t, "late.yaml"))
	for i, theirs := range rows["gvisor's own"] {
		for _, sender := range []string{"binding per-segment", "binding linux"} {
			if ours := rows[sender][i]; ours.Time > 4800*time.Millisecond || 5*ours.Time > theirs.Time ||
				ours.Unfinished+theirs.Unfinished > 0 {
				t.Errorf("seed %d: %s takes %v, gVisor's TCP %v", ours.Seed, sender, ours.Time, theirs.Time)
			}
		}
	}
	if len(rows["gvisor's own"]) != 1 {
		t.Errorf("%d runs of gVisor's TCP, want 1", len(rows["gvisor's own"]))
	}
}

// TestTail: with a floor of 200 ms on the variation, at a round trip of 20 ms, a lost tail waits an
// RTO under a timer for each segment, and a round trip more under one that each ACK restarts. With
// a floor of 1 s it waits RTT + 1 s (RFC 6298 §2 (2.4)).
func TestTail(t *testing.T) {
	waits := waitsIn(t, example(t, "tail.yaml"))
	for sender, want := range map[string]float64{"restarted": 240, "per segment": 220, "RFC 6298": 1020} {
		if x := waits[sender+" loss=tail:1"]; !(x >= want && x < want+0.01) {
			t.Errorf("%s: 95 %% of the lost tails wait up to %v ms, want %v", sender, x, want)
		}
	}
}

// waitsIn returns the 95 % quantile of the waits for a repair, in ms, by sender and condition.
func waitsIn(t *testing.T, out *experiments.Outcome) map[string]float64 {
	t.Helper()
	table := out.Tables[slices.IndexFunc(out.Tables, func(t experiments.Table) bool { return t.Name == "repairs" })]
	waits := map[string]float64{}
	for _, row := range table.Rows {
		name := row[0].(string)
		if table.Columns[1] == "where" {
			name += " " + row[1].(string)
		}
		waits[name], _ = row[slices.Index(table.Columns, "wait p95, ms")].(float64)
	}
	return waits
}

// TestFloors: a coarse tick is a floor, and a floor a coarse tick.
func TestFloors(t *testing.T) {
	waits := waitsIn(t, example(t, "floors.yaml"))
	for sender, want := range map[string][2]float64{
		"per segment@200ms floor=200µs": {100, 400}, // one tick or two
		"per segment@10µs floor=200ms":  {100, 410},
		"per segment@10µs floor=200µs":  {0.2, 50},
	} {
		if x := waits[sender]; x < want[0] || x > want[1] {
			t.Errorf("%s: 95 %% of the repairs wait up to %v ms, want %v to %v", sender, x, want[0], want[1])
		}
	}
}

// TestStacks: the engine behind a gVisor stack does what the engine does, to the nanosecond. Without
// loss gVisor's own TCP takes the same time.
func TestStacks(t *testing.T) {
	seen := 0
	for _, rows := range rowsIn(t, example(t, "stacks.yaml")) {
		for _, r := range rows {
			if r.Subject == "binding" && r.Difference != 0 {
				t.Errorf("the binding differs by %v at a loss of %s", r.Difference, r.Loss)
			}
			if r.Subject == "gvisor" && r.Loss == "none" && r.Time != r.FirstTime {
				t.Errorf("without loss gVisor's TCP takes %v, the engine %v", r.Time, r.FirstTime)
			}
			seen++
		}
	}
	if seen != 3*4*2 {
		t.Errorf("%d runs, want 24: three subjects under four losses and two seeds", seen)
	}
}

// open opens a plan of a user, and returns what is wrong with it.
func open(text string) (*experiments.Job, error) {
	f, err := plan.Parse("my.yaml", []byte("study: sweep\n"+text))
	if err != nil {
		return nil, err
	}
	return Study.OpenPlan(f, false)
}

// TestFaults checks what users read about wrong plans.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"timer: linux":          `my.yaml:2: timer: no such key, want one of subject, timers, names, tick, `,
		"timers: [linux, reno]": `my.yaml:2: timers: "reno", tcptimers: unknown policy "reno", `,
		"timers: []":            `my.yaml:2: timers: want at least one value`,
		"names: [a, b]":         `my.yaml:2: names: 2 of 8 timers, want one of each`,
		"rtt: 20":               `my.yaml:2: rtt: "20", want a duration such as 20ms, 10us to 10s`,
		"rate: fast": `my.yaml:2: rate: "fast", want none, ` +
			`or whole bit/s from 1 to 1e15, such as 100Mbit, `,
		"rate: 5Pbit": `my.yaml:2: rate: "5Pbit", want none, `,
		"loss: 1.01":  `my.yaml:2: loss: "1.01", want none, fates:P, `,
		"loss: \"tail:0\"": `my.yaml:2: loss: "tail:0", "tail:0": "0" segments, ` +
			`want 1 to 1000; want none, fates:P`,
		"workload: video": `my.yaml:2: workload: "video", want one of ` +
			`bulk, request-response, web, tail, stream, stop-and-wait`,
		"subject: linux":    `my.yaml:2: subject: "linux", want one of engine, binding, gvisor`,
		"rtt: [20ms, 20ms]": `my.yaml:2: rtt: 20ms appears twice`,
		"wheel: heap":       `my.yaml:2: wheel: "heap", want one of `,
		"reorder: 0.1": `my.yaml:2: reorder: 0.1 without reorder_by, ` +
			`want a time by which packets are late`,
		"timers: linux@1ms\ntick: 10ms":    `my.yaml:3: tick: timers "linux@1ms" set it, too: want it in one place`,
		"timers: linux floor=1s\nfloor: 0": `my.yaml:3: floor: timers "linux floor=1s" set it, too: want it in one place`,
		"warmup: 200":                      `my.yaml:2: warmup: 200 of 200 objects, want fewer than there are`,
		"subject: gvisor\nworkload: stop-and-wait": `my.yaml:2: stop-and-wait of subject gvisor, want subject engine: ` +
			`others do not report ACKs`,
		"jitter: 100ms": `my.yaml:2: sim: jitter 100ms, want 0s to 25ms (with timers=per-segment@1ms)`,
		"timers: bsd\nrtt_tick: 0s": `my.yaml:3: rtt_tick: 0s for timers "bsd": tcptimers: policy "bsd rtt-tick=0s": ` +
			`tcptimers: rtt-tick 0s, want 1µs to `,
		"seeds: 1000\nrtt: [1ms, 2ms, 3ms, 4ms, 5ms]\nflows: [1, 2, 3, 4, 5]": `my.yaml:2: 200000 cells, all lists ` +
			`crossed times 1000 ` +
			`seeds, want at most 100000: shorten lists, or split the plan`,
		"bytes: 1000000000\nflows: 50\nworkload: bulk": `my.yaml:3: a cell of 34530400 segments, which takes about 138 s, ` +
			`want at most 30 s: lower flows, objects or bytes`,
		"objects: 10000\nflows: 10\nseeds: 100": `my.yaml:2: 80000000 objects in all cells, want at most 20000000: `,
	} {
		if _, err := open(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("plan %q:\n got %v\nwant %s", text, err, want)
		}
	}
}

// TestCrossing: all lists are crossed, but for what says nothing to a sender.
func TestCrossing(t *testing.T) {
	j, err := open("subject: [engine, binding, gvisor]\ntimers: [linux, bsd]\ntick: [1ms, 10ms]\nrtt: [10ms, " +
		"20ms]\nwheel: [scheme6, scheme7]\nseeds: 2")
	if err != nil {
		t.Fatal(err)
	}
	// Under each of two round trips: the engine with 2 timers, 2 ticks and 2 wheels, the binding
	// without wheels, gVisor once.
	if want := 2 * (8 + 4 + 1) * 2; len(j.Cells) != want {
		t.Errorf("%d cells, want %d", len(j.Cells), want)
	}
	if got, want := j.Cells[0].Name, "timers=engine linux@1ms scheme6 rtt=10ms seed=1"; got != want {
		t.Errorf("the first cell is %q, want %q", got, want)
	}
	if got, want := j.Cells[len(j.Cells)-1].Name, "timers=gvisor's own rtt=20ms seed=2"; got != want {
		t.Errorf("the last cell is %q, want %q", got, want)
	}
}

// TestTheSameTimersDoTheSame: the tick that a policy has anyway makes no difference, nor does the
// scheme of the wheel.
func TestTheSameTimersDoTheSame(t *testing.T) {
	out := run(t, "my.yaml", `study: sweep
timers: [linux, linux@4ms, bsd]
wheel: [scheme6, scheme7]
loss: "fates:0.05"
objects: 40
seeds: 2
`, false)
	for _, table := range out.Tables {
		if table.Name != "differences" {
			continue
		}
		for _, row := range table.Rows {
			if sender := row[0].(string); strings.Contains(sender, "bsd") != (row[4] != 1.0) {
				t.Errorf("%s is %v times as long as the first", sender, row[4])
			}
		}
	}
	times := out.Tables[0]
	if times.Name != "times" || len(times.Rows) != 6 || slices.Contains(times.Columns, "where") {
		t.Errorf("table %s of %d rows has the columns %v", times.Name, len(times.Rows), times.Columns)
	}
}

// TestFigures: what is drawn follows from the lists with several values.
func TestFigures(t *testing.T) {
	const common = "study: sweep\nobjects: 10\nwarmup: 1\nseeds: 2\nloss: \"tail:1\"\ntimers: [linux, bsd]\n"
	for text, want := range map[string]string{
		"":                         "mean:2 bars p99:2 bars",
		"tick: [1ms, 10ms, 100ms]": "mean-by-tick:2 line p99-by-tick:2 line",
		"tick: [1ms, 10ms]\nsubject: [engine, gvisor]": "mean-by-tick:3 line p99-by-tick:3 line",
		"workload: [tail, request-response]":           "mean:2 bars p99:2 bars",
		"rtt: [10ms, 20ms, 200ms]\nworkload: [tail, web]": "mean-by-rtt-1:2 line mean-by-rtt-2:2 line " +
			"p99-by-rtt-1:2 line p99-by-rtt-2:2 line",
		"rtt: [10ms, 20ms, 200ms]\nloss: [none, \"tail:2\"]": "mean-by-rtt-1:2 line mean-by-rtt-2:2 line " +
			"p99-by-rtt-1:2 line p99-by-rtt-2:2 line",
	} {
		var got []string
		if strings.Contains(text, "loss") {
			text = strings.Replace(common, "loss: \"tail:1\"\n", "", 1) + text
		} else {
			text = common + text
		}
		for _, f := range run(t, "my.yaml", text, false).Figures {
			n := len(f.Series)
			if f.Series[0].Kind == "bars" && n == 1 {
				n = len(f.Series[0].X)
			}
			got = append(got, fmt.Sprintf("%s:%d %s", f.Name, n, f.Series[0].Kind))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("plan\n%s\nis drawn as %s\nwant %s", text, got, want)
		}
	}
}

// TestSeveralParameters crosses two numeric lists and two losses: panels of one scale, intervals
// where seeds differ, and a warning of the limit.
func TestSeveralParameters(t *testing.T) {
	out := run(t, "my.yaml", "study: sweep\ntimers: [per-segment, bsd]\ntick: [1ms, 10ms, 100ms]\nrtt: [10ms, "+
		"50ms]\nloss: [fates:0.02, fates:0.1]\n"+
		"objects: 20\nthink: 10ms\nseeds: 3\nlimit: 3s\n", false)
	var mean []string
	for _, f := range out.Figures {
		if strings.HasPrefix(f.Name, "mean-by-") {
			mean = append(mean, fmt.Sprint(f.Y.Log, f.Y.Lo, f.Y.Hi))
			for _, s := range f.Series {
				if len(s.Lo) == 0 && !s.Dashed && f.Y.Lo > 0 == f.Y.Log {
					t.Errorf("%s: %s has no intervals", f.Title, s.Name)
				}
			}
		}
	}
	if len(mean) != 4 || len(slices.Compact(mean)) != 1 {
		t.Errorf("the axes of the panels are %q, want four of one scale", mean)
	}
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "hit the limit of 3s: ") ||
		!strings.Contains(out.Warnings[0], "bsd") {
		t.Errorf("warnings %q, want that the limit was hit", out.Warnings)
	}
	for i := range out.Figures {
		if err := out.Figures[i].Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestManyRowsAreData: beyond what a page can show, tables are for programs, and winners are
// counted.
func TestManyRowsAreData(t *testing.T) {
	out := run(t, "my.yaml", "study: sweep\nobjects: 6\nwarmup: 1\nseeds: 1\ntimers: [linux, bsd, rfc6298]\nrtt: "+
		"[1ms, 2ms, 3ms, 4ms]\nrate: [1Mbit, 2Mbit, 3Mbit, none]\n", false)
	for _, table := range out.Tables {
		if table.Data != (table.Name != "best") {
			t.Errorf("table %s of %d rows: data is %v", table.Name, len(table.Rows), table.Data)
		}
	}
	if len(out.Notes) == 0 || !strings.Contains(out.Notes[0], "48 combinations") {
		t.Errorf("notes %q", out.Notes)
	}
}

// TestKernelWork: the kernel takes of a plan what it can, and no more than takes a while.
func TestKernelWork(t *testing.T) {
	f, err := plan.Parse("my.yaml", []byte("study: sweep\nrtt: [10ms, 20ms]\nflows: [1, 2]\nworkload: [tail, "+
		"stop-and-wait]\ntimers: [linux, bsd]\nobjects: 10000\nthink: 1s"))
	if err != nil {
		t.Fatal(err)
	}
	p := new(Plan)
	own, _ := plan.Parse("plan.yaml", []byte(Study.Plan()))
	for _, source := range []*plan.File{own, f} {
		if err := source.Decode(p, false); err != nil {
			t.Fatal(err)
		}
	}
	work := kernelWork(p)
	if len(work) != 2 {
		t.Fatalf("%d conditions, want two: one flow, and not stop-and-wait", len(work))
	}
	if s := p.kernelSpec(work[1], 2); s.Work.Objects != 5+9 || s.Timers.Text != "linux" || s.Seed != 2 || s.Flows != 1 {
		t.Errorf("spec %+v", s)
	}
	out, err := kernel(t.Context(), &Plan{Seeds: 1, Subject: []string{"engine"}, Timers: p.Timers, Peer: p.Peer,
		RTT: p.RTT, Rate: p.Rate, Queue: p.Queue,
		Jitter: p.Jitter, Reorder: p.Reorder, Loss: p.Loss, AckLoss: p.AckLoss, Workload: []string{"tail"},
		Bytes: p.Bytes, Flows: []int{2}})
	if err != nil || len(out.Tables) != 0 || len(out.Notes) != 1 {
		t.Errorf("of a plan without work for the kernel: %+v, %v", out, err)
	}
}
