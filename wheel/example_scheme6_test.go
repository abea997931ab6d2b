package wheel_test

import (
	"fmt"
	"time"

	"tcpwheel/wheel"
)

// A program that always uses Scheme 6 can call it without the interface.
func ExampleNewScheme6() {
	w, err := wheel.NewScheme6(wheel.Config{Tick: 10 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := w.New(42)
	w.Schedule(t, wheel.Time(15*time.Millisecond))
	fmt.Println(w.Deadline(t))
	w.Advance(wheel.Time(time.Second), 0, func(t wheel.Timer) {
		fmt.Println("owner", w.Owner(t), "at", time.Duration(w.Now()))
	})
	// Output:
	// 20ms true
	// owner 42 at 20ms
}
