package wheelbench

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tcpwheel/wheel"
)

// Workload is a mix of operations on n timers.
type Workload struct {
	Name  string
	About string // what one operation is, in one line

	// runtimeFrom is the least n for which the workload measures the runtime's timers and not the
	// clock.
	runtimeFrom int

	// countOps is the number of operations to count. A workload of passes does one pass instead.
	countOps int

	onWheel func(b base, f wheel.Facility) load
	rivals  map[string]func(b base) load // by name: Runtime, if it can run it
	tick    time.Duration                // if not 0, replaces Options.Tick
}

// load is a workload on one facility. One goroutine calls its methods, in the order make, fill,
// ready, run, close.
type load interface {
	// fill starts the timers that must run before the first operation. It is not timed. It
	// returns false if it was told to stop.
	fill() bool

	// ready brings the timers from the state after fill, where space is measured, to the state
	// where operations begin. It is not timed either, and returns false if it was told to stop.
	ready() bool

	// run does ops operations, or more where only whole passes make sense, and returns how many
	// it did. A long run checks at least once a tick whether it was told to stop. It then ends,
	// and returns false if it spent time on work that done does not include.
	run(ops int) (done int, ok bool)

	// close stops what would live on.
	close()

	// own returns how many bytes of the heap belong to the load and not to the facility.
	own() int
}

// base is the common part of all loads.
type base struct {
	n    int
	tick time.Duration
	rng  wyrand
	stop *atomic.Bool // true: stop
}

func (b *base) ready() bool { return true }
func (b *base) close()      {}
func (b *base) own() int    { return 0 }

// workloads lists all workloads. A new one is a file of its own and a line here.
var workloads = []*Workload{
	&startStop,
	&rearm,
	&expire,
	&ratas,
}

// Workloads returns all workloads.
func Workloads() []*Workload { return slices.Clone(workloads) }

func workloadNames() (names []string) {
	for _, w := range workloads {
		names = append(names, w.Name)
	}
	return names
}

func findWorkload(name string) *Workload {
	for _, w := range workloads {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// wheelBase is the common part of loads on a facility of package wheel. Timer i has the number
// first+i, so that a load finds it without a look-up: a connection has its handle at hand as
// well.
type wheelBase struct {
	base
	f     wheel.Facility
	first wheel.Timer
}

// make makes count timer records. It returns false if it was told to stop.
func (b *wheelBase) make(count int) bool {
	b.f.Reserve(count)
	for i := range count {
		t := b.f.New(uint64(i))
		if i == 0 {
			b.first = t
		}
		if t != b.first+wheel.Timer(i) {
			panic(fmt.Sprintf("BUG: wheelbench: %s numbers its timers %d, ..., %d", b.f.Scheme(), b.first, t))
		}
		if b.stop.Load() {
			return false
		}
	}
	return true
}

// startAll starts the first n timers with random intervals. It returns false if it was told to
// stop.
func (b *wheelBase) startAll() bool {
	now, rng := b.f.Now(), b.rng
	for i := range b.n {
		b.f.Schedule(b.first+wheel.Timer(i), now+wheel.Time(interval(rng.next()))*wheel.Time(b.tick))
		if b.stop.Load() {
			return false
		}
	}
	b.rng = rng
	return true
}
