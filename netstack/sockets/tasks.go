package sockets

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
)

// Tasks runs the goroutines of a program in virtual time. One task runs at a time, until it ends or
// waits, and only while the clock stands still. Runnable tasks run in FIFO order. So equal programs
// make equal runs, to the byte.
//
// The clock's driver must settle the tasks after each event; package virtual does so:
//
//	tasks := sockets.NewTasks(clock)
//	clock.SetSettle(func() { tasks.Settle(a, b) })
//	tasks.Go(func() { ... })
//	clock.Run(time.Minute)
//
// A task may wait in Sleep, and in methods of Dialers, Conns and Listeners that have the Tasks.
// Only tasks may wait there. A task must not wait for another in any other way, such as a channel:
// the driver would never return. Tasks may share data without a lock, as one runs at a time.
//
// A task that still waits when the driver has ended is a leaked goroutine: close what it waits for,
// and drive the clock again. A program with goroutines of its own, such as net/http, cannot be a
// task: see package testnet.
type Tasks struct {
	clock *netstack.VirtualClock
	yield chan struct{} // the running task has ended or waits

	mu         sync.Mutex
	current    *task
	ready      []*task // runnable tasks, FIFO
	unfinished map[*task]struct{}
	err        error // the first misuse
}

// task is one goroutine.
type task struct {
	resume    chan struct{}
	goroutine string // its number, as in stack traces
}

// NewTasks returns an empty set of tasks on a clock.
func NewTasks(clock *netstack.VirtualClock) *Tasks {
	return &Tasks{clock: clock, yield: make(chan struct{}), unfinished: map[*task]struct{}{}}
}

// Go starts a task. It runs in the next Settle, after the tasks that are already runnable. Tasks
// and timer functions may call Go.
func (t *Tasks) Go(f func()) {
	k := &task{resume: make(chan struct{}, 1)}
	t.mu.Lock()
	t.unfinished[k] = struct{}{}
	t.mu.Unlock()
	go func() {
		<-k.resume
		defer t.exit(k)
		k.goroutine = goroutineNumber()
		f()
	}()
	t.unpark(k)
}

// Sleep blocks the calling task for d of the clock's time.
func (t *Tasks) Sleep(d time.Duration) {
	k := t.running()
	t.clock.AfterFunc(d, func() { t.unpark(k) })
	t.park(k)
}

// Unfinished returns the number of tasks that have not ended.
func (t *Tasks) Unfinished() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.unfinished)
}

// Err returns the first misuse: a call that waited outside a task. It has the stack of the
// goroutine, because the panic may have been recovered, as net/http does.
func (t *Tasks) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Stacks returns the stacks of the tasks that have not ended. The driver must not run.
func (t *Tasks) Stacks() string {
	numbers := map[string]bool{}
	t.mu.Lock()
	for k := range t.unfinished {
		numbers[k.goroutine] = true
	}
	t.mu.Unlock()
	buf := make([]byte, 1<<20)
	var found []string
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if number, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " "); numbers[number] {
			found = append(found, strings.TrimSpace(stack))
		}
	}
	return strings.Join(found, "\n\n")
}

// inTask reports whether the calling goroutine was started by Tasks.Go.
func inTask() bool {
	pcs := make([]uintptr, 64)
	n := runtime.Callers(0, pcs)
	for n == len(pcs) {
		pcs = make([]uintptr, 2*n)
		n = runtime.Callers(0, pcs)
	}
	// The last one is runtime.goexit.
	return n > 1 && strings.HasSuffix(runtime.FuncForPC(pcs[n-2]-1).Name(), "sockets.(*Tasks).Go.func1")
}

// goroutineNumber returns the number of the calling goroutine.
func goroutineNumber() string {
	var buf [64]byte
	_, rest, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), " ")
	number, _, _ := strings.Cut(rest, " ")
	return number
}

// Settle runs tasks until all have ended or wait, and the goroutines of the stacks have nothing
// left to do. Pass it to VirtualClock.SetSettle; the conditions of netstack.Settle hold.
func (t *Tasks) Settle(stacks ...*stack.Stack) {
	for {
		netstack.Settle(stacks...)
		if !t.step() {
			return
		}
	}
}

// step runs the next task. It returns false if none is runnable.
func (t *Tasks) step() bool {
	t.mu.Lock()
	if len(t.ready) == 0 {
		t.mu.Unlock()
		return false
	}
	k := t.ready[0]
	t.ready = append(t.ready[:0], t.ready[1:]...)
	t.current = k
	t.mu.Unlock()
	k.resume <- struct{}{}
	<-t.yield
	return true
}

// running returns the calling task.
func (t *Tasks) running() *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == nil || !inTask() {
		const misuse = "a call that waits in virtual time, outside a task (see Tasks.Go)"
		if t.err == nil {
			t.err = fmt.Errorf("sockets: %s; a program with goroutines of its own belongs into a bubble (package testnet):\n%s",
				misuse, debug.Stack())
		}
		panic("BUG: sockets: " + misuse)
	}
	return t.current
}

// park blocks the calling task until unpark.
func (t *Tasks) park(k *task) {
	t.yieldToDriver()
	<-k.resume
}

// unpark makes a task runnable.
func (t *Tasks) unpark(k *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = append(t.ready, k)
}

func (t *Tasks) exit(k *task) {
	t.mu.Lock()
	delete(t.unfinished, k)
	t.mu.Unlock()
	t.yieldToDriver()
}

func (t *Tasks) yieldToDriver() {
	t.mu.Lock()
	t.current = nil
	t.mu.Unlock()
	t.yield <- struct{}{}
}
