package replay

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// TestResamples: the bounds of an interval differ between draws by less than 2 % of its width.
func TestResamples(t *testing.T) {
	const seeds = 20
	r := rand.New(rand.NewPCG(3, 4))
	for _, losses := range []int{10, 50} {
		var saved []saving
		for range losses {
			saved = append(saved, always(time.Duration(1e8*(r.ExpFloat64()-0.3)))) // skewed, as savings are
		}
		var lows []float64
		mean, width, squares := 0.0, 0.0, 0.0
		for seed := range uint64(seeds) {
			drawn, _ := draw(saved, resamples, rand.New(rand.NewPCG(seed, 2)))
			slices.Sort(drawn)
			low, high := drawn[outside], drawn[resamples-1-outside]
			lows, mean, width = append(lows, low.Seconds()), mean+low.Seconds()/seeds, width+(high-low).Seconds()/seeds
		}
		for _, x := range lows {
			squares += (x - mean) * (x - mean) / (seeds - 1)
		}
		if off := math.Sqrt(squares) / width; off > 0.02 || off == 0 {
			t.Errorf("%d losses: a bound is off by %.1f %% of the width (one standard deviation), want 2 %% at most", losses, 100*off)
		}
	}
}

// always is what a loss saves that fares alike by each key.
func always(d time.Duration) saving {
	return saving{[Keys]time.Duration{d, d, d}, [Keys]time.Duration{d, d, d}}
}

// TestTickShifts: all waits move together. At one place the sum moves by all; spread evenly,
// they cancel out.
func TestTickShifts(t *testing.T) {
	const tick = 500 * time.Millisecond
	same, even, acks := make([]tickWait, 8), make([]tickWait, 8), make([]tickWait, 8)
	for i := range same {
		same[i].beyond, even[i].beyond, acks[i].sooner = 100*time.Millisecond, time.Duration(i)*tick/8, tick/2
	}
	for _, test := range []struct {
		waits []tickWait
		want  time.Duration // between the least and the most
	}{{same, 8 * tick}, {even, tick}, {acks, 4 * tick}, {nil, 0}} {
		later := tickShifts(test.waits, tick)
		least, most := slices.Min(later[:]), slices.Max(later[:])
		if off := test.want - (most - least); off < 0 || off > test.want/25 {
			t.Errorf("%v: %v to %v, want %v between them", test.waits, least, most, test.want)
		}
		if later[0] != 0 && (len(test.waits) == 0 || test.waits[0].sooner == 0) {
			t.Errorf("%v: the phase as it is costs %v", test.waits, later[0])
		}
	}
}

// TestLostAgain compares what repairs cost that are lost by chance with a draw for each.
func TestLostAgain(t *testing.T) {
	const n = 400_000
	rng := rand.New(rand.NewPCG(3, 4))
	for _, x := range []lostAgain{{200 * time.Millisecond, time.Minute, 0.1}, {time.Second, 5 * time.Second, 0.5}, {time.Second, time.Minute, 0.001}} {
		draws := make([]time.Duration, n)
		x.cost(draws, rng)
		hit, mean, hitTwin, twin := 0, 0.0, 0, 0.0
		for i := range draws {
			hit += count(draws[i] != 0)
			mean -= draws[i].Seconds() / n
			longer, wait := time.Duration(0), x.waited
			for k := 0; k < mostAgain && rng.Float64() < x.chance; k++ {
				wait = min(2*wait, x.longest)
				longer += wait
			}
			hitTwin += count(longer != 0)
			twin += longer.Seconds() / n
		}
		if math.Abs(mean-twin) > 0.1*twin || math.Abs(float64(hit-hitTwin)) > 5*math.Sqrt(float64(hitTwin)) {
			t.Errorf("%+v: %d draws are hit, mean %.4f s, want %d, %.4f s", x, hit, mean, hitTwin, twin)
		}
	}
}

// TestInterval: the bounds hold what the capture does not show. Ticks widen them on both sides,
// repairs that may be lost only below, and losses that fare otherwise by another key to that side.
func TestInterval(t *testing.T) {
	files := slices.Repeat([][]saving{{always(time.Second)}}, 5)
	less, more := slices.Clone(files), slices.Clone(files)
	for i := range files {
		x, y := always(time.Second), always(time.Second)
		x.least[ByTime], y.most[ByIndex] = -time.Second, time.Minute
		less[i], more[i] = []saving{x}, []saving{y}
	}
	plain := savings{files: files}
	host := netip.MustParseAddr("192.0.2.1")
	ticks := savings{files: files, tick: time.Second / 2, waits: map[netip.Addr][]tickWait{host: {{beyond: time.Second / 4}, {beyond: time.Second / 4}}}}
	again := savings{files: files, again: []lostAgain{{time.Second, time.Minute, 0.1}}}
	for _, test := range []struct {
		what      string
		savings   savings
		low, high time.Duration // at least, at most
	}{{"plain", plain, 5 * time.Second, 5 * time.Second}, {"ticks", ticks, 4515 * time.Millisecond, 5490 * time.Millisecond}, {"again", again, -time.Second, 5 * time.Second},
		{"less by another key", savings{files: less}, -3 * time.Second, 5 * time.Second},
		{"more by another key", savings{files: more}, 5 * time.Second, 241 * time.Second}} {
		low, _, high, ok := test.savings.interval()
		if off := low - test.low; !ok || off.Abs() > 10*time.Millisecond || (high-test.high).Abs() > 10*time.Millisecond {
			t.Errorf("%s: %v to %v, want %v to %v", test.what, low, high, test.low, test.high)
		}
	}
}

// TestUnits: captures are drawn, or losses if there are few captures.
func TestUnits(t *testing.T) {
	for _, test := range []struct{ files, losses, want int }{{6, 4, 6}, {5, 1, 5}, {4, 4, 16}, {1, 3, 3}, {1, 2500, 834}} {
		var s savings
		for range test.files {
			s.files = append(s.files, slices.Repeat([]saving{always(time.Second)}, test.losses))
		}
		units, sum := s.units(), saving{}
		for i := range units {
			sum.add(&units[i])
		}
		if all := test.files * test.losses; len(units) != test.want || sum.least[ByRange] != time.Duration(all)*time.Second {
			t.Errorf("%+v: %d units that save %v, want %d that save %d s", test, len(units), sum.least[ByRange], test.want, all)
		}
	}
}
