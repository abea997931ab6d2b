package granularity

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/wheel/stat"
)

// tiny is a plan that runs in a moment.
const tiny = `study: granularity
rtt: 20ms
responses: 10
writes: 20
transfer: 20000
transfers: 1
crossed: 20ms
ticks: [500ms, 1ms]
floors: [1s, 0s]
delacks: ["heartbeat:200ms", "off"]
map_rtt: 20ms
gaps: [0.5, 2.5]
losses: 1
times: 1
seeds: 3
`

// TestTiny judges and shows a tiny plan. Its few seeds decide nothing but the arithmetic.
func TestTiny(t *testing.T) {
	cells, out := studytest.RunAltered[Cell](t, Study, tiny, nil)
	studytest.Check(t, out)
	studytest.Want(t, out, experiments.Reproduced, "sum")
	studytest.Want(t, out, experiments.NotApplicable, "clocks-100ms", "segment-100ms")
	studytest.Want(t, out, experiments.TooFew, "floor-first")
	if len(out.Figures) != 1 || len(out.Figures[0].Series) != 5 || len(out.Warnings) != 0 {
		t.Errorf("%d figures, warnings %v", len(out.Figures), out.Warnings)
	}
	for _, c := range cells {
		for _, runs := range c.Runs {
			for _, r := range runs {
				if r.Unfinished > 0 || r.Mean <= 0 || r.Operations == 0 {
					t.Fatalf("%+v, want all objects complete", r)
				}
			}
		}
	}
}

// TestSpoilt makes all settings alike: no change buys anything, and the laws do not hold.
func TestSpoilt(t *testing.T) {
	_, out := studytest.RunAltered(t, Study, tiny, func(c *Cell) {
		for _, runs := range c.Runs {
			for i := range runs {
				runs[i].Mean, runs[i].Waited = 10*time.Millisecond, 100*time.Millisecond
			}
		}
	})
	studytest.Want(t, out, experiments.NotReproduced, "tick-alone", "floor-alone", "both", "recovery", "clocks",
		"map-old", "restart-adds", "lwip")
	studytest.Want(t, out, experiments.Reproduced, "sum", "map-today", "segment")
}

func TestSettings(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	ends := p.ends()
	slices.SortFunc(ends, func(a, b Setting) int {
		return slices.Compare([]byte(a.sender()+a.receiver()), []byte(b.sender()+b.receiver()))
	})
	if n := len(slices.Compact(ends)); n != 96 {
		t.Errorf("%d settings of ends, want 2^5 under each of 3 recoveries", n)
	}
	if n := len(p.levels()); n != 2*(3+1+1+1) {
		t.Errorf("%d settings in between, want 12", n)
	}
	if n := len(p.all()); n != 5*3*2*3*3*3 {
		t.Errorf("%d settings crossed, want 810", n)
	}
	at := randomAt(20 * time.Millisecond)
	for _, s := range append(p.all(), p.levels()...) {
		spec := p.spec(&at, &s, 1)
		if err := spec.Check(); err != nil {
			t.Fatal(err)
		}
		if first := p.set(0); spec.Segments() != p.spec(&at, &first, 1).Segments() {
			t.Errorf("%+v cuts the stream into other segments", s)
		}
	}
	studytest.WantRefused(t, Study, map[string]string{
		"ticks: 1ms":   "want an old end and a new one",
		"delacks: [a]": `delack "a", want off`,
		"stacks: [a]":  `stacks: tcptimers: unknown policy "a", want one of`,
	})
}

// TestSlowest keeps what the quantile over all seeds needs, even if all slow objects are of one.
func TestSlowest(t *testing.T) {
	for _, n := range []int{1, 60, 99, 100, 101, 1200, 12345} {
		times := make([]time.Duration, n)
		for i := range times {
			times[i] = time.Duration(i+1) * time.Millisecond
		}
		row := Row{Run: Run{Objects: n, Slowest: times[n-slowest(n):]}}
		if got, want := p99([]Row{row}), stat.Quantile(times, 0.99)/1e6; got != want {
			t.Errorf("%d objects: p99 %v, want %v", n, got, want)
		}
	}
}

// TestSumOfShares: what the factors buy adds up to the difference of the ends, in percent of the
// old one.
func TestSumOfShares(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	p.Seeds = 2
	at := randomAt(time.Millisecond)
	var rows []Row
	x := 1.0
	for _, s := range p.ends() {
		for _, seed := range p.seeds() {
			x = math.Mod(x*997+float64(seed), 1009)
			rows = append(rows, Row{Seed: seed, Place: at, Setting: s, Run: Run{Mean: time.Duration(1e6 * (1 + x))}})
		}
	}
	table, sum := tableOf(p, rows), 0.0
	for _, s := range table.shares(at, 6, p.set) {
		sum += s.Value.Value
	}
	if whole := table.gain(at, p.set(0), p.set(63), meanTime).Value; math.Abs(sum-whole) > 1e-9 {
		t.Errorf("the factors buy %v %%, the whole is %v %%", sum, whole)
	}
}

// TestKernel runs the live part with few seeds of the plan: it compares three subjects.
func TestKernel(t *testing.T) {
	if os.Getenv("TCPWHEEL_LONG") == "" {
		t.Skip("half a minute: set TCPWHEEL_LONG=1")
	}
	out := studytest.Live(t, Study, "kernel", tiny)
	if len(out.Tables) != 1 || len(out.Tables[0].Rows) != 13 || len(out.Notes) != 1 {
		t.Errorf("%+v", out)
	}
}
