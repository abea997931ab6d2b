package wheelbench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/wheel"
)

// Runtime is the name of the Go runtime's timers among the schemes.
const Runtime = "runtime"

// Options say what to measure. The zero value of each field stands for its default.
type Options struct {
	Schemes   []string      // names of Schemes, all by default
	Workloads []string      // names of Workloads, all by default
	N         []int         // numbers of timers, 1 to 2^27; 10^3 and 10^6 by default
	Slots     int           // wheel.Config.Slots, the scheme's own default by default
	Tick      time.Duration // wheel.Config.Tick, 1 ms by default
	Rounds    int           // rounds of which the median is taken, 1 to 1000, 3 by default
	Seed      uint64        // of the random numbers, 1 by default

	// Budget is for how long the operations of a cell are timed, all its rounds together: 200 ms by default. To set
	// up a round, and to do one pass of a workload that consists of passes, a cell may take twenty times as long; one
	// that needs longer is skipped.
	Budget time.Duration
	giveUp time.Duration // what setting up may take, for tests that must not depend on how busy the machine is

	// Progress, if there is one, is called before each step: done of total are finished, and what is next.
	Progress func(done, total int, what string)
}

const (
	maxN      = 1 << 27
	maxRounds = 1000
)

// Schemes returns the names of all schemes that can be measured: those of package wheel, and Runtime as the last.
func Schemes() []string {
	names := slices.DeleteFunc(wheel.Schemes(), func(s string) bool { return s == Runtime })
	return append(names, Runtime)
}

// Check returns an error that names the field, the value and the bound of what Run would not accept.
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
	// What no scheme takes is an error; what some do not take is the reason why their cells are skipped.
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
