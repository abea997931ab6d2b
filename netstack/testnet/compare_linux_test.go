package testnet

import (
	"flag"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// processorTime returns the user time of the process.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}

// randomRuns is how many runs TestAgainstRandom compares with a search.
var randomRuns = flag.Int("random", 1000, "random runs of TestAgainstRandom; docs/testing-programs.md has 10,000")

// TestAgainstRandom: random runs at 2 % loss, each failure reduced to the smallest set of losses
// that fails, find no set of one or two losses that the search does not find, under Linux's and
// per-segment timers; under 4.4BSD's, one in a hundred. The figures in docs/testing-programs.md are
// of -random 10000.
func TestAgainstRandom(t *testing.T) {
	if os.Getenv("TCPWHEEL_LONG") == "" {
		t.Skip("TCPWHEEL_LONG is not set")
	}
	for _, policy := range []string{"linux", "per-segment", "bsd"} {
		size := 100_000
		t.Run(policy, func(t *testing.T) {
			begin := processorTime(t)
			var s *search
			t.Run("search", func(t *testing.T) { s = searchFor(t, Search{Policies: []string{policy}}, slowPath, download(size)) })
			searched := processorTime(t) - begin

			path := slowPath
			path.Loss = "2%"
			begin = processorTime(t)
			var random *search
			t.Run("random", func(t *testing.T) {
				random = searchFor(t, Search{Fault: "seed", Policies: []string{policy}, Runs: *randomRuns}, path, download(size))
			})
			swept := processorTime(t) - begin

			found := append(failures(s.singles), failures(s.pairs)...)
			bySize, missed, failed := map[int]int{}, map[string]int{}, 0
			for _, r := range random.singles {
				if !r.failed {
					continue
				}
				failed++
				bySize[len(r.why)]++
				if len(r.why) > 0 && len(r.why) <= 2 && !slices.Contains(found, r.why.String()) {
					missed[r.why.String()]++
				}
			}
			t.Logf("search: %d runs, %v, singles %v and %d pairs fail", len(s.known), searched, failures(s.singles), len(failures(s.pairs)))
			t.Logf("random: %d seeds of %d runs, %v, %d fail; by size of the smallest set %v; missed by the search: %v",
				len(random.singles), len(random.known), swept, failed, bySize, missed)
			seeds := 0
			for _, n := range missed {
				seeds += n
			}
			if policy != "bsd" && seeds > 0 || 100*seeds > max(failed, 100) {
				t.Errorf("the search has not found what %d of %d seeds have", seeds, failed)
			}
		})
	}
}

// TestSearchCost logs what a run of 100 kB takes of a processor: docs/testing-programs.md quotes it.
func TestSearchCost(t *testing.T) {
	if os.Getenv("TCPWHEEL_LONG") == "" {
		t.Skip("TCPWHEEL_LONG is not set")
	}
	begin := processorTime(t)
	s := searchFor(t, Search{}, slowPath, download(100_000))
	t.Logf("user CPU time: %v for each of %d runs of 100 kB", (processorTime(t)-begin)/time.Duration(len(s.known)), len(s.known))
	if len(s.known) != 800 || len(s.singles) != len(s.packets) {
		t.Errorf("%d runs, %d of %d packets lost alone", len(s.known), len(s.singles), len(s.packets))
	}
}
