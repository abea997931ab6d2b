package wheel_test

import (
	"fmt"
	"sync"
	"time"

	"tcpwheel/wheel"
)

// The timers of a Realtime are used like those of package time.
func ExampleRealtime() {
	rt, err := wheel.Start(wheel.RealtimeConfig{Tick: 100 * time.Microsecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close()

	done := make(chan struct{})
	timeout := rt.AfterFunc(time.Hour, func() { fmt.Println("timeout") })
	start := time.Now()
	rt.AfterFunc(2*time.Millisecond, func() { close(done) })
	<-done
	fmt.Println("too early:", time.Since(start) < 2*time.Millisecond)
	fmt.Println("stopped in time:", timeout.Stop())
	// Output:
	// too early: false
	// stopped in time: true
}

// A function that starts its own timer again makes a ticker.
func ExampleRealtimeTimer() {
	rt, err := wheel.Start(wheel.RealtimeConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close()

	const interval = 2 * time.Millisecond
	beats := make(chan int)
	var heart *wheel.RealtimeTimer
	n, next := 0, rt.Now().Add(interval)
	heart = rt.AfterFunc(time.Hour, func() {
		n++
		beats <- n
		next = next.Add(interval)
		heart.ResetAt(next)
	})
	heart.ResetAt(next)
	fmt.Println(<-beats, <-beats, <-beats)

	timer := rt.NewTimer(time.Hour)
	fmt.Println("moved while it ran:", timer.Reset(time.Millisecond))
	<-timer.C
	fmt.Println("moved after it expired:", timer.Reset(time.Millisecond))
	// Output:
	// 1 2 3
	// moved while it ran: true
	// moved after it expired: false
}

// A program with a wheel of its own, say one per shard, sleeps on an Alarm.
func ExampleAlarm() {
	alarm, err := wheel.NewAlarm(wheel.AlarmConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var mu sync.Mutex // guards the facility
	w := wheel.MustNew(wheel.Default, wheel.Config{Tick: 100 * time.Microsecond})
	const last = 3

	// Any goroutine starts timers. A system call is needed only for one that expires before all
	// others.
	mu.Lock()
	now := alarm.Now()
	for i := last; i > 0; i-- {
		t := w.New(uint64(i))
		w.Schedule(t, now.Add(time.Duration(i)*10*time.Millisecond))
		at, _ := w.Deadline(t)
		alarm.ArmEarlier(at)
	}
	mu.Unlock()

	// One goroutine serves them until the alarm is closed.
	for alarm.Wait() == nil {
		mu.Lock()
		w.Advance(alarm.Now(), 0, func(t wheel.Timer) {
			fmt.Println("timer", w.Owner(t))
			w.Free(t)
		})
		if at, ok := w.NextWakeup(); ok {
			alarm.Arm(at)
		} else {
			alarm.Close() // no more work
		}
		mu.Unlock()
	}
	// Output:
	// timer 1
	// timer 2
	// timer 3
}
