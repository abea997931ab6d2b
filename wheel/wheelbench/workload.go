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

	// The number of timers from which the runtime's timers can be measured under it.
	runtimeFrom int

	// The number of operations to count; a workload of passes does one pass whatever this says.
	countOps int

	onWheel   func(b base, f wheel.Facility) load
	onRuntime func(b base) load // nil if it cannot be run on them
	tick      time.Duration     // the tick of the workload, if it has one of its own
}

// load is a workload on one facility: made, filled, made ready, run, closed. Its methods are called by one goroutine.
type load interface {
	// fill starts the timers that have to run before the first operation. It is not timed. It returns false if it
	// was told to stop.
	fill() bool

	// ready brings the timers from the state that fill left, in which space was measured, to the one in which the
	// operations begin. It is not timed either, and returns false if it was told to stop.
	ready() bool

	// run does ops operations, or more where only whole passes make sense, and returns how many it did. One that takes
	// long looks at least once a tick whether it was told to stop, does no more then, and returns false if it has
	// spent time on what is not among the operations done.
	run(ops int) (done int, ok bool)

	// close stops what would live on.
	close()

	// own returns how many bytes of the heap are the load's and not the facility's.
	own() int
}

// base is what every load knows.
type base struct {
	n    int
	tick time.Duration
	rng  wyrand
	stop *atomic.Bool // told to stop
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
	&keepalive,
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

// wheelBase is what loads on a facility of package wheel share. Its timers are numbered on from first, so that a load
// finds the handle of a timer without looking it up: a connection has it at hand as well.
type wheelBase struct {
	base
	f     wheel.Facility
	first wheel.Timer
}

// make makes count timer records.
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

// startAll starts the first n timers with random intervals.
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
