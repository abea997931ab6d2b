package wheelbench

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// long is whether tests run in full: see CONTRIBUTING.md.
var long = os.Getenv("TCPWHEEL_LONG") != ""

func run(t *testing.T, o Options) (results []Result) {
	t.Helper()
	for r, err := range Run(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	return results
}

// Every scheme runs every workload without allocating, and its counts are those of the workload.
func TestEverySchemeUnderEveryWorkload(t *testing.T) {
	const n = 200
	o := Options{N: []int{n}, Budget: 2 * time.Millisecond, Rounds: 1, giveUp: time.Minute}
	if long {
		o.Budget, o.Rounds = 4*time.Millisecond, 2
	}
	results := run(t, o)
	if want := len(Schemes()) * len(Workloads()); len(results) != want {
		t.Errorf("%d results, want %d", len(results), want)
	}
	for _, r := range results {
		if r.Scheme == Runtime && r.Workload == "expire" {
			if !strings.Contains(r.Skipped, "the clock is measured") {
				t.Errorf("%s %s: skipped %q, want that the clock is measured", r.Scheme, r.Workload, r.Skipped)
			}
			continue
		}
		if r.Scheme == Runtime && findWorkload(r.Workload).rivals[Runtime] == nil {
			if !strings.Contains(r.Skipped, "virtual time") {
				t.Errorf("%s %s: skipped %q, want that the workload runs in virtual time", r.Scheme, r.Workload, r.Skipped)
			}
			continue
		}
		if r.Figures == nil {
			t.Errorf("%s %s: skipped: %s", r.Scheme, r.Workload, r.Skipped)
			continue
		}
		f := r.Figures
		if f.Ops < 1 || f.NsPerOp <= 0 || f.NsLow > f.NsPerOp || f.NsPerOp > f.NsHigh {
			t.Errorf("%s %s: %d ops, %v ns/op of %v to %v", r.Scheme, r.Workload, f.Ops, f.NsPerOp, f.NsLow, f.NsHigh)
		}
		if f.BytesPerTimer < 8 || f.BytesPerTimer > 1<<20 {
			t.Errorf("%s %s: %v bytes per timer", r.Scheme, r.Workload, f.BytesPerTimer)
		}
		if findWorkload(r.Workload).rivals[Runtime] != nil && r.Workload != "expire" && f.RuntimeRatio == 0 {
			t.Errorf("%s %s: no ratio to the runtime", r.Scheme, r.Workload)
		}
		// A few allocations are those of other goroutines of the test binary.
		if allocs := f.AllocsPerOp * float64(f.Ops); r.Scheme != Runtime && allocs > 0.05*float64(f.Ops)+20 {
			t.Errorf("%s %s: %v allocations in %d operations, want 0", r.Scheme, r.Workload, allocs, f.Ops)
		}
		if r.Scheme == Runtime {
			if f.Counts != nil {
				t.Errorf("%s %s: has counts", r.Scheme, r.Workload)
			}
			continue
		}
		if f.Counts == nil {
			t.Errorf("%s %s: no counts", r.Scheme, r.Workload)
			continue
		}
		got := [...]uint64{uint64(f.CountedOps), f.Counts.Starts, f.Counts.Stops, f.Counts.Expiries}
		want := map[string][4]uint64{
			"start-stop": {10_000, 10_000, 10_000, 0},
			"rearm":      {10_000, 10_000, 0, 0},
			"expire":     {n, n, 0, n},
		}[r.Workload]
		if want != [4]uint64{} && got != want {
			t.Errorf("%s %s: ops, starts, stops and expiries counted = %d, want %d", r.Scheme, r.Workload, got, want)
		}
	}
}

// Table II of the paper: Scheme 1 starts and stops without looking at a record, and looks at all
// of them on each tick. Counts are exact.
func TestCountsOfScheme1(t *testing.T) {
	for _, n := range []int{10, 100} {
		o := Options{Schemes: []string{"scheme1"}, Workloads: []string{"start-stop", "rearm"}, N: []int{n},
			Budget: time.Millisecond, Rounds: 1, giveUp: time.Minute}
		for _, r := range run(t, o) {
			want := map[string]float64{"start-stop": 0, "rearm": 0}
			if visits, ok := r.VisitsPerOp(); !ok || visits != want[r.Workload] {
				t.Errorf("%s, n = %d: %v visits per operation, counted %v, want %v", r.Workload, n, visits, ok,
					want[r.Workload])
			}
		}
	}
}

func TestCountsAreTheSameInEveryRun(t *testing.T) {
	o := Options{Schemes: []string{"scheme1"}, Workloads: []string{"expire"}, N: []int{100},
		Budget: time.Millisecond, Rounds: 1, giveUp: time.Minute}
	first, again := run(t, o)[0], run(t, o)[0]
	if *first.Counts != *again.Counts {
		t.Errorf("counts %+v, then %+v", *first.Counts, *again.Counts)
	}
	o.Seed = 2
	if other := run(t, o)[0]; *first.Counts == *other.Counts {
		t.Errorf("another seed gives the same counts %+v", *other.Counts)
	}
}

// START, STOP and Advance of the facility do not allocate under any workload.
func TestNoAllocation(t *testing.T) {
	if !long {
		t.Skip("long: set TCPWHEEL_LONG=1")
	}
	o := Options{Schemes: wheel.Schemes(), N: []int{300}, Budget: 10 * time.Millisecond, Rounds: 1, giveUp: time.Minute}
	for _, r := range run(t, o) {
		// Other goroutines of the test binary may allocate a little.
		if r.Scheme != Runtime && r.AllocsPerOp > 0.05 {
			t.Errorf("%s %s: %v allocations per operation, want 0", r.Scheme, r.Workload, r.AllocsPerOp)
		}
	}
}

func TestTheRuntimeExpires(t *testing.T) {
	o := Options{Schemes: []string{Runtime}, Workloads: []string{"expire"}, N: []int{100_000}, Rounds: 1, Budget: time.Millisecond, giveUp: time.Minute}
	r := run(t, o)[0]
	if r.Figures == nil || r.Ops%100_000 != 0 {
		t.Fatalf("got %+v, want whole passes of 100,000", r)
	}
}

// A cell that exceeds the budget is skipped, with the reason.
func TestBudget(t *testing.T) {
	o := Options{Schemes: []string{"scheme1"}, Workloads: []string{"expire"}, N: []int{600_000}, Budget: 5 * time.Millisecond}
	r := run(t, o)[0]
	if r.Figures != nil || !strings.Contains(r.Skipped, "within 100ms") {
		t.Errorf("figures %v, skipped %q, want skipped for what was not done within 100ms", r.Figures, r.Skipped)
	}
}

// A load that is told to stop does at most one more operation.
func TestStopEndsALoad(t *testing.T) {
	for _, w := range workloads {
		o, err := Options{Schemes: []string{"scheme1"}}.complete()
		if err != nil {
			t.Fatal(err)
		}
		c := cell{runner: &runner{Options: o}, workload: w, scheme: "scheme1", n: 600_000}
		l, f, err := c.newLoad(true)
		if err != nil {
			t.Fatal(err)
		}
		c.stop.Store(true)
		if filled := l.fill(); filled || f.Len() > 1 || f.Counts().Starts > 1 {
			t.Errorf("%s: filled %t with %d timers when told to stop, want 1 at most", w.Name, filled, f.Len())
		}
		l.close()
	}
	// A workload of passes does not start another pass, and ends within one tick.
	c := cell{runner: &runner{}, workload: &expire, scheme: "scheme1", n: 1000}
	l, f, err := c.newLoad(true)
	if err != nil || !l.fill() {
		t.Fatal("not filled", err)
	}
	c.stop.Store(true)
	if l.ready() || f.Counts().Wakeups > 1 {
		t.Errorf("expire: %+v when told to stop, want one tick at most", f.Counts())
	}
	f.ResetCounts()
	if done, ok := l.run(1 << 30); ok || done != 0 || f.Counts().Starts > 1 {
		t.Errorf("expire: %d done, %v, %+v when told to stop, want a start at most", done, ok, f.Counts())
	}
}

// A number of timers that could not be started once is not tried under another workload, and
// neither is a larger number.
func TestHopelessIsNotTriedAgain(t *testing.T) {
	o := Options{Schemes: []string{"scheme1"}, Workloads: []string{"start-stop", "rearm"},
		N: []int{6_000_000, 100, 7_000_000}, Budget: time.Millisecond, Rounds: 1}
	var tried int
	o.Progress = func(int, int, string) { tried++ }
	results := run(t, o)
	for range 5 {
		if !slices.ContainsFunc(results, func(r Result) bool { return r.N == 100 && strings.Contains(r.Skipped, "within") }) {
			break
		}
		tried, results = 0, run(t, o) // the machine was busy
	}
	for _, r := range results {
		if skipped := r.Skipped != ""; skipped != (r.N > 100) {
			t.Errorf("%s, n = %d: skipped %q", r.Workload, r.N, r.Skipped)
		}
		if again := strings.Contains(r.Skipped, "before"); again != (r.N > 100 && (r.Workload != "start-stop" || r.N > 6_000_000)) {
			t.Errorf("%s, n = %d: skipped %q", r.Workload, r.N, r.Skipped)
		}
	}
	if want := 3 * 2 * 2; tried != want {
		t.Errorf("%d calls of Progress, want %d", tried, want)
	}
}

func TestSchemesThatDoNotTakeTheSlots(t *testing.T) {
	c := cell{runner: &runner{Options: Options{Slots: 3}}, workload: &rearm, scheme: "scheme1", n: 1}
	c.round(t.Context())
	if !strings.Contains(c.skipped, "power of two: 3") {
		t.Errorf("skipped %q, want the error of wheel.New", c.skipped)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Schemes: []string{"scheme1"}, Workloads: []string{"expire"}, N: []int{1e5}, Budget: time.Hour}
	o.Progress = func(int, int, string) { time.AfterFunc(10*time.Millisecond, cancel) }
	for _, err := range Run(ctx, o) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want %v", err, context.Canceled)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{}, ""},
		{Options{Schemes: []string{"scheme1", "scheme0"}}, `unknown scheme "scheme0", want one of scheme1`},
		{Options{Workloads: []string{"idle"}}, `unknown workload "idle", want one of start-stop, rearm`},
		{Options{N: []int{1000, 0}}, "n 0, want 1 to 134217728"},
		{Options{N: []int{1 << 28}}, "n 268435456, want 1 to 134217728"},
		{Options{Slots: 1000}, "slots must be a power of two: 1000"},
		{Options{Tick: -1}, "tick -1ns, want"},
		{Options{Rounds: 1001}, "rounds 1001, want 1 to 1000"},
		{Options{Budget: time.Microsecond}, "budget 1µs, want 1ms to 1h"},
	} {
		err := test.o.Check()
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%+v: %v", test.o, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%+v: error %v, want %q", test.o, err, test.want)
		}
	}
	for _, err := range Run(t.Context(), Options{N: []int{-1}}) {
		if err == nil {
			t.Error("Run accepts n = -1")
		}
	}
}

func TestSchemes(t *testing.T) {
	names := Schemes()
	if i := slices.Index(names, Runtime); i != len(names)-1 {
		t.Errorf("%q: runtime at %d, want it to be the last and only one", names, i)
	}
}

func TestRandomNumbers(t *testing.T) {
	rng := newWyrand(1)
	const draws, n = 1_000_000, 1000
	var sumInterval, sumBelow float64
	lowest, highest := uint64(math.MaxUint64), uint64(0)
	for range draws {
		r := rng.next()
		d, i := interval(r), below(r, n)
		if i >= n {
			t.Fatalf("below(%#x, %d) = %d", r, n, i)
		}
		lowest, highest = min(lowest, d), max(highest, d)
		sumInterval += float64(d)
		sumBelow += float64(i)
	}
	if lowest != 1 || highest != maxInterval {
		t.Errorf("intervals from %d to %d, want 1 to %d", lowest, highest, maxInterval)
	}
	if mean := sumInterval / draws; math.Abs(mean-(maxInterval+1)/2.0) > 20 {
		t.Errorf("mean interval %v, want about %v", mean, (maxInterval+1)/2.0)
	}
	if mean := sumBelow / draws; math.Abs(mean-(n-1)/2.0) > 2 {
		t.Errorf("mean of the numbers below %d = %v", n, mean)
	}
}

func TestFigures(t *testing.T) {
	f := figures([]sample{
		{ops: 100, took: 900},
		{ops: 10, took: 50, allocs: 33},
		{ops: 1000, took: 7000},
	})
	want := Figures{NsPerOp: 7, NsLow: 5, NsHigh: 9, Ops: 1110, AllocsPerOp: 0.03}
	if *f != want {
		t.Errorf("figures of three = %+v, want %+v", *f, want)
	}
	if f := figures([]sample{{ops: 1, took: 6}, {ops: 1, took: 4}}); f.NsPerOp != 5 {
		t.Errorf("median of two = %v, want 5", f.NsPerOp)
	}
}

var results = []Result{
	{Scheme: "scheme6", Workload: "rearm", N: 1000, Figures: &Figures{NsPerOp: 5.125, NsLow: 5, NsHigh: 5.5, Ops: 1e6,
		BytesPerTimer: 32, RuntimeRatio: 20, CountedOps: 10, Counts: &wheel.Counts{Starts: 10, TickVisits: 5}}},
	{Scheme: "scheme2-with-a-very-long-name", Workload: "rearm", N: 1000, Skipped: "1000 timers " + strings.Repeat("x", 70)},
	{Scheme: "runtime", Workload: "rearm", N: 1000, Figures: &Figures{NsPerOp: 102.5, NsLow: 90, NsHigh: 1900, Ops: 1e5,
		AllocsPerOp: 1, BytesPerTimer: 112.32, GC: 1.1972, RuntimeRatio: 1}},
	{Scheme: "runtime", Workload: "expire", N: 10, Skipped: "the clock"},
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := WriteTable(&b, results); err != nil {
		t.Fatal(err)
	}
	want := `rearm, n = 1000: START of a random one of n timers that run
scheme6 is the fastest, 5.12 ns; Go's timers take 20.0 times that.
scheme                   ns/op   ± % allocs B/timer      GC  visits speed-up
scheme6                   5.12     5      0    32.0       0    0.50     20.0
scheme2-with-a-very… skipped: 1000 timers xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
runtime                    102   883   1.00     112  1.20 s       -     1.00

expire, n = 10: START of n timers, ticks until all have expired; per timer
scheme                   ns/op   ± % allocs B/timer      GC  visits speed-up
runtime              skipped: the clock
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("%d columns, want at most 80: %s", n, line)
		}
	}
}

func TestJSON(t *testing.T) {
	for i, want := range []string{
		`{"scheme":"scheme6","workload":"rearm","n":1000,"ns_per_op":5.125,"ns_low":5,"ns_high":5.5,"ops":1000000,` +
			`"allocs_per_op":0,"bytes_per_timer":32,"gc_s":0,"runtime_ratio":20,"counted_ops":10,"counts":{"starts":10,` +
			`"stops":0,"expiries":0,"start_visits":0,"stop_visits":0,"tick_visits":5,"comparisons":0,"moves":0,` +
			`"migrations":0,"wakeups":0}}`,
		`{"scheme":"scheme2-with-a-very-long-name","workload":"rearm","n":1000,"skipped":"1000 timers ` +
			strings.Repeat("x", 70) + `"}`,
	} {
		got, err := json.Marshal(results[i])
		if err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}
