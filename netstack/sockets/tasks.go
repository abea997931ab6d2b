package sockets

import (
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
// and drive the clock again.
type Tasks struct {
	clock *netstack.VirtualClock
	yield chan struct{} // the running task has ended or waits

	mu         sync.Mutex
	current    *task
	ready      []*task // runnable tasks, FIFO
	unfinished int
}

// task is one goroutine.
type task struct{ resume chan struct{} }

// NewTasks returns an empty set of tasks on a clock.
func NewTasks(clock *netstack.VirtualClock) *Tasks {
	return &Tasks{clock: clock, yield: make(chan struct{})}
}

// Go starts a task. It runs in the next Settle, after the tasks that are already runnable. Tasks
// and timer functions may call Go.
func (t *Tasks) Go(f func()) {
	k := &task{resume: make(chan struct{}, 1)}
	t.mu.Lock()
	t.unfinished++
	t.mu.Unlock()
	go func() {
		<-k.resume
		defer t.exit()
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
	return t.unfinished
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
	if t.current == nil {
		panic("BUG: sockets: a call that waits in virtual time, outside a task (see Tasks.Go)")
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

func (t *Tasks) exit() {
	t.mu.Lock()
	t.unfinished--
	t.mu.Unlock()
	t.yieldToDriver()
}

func (t *Tasks) yieldToDriver() {
	t.mu.Lock()
	t.current = nil
	t.mu.Unlock()
	t.yield <- struct{}{}
}
