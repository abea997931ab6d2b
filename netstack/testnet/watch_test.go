package testnet

import (
	"strings"
	"testing"
	"time"
)

// TestStandstill: the warning names the goroutines that keep a bubble's time from moving, and no
// others.
func TestStandstill(t *testing.T) {
	const stacks = `goroutine 1 [chan receive]:
testing.(*T).Run(...)

goroutine 20 [chan receive (durable), synctest bubble 1]:
main.waits()

goroutine 21 [sync.Mutex.Lock, synctest bubble 1]:
main.locked()

goroutine 22 [sleep (durable), synctest bubble 1]:
main.sleeps()

goroutine 23 [IO wait, 1 minutes, synctest bubble 1]:
main.reads()

goroutine 24 [sync.Cond.Wait (durable), synctest bubble 1]:
main.cond()

goroutine 25 [synctest.Run, synctest bubble 1]:
main.root()
`
	text := standstill("TestX", stacks)
	for what, want := range map[string]bool{
		"TestX: the time of the bubble has stood still for 10s": true, "main.locked": true, "main.reads": true,
		"main.waits": false, "main.sleeps": false, "main.cond": false, "main.root": false, "testing.(*T).Run": false,
	} {
		if strings.Contains(text, what) != want {
			t.Errorf("%q in the warning: want %v\n%s", what, want, text)
		}
	}
	if text := standstill("TestX", "goroutine 1 [running]:\nmain.main()"); strings.Contains(text, "These goroutines") {
		t.Errorf("without a culprit: %s", text)
	}
}

// TestWatch: a network that makes progress is not warned about; one that does not is, once.
func TestWatch(t *testing.T) {
	w := &watch{nets: map[*Net]*watchedNet{}, wake: make(chan struct{}, 1)}
	if w.look() {
		t.Error("an empty watch goes on")
	}
	moves, stands := &Net{bubble: true, name: "moves"}, &Net{bubble: true, name: "stands"}
	real := &Net{name: "real time"}
	for _, n := range []*Net{moves, stands, real} {
		w.add(n)
	}
	var warned []string
	w.warn = func(text string) { warned = append(warned, strings.Fields(text)[1]) }
	for i := range 5 * watchLooks {
		moves.moved.Store(int64(i) * int64(time.Second))
		if !w.look() {
			t.Fatal("the watch ends with networks open")
		}
	}
	if len(warned) != 1 || warned[0] != "stands:" {
		t.Errorf("warned about %q, want stands, once", warned)
	}
	w.remove(moves)
	w.remove(stands)
	if w.look() {
		t.Error("the watch goes on without networks")
	}
}
