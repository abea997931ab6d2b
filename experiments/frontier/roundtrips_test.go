package frontier

import (
	"bufio"
	"regexp"
	"strings"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

// TestSeries checks the rule of inclusion on the data, and that it has no address.
func TestSeries(t *testing.T) {
	all, err := allSeries()
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`\b(\d+\.){3}\d+\b|[0-9a-f]+::[0-9a-f]`)
	count, seen := map[string]int{}, map[string]bool{}
	for _, s := range all {
		if len(s.trips) < 25 || len(s.trips) > 1000 {
			t.Errorf("%s: %d round trips, want 25 to 1000", s.source, len(s.trips))
		}
		if s.site == "" || seen[s.source] || address.MatchString(s.source+" "+s.site) {
			t.Errorf("%+v: want a site, a source of its own, and no address", s.source)
		}
		for _, r := range s.trips {
			if r.rtt > time.Minute || r.idle > time.Hour {
				t.Errorf("%s: %+v is no round trip", s.source, r)
			}
		}
		seen[s.source] = true
		count[s.stratum]++
	}
	for _, stratum := range []string{"cloud", "wired", "wifi", "4g", "5g", "ndt"} {
		if count[stratum] < 2 {
			t.Errorf("stratum %s has %d series, want 2 and more", stratum, count[stratum])
		}
		delete(count, stratum)
	}
	if len(count) > 0 {
		t.Errorf("strata that the plan does not know: %v", count)
	}
}

func TestReadSeries(t *testing.T) {
	read := func(text string) ([]series, error) { return readSeries(bufio.NewScanner(strings.NewReader(text))) }
	all, err := read("# comment\n5g\tphone\tfile\t10ms\t3 20+4\n")
	if err != nil || len(all) != 1 || len(all[0].trips) != 2 || all[0].site != "phone" ||
		all[0].trips[1] != (trip{200 * time.Millisecond, 40 * time.Millisecond}) {
		t.Errorf("%+v, %v", all, err)
	}
	for _, text := range []string{"5g\tphone\tfile\t10ms", "5g\tphone\tfile\t1x\t3", "5g\tphone\tfile\t1ms\t3 0",
		"5g\tphone\tfile\t1ms\t-1", "5g\tphone\tfile\t1ms\t1+2+3", "5g\tphone\tfile\t1ms\t99999999999"} {
		if all, err := read(text); err == nil {
			t.Errorf("%q: %v, want an error", text, all)
		}
	}
}

// TestTripsFollow follows 40 round trips of 100 ms. One of them takes 700 ms.
func TestTripsFollow(t *testing.T) {
	const ms = time.Millisecond
	trips := make([]trip, 41)
	for i := range trips {
		trips[i] = trip{30 * ms, 100 * ms}
	}
	trips[30].rtt = 700 * ms
	run := func(c tripsConfig) waits {
		timer := c.timer()
		c.every = max(c.every, 1)
		return c.follow(&timer, 7_000_000, trips)
	}
	// 39 waits of 10 round trips, and one of 1000/700.
	if got := run(tripsConfig{config: standard(time.Second)}); got.Bad != 0 || got.Waits != time.Second ||
		got.Wait < 9.785 || got.Wait > 9.786 {
		t.Errorf("a floor of 1s: %+v", got)
	}
	if got := run(tripsConfig{config: standard(0)}); got.Bad != 2.5 || got.Wait > 5 {
		t.Errorf("no floor: %+v, want one of 40 bad", got)
	}
	// The variation of a steady path falls below any granularity.
	trips[30].rtt = 100 * ms
	if got := run(tripsConfig{config: standard(0), least: 50 * ms}); got.Bad != 0 || got.Bound < 80 {
		t.Errorf("kGranularity of 50ms: %+v, want it to decide", got)
	}
	plain, delayed := run(tripsConfig{config: standard(0), least: ms}),
		run(tripsConfig{config: standard(0), least: ms, delay: 25 * ms})
	if added := delayed.Waits - plain.Waits; added < 24*ms || added > 26*ms {
		t.Errorf("the peer's delay of 25ms adds %v", added)
	}
	// One sample in four converges later.
	all, few := run(tripsConfig{config: standard(0)}), run(tripsConfig{config: standard(0), every: 4})
	if few.Wait <= all.Wait {
		t.Errorf("one sample in four: a wait of %v, with all %v", few.Wait, all.Wait)
	}
}

const fewTrips = "study: roundtrips\nstrata: [4g, 5g, ndt]\nmost: 100\nshuffles: 1\n"

// TestTripsNull checks that the null control fails if an estimator does alike on shuffled series.
func TestTripsNull(t *testing.T) {
	_, out := studytest.RunAltered(t, RoundTrips, fewTrips, func(c *tripsCell) { c.Shuffled = c.Measured })
	studytest.Want(t, out, experiments.NotReproduced, "null")
}

// TestTripsFalsifier checks that estimators without an effect fail the claims.
func TestTripsFalsifier(t *testing.T) {
	_, out := studytest.RunAltered(t, RoundTrips, fewTrips, func(c *tripsCell) {
		for i := range c.Measured {
			c.Measured[i] = waits{Bad: float64(i % 7), Wait: 3 + float64(i%5), Waits: time.Second}
		}
	})
	studytest.Want(t, out, experiments.NotReproduced, "order", "order-next", "fine-ticks", "steps")
}
