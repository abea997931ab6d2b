package sockets

import (
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
)

// Tasks runs the goroutines of a program in virtual time: one at a time, until it ends or waits, and only while the clock stands
// still. Those that may go on do so in the order in which that came about. So the same program makes the same run, to the byte.
//
// The driver of the clock has it called after each event:
//
//	tasks := sockets.NewTasks(clock)
//	clock.SetSettle(func() { tasks.Settle(a, b) })
//	tasks.Go(func() { ... })
//	clock.Run(time.Minute)
//
// A task waits in Sleep and in methods of Dialers, Conns and Listeners that were given the Tasks, and these it may wait in only as a
// task. It must not wait for another one by any other means, such as a channel: the driver would wait for ever. Tasks need no lock
// for what they share, since one runs at a time. A task that still waits when the driver has ended is a goroutine that is left: close
// what it waits for, and drive the clock once more.
type Tasks struct {
	clock *netstack.VirtualClock
	yield chan struct{} // the task that runs has ended or waits

	mu      sync.Mutex
	current *task
	ready   []*task // to run, the next one first
	living  int
}

// task is one goroutine.
type task struct{ resume chan struct{} }

// NewTasks makes a program without tasks.
func NewTasks(clock *netstack.VirtualClock) *Tasks {
	return &Tasks{clock: clock, yield: make(chan struct{})}
}

// Go starts a task. It begins with the next Settle, or when the tasks before it have had their turn. It may be called by tasks, and
// by functions of the clock.
func (t *Tasks) Go(f func()) {
	k := &task{resume: make(chan struct{}, 1)}
	t.mu.Lock()
	t.living++
	t.mu.Unlock()
	go func() {
		<-k.resume
		defer t.leave()
		f()
	}()
	t.unpark(k)
}

// Sleep has the task that calls it wait for d of the clock's time.
func (t *Tasks) Sleep(d time.Duration) {
	k := t.running()
	t.clock.AfterFunc(d, func() { t.unpark(k) })
	t.park(k)
}

// Unfinished returns the number of tasks that have not ended.
func (t *Tasks) Unfinished() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.living
}

// Settle runs tasks until all have ended or wait, and the goroutines of the stacks have nothing left to do: see netstack.Settle,
// whose conditions hold. It is for VirtualClock.SetSettle.
func (t *Tasks) Settle(stacks ...*stack.Stack) {
	for {
		netstack.Settle(stacks...)
		if !t.step() {
			return
		}
	}
}

// step runs one task, if there is one to run.
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

// running returns the task that calls.
func (t *Tasks) running() *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == nil {
		panic("BUG: sockets: a call in virtual time that waits, from outside of Tasks.Go")
	}
	return t.current
}

// park has the task that calls wait for unpark.
func (t *Tasks) park(k *task) {
	t.stopped()
	<-k.resume
}

// unpark has a task go on when its turn comes.
func (t *Tasks) unpark(k *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = append(t.ready, k)
}

func (t *Tasks) leave() {
	t.mu.Lock()
	t.living--
	t.mu.Unlock()
	t.stopped()
}

func (t *Tasks) stopped() {
	t.mu.Lock()
	t.current = nil
	t.mu.Unlock()
	t.yield <- struct{}{}
}
