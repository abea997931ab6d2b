package wheelbench

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

// BenchmarkInstructions repeats one call, for callgrind: it counts the instructions of the function
// calls alone. README.md of wheel/peers has the command. The timers that run are an hour away, so
// that a tick is empty.
func BenchmarkInstructions(b *testing.B) {
	for _, scheme := range []string{"scheme6", "scheme6-list"} {
		w, err := wheel.New(scheme, wheel.Config{Tick: time.Millisecond, Slots: 1 << 16})
		if err != nil {
			b.Fatal(err)
		}
		w.Schedule(w.New(0), wheel.Time(time.Hour))
		// The intervals of Ratas' request timer and of its idle timer.
		t, until := w.New(0), [2]wheel.Time{wheel.Time(time.Second), wheel.Time(180 * time.Second)}
		for op, call := range map[string]func(i int){
			"empty": func(int) {},
			"startstop": func(i int) {
				w.Schedule(t, until[i&1])
				w.Stop(t)
			},
			"rearm": func(i int) { w.Schedule(t, until[i&1]) },
			"tick":  func(i int) { w.Advance(w.Now().Add(time.Millisecond), 0, func(wheel.Timer) {}) },
		} {
			b.Run("impl="+scheme+"/op="+op, func(b *testing.B) { calls(b.N, call) })
			w.Stop(t)
		}
	}
}

//go:noinline
func calls(n int, call func(i int)) {
	for i := range n {
		call(i)
	}
}
