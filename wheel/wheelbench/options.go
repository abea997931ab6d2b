package wheelbench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/wheel"
)

// Options are the parameters of Run. A zero field means its default.
type Options struct {
	Schemes   []string      // names of Schemes; default: all
	Workloads []string      // names of Workloads; default: all
	N         []int         // numbers of timers, 1 to 2^27; default: 10^3 and 10^6
	Slots     int           // wheel.Config.Slots; default: that of the scheme
	Tick      time.Duration // wheel.Config.Tick; default: 1 ms
	Rounds    int           // rounds to take the median of, 1 to 1000; default: 3
	Seed      uint64        // seed of the random numbers; default: 1

	// Budget is the time for the timed operations of a cell, all rounds together: 1 ms to 1 h,
	// default 200 ms. Setting up a round, and one pass of a workload that consists of passes, may
	// take twenty times as long. A cell that needs longer is skipped.
	Budget time.Duration
	giveUp time.Duration // limit on setting up, which tests raise

	// Progress, if not nil, is called before each step. done of total steps are finished, and
	// what is the next.
	Progress func(done, total int, what string)
}

const (
	maxN      = 1 << 27
	maxRounds = 1000
)

// Schemes returns the names of all schemes that Run measures: those of package wheel, then Runtime.
func Schemes() []string {
	names := slices.DeleteFunc(wheel.Schemes(), func(s string) bool { return s == Runtime })
	return append(names, Runtime)
}

// Check returns an error that names the first field that Run would refuse, its value and its
// bounds.
func (o Options) Check() error {
	_, err := o.complete()
	return err
}

// complete returns o with the defaults filled in.
func (o Options) complete() (Options, error) {
	if len(o.Schemes) == 0 {
		o.Schemes = Schemes()
	}
	for _, s := range o.Schemes {
		if !slices.Contains(Schemes(), s) {
			return o, fmt.Errorf("wheelbench: unknown scheme %q, want one of %s", s, strings.Join(Schemes(), ", "))
		}
	}
	if len(o.Workloads) == 0 {
		o.Workloads = workloadNames()
	}
	for _, w := range o.Workloads {
		if findWorkload(w) == nil {
			return o, fmt.Errorf("wheelbench: unknown workload %q, want one of %s", w, strings.Join(workloadNames(), ", "))
		}
	}
	if len(o.N) == 0 {
		o.N = []int{1e3, 1e6}
	}
	for _, n := range o.N {
		if n < 1 || n > maxN {
			return o, fmt.Errorf("wheelbench: n %d, want 1 to %d", n, maxN)
		}
	}
	// A value that no scheme accepts is an error. One that some schemes refuse skips their cells.
	if _, err := wheel.New(wheel.Schemes()[0], wheel.Config{Slots: o.Slots, Tick: o.Tick}); err != nil {
		return o, err
	}
	if o.Tick == 0 {
		o.Tick = time.Millisecond
	}
	if o.Rounds == 0 {
		o.Rounds = 3
	}
	if o.Rounds < 1 || o.Rounds > maxRounds {
		return o, fmt.Errorf("wheelbench: rounds %d, want 1 to %d", o.Rounds, maxRounds)
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Budget == 0 {
		o.Budget = 200 * time.Millisecond
	}
	if o.Budget < time.Millisecond || o.Budget > time.Hour {
		return o, fmt.Errorf("wheelbench: budget %v, want 1ms to 1h", o.Budget)
	}
	if o.giveUp == 0 {
		o.giveUp = 20 * o.Budget
	}
	return o, nil
}
