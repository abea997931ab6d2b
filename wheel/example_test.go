package wheel_test

import (
	"fmt"
	"time"

	"tcpwheel/wheel"
)

func ExampleTime() {
	sent := wheel.Time(0).Add(1500 * time.Millisecond)
	acked := sent.Add(20 * time.Millisecond)
	fmt.Println(acked, acked.Sub(sent), sent.Before(acked))
	// Output: 1.52s 20ms true
}

// A Timer is a number from 1 up, so that a program may keep per-timer data in a slice.
func ExampleTimer() {
	w := wheel.MustNew(wheel.Default, wheel.Config{})
	names := []string{0: "none"}
	for i, name := range []string{"rexmit", "delack"} {
		w.Schedule(w.New(0), wheel.Time(i+1)*wheel.Time(time.Second))
		names = append(names, name)
	}
	w.Advance(wheel.Time(time.Minute), 0, func(t wheel.Timer) { fmt.Println(t, names[t], w.Now()) })
	// Output:
	// 1 rexmit 1s
	// 2 delack 2s
}

// Deadlines round up to a tick, and ticks count from the origin.
func ExampleConfig() {
	w, err := wheel.New("scheme7", wheel.Config{Tick: 10 * time.Millisecond, Origin: wheel.Time(3 * time.Millisecond)})
	if err != nil {
		panic(err)
	}
	t := w.New(0)
	w.Schedule(t, wheel.Time(20*time.Millisecond))
	fmt.Println(w.Deadline(t))
	_, err = wheel.New("scheme7", wheel.Config{Slots: 1000})
	fmt.Println(err)
	// Output:
	// 23ms true
	// wheel: slots must be a power of two: 1000
}

// START of Scheme 2 passes the timers that are due before the new one. Scheme 6 looks at none.
func ExampleCounts() {
	for _, scheme := range []string{"scheme2", "scheme6"} {
		w := wheel.MustNew(scheme, wheel.Config{Count: true})
		for i := range 100 {
			w.Schedule(w.New(0), wheel.Time(i)*wheel.Time(time.Second))
		}
		before := w.Counts()
		w.Schedule(w.New(0), wheel.Time(time.Hour))
		fmt.Println(scheme, w.Counts().Sub(before).StartVisits)
	}
	// Output:
	// scheme2 99
	// scheme6 0
}

// Without full migration, a hierarchy rounds 90 ticks to its second level, here a multiple of 64.
func ExampleRounding() {
	for _, r := range []wheel.Rounding{wheel.RoundUp, wheel.RoundNearest, wheel.RoundDown} {
		w := wheel.MustNew("scheme7-nomigration", wheel.Config{Tick: 1, Slots: 64, Rounding: r})
		t := w.New(0)
		w.Schedule(t, 90)
		at, _ := w.Deadline(t)
		fmt.Println(r, at)
	}
	// Output:
	// up 128ns
	// nearest 64ns
	// down 64ns
}

// START of the ordered list holds the shard's lock for as long as it searches.
func ExampleHolds() {
	for _, scheme := range []string{"scheme2", "scheme6"} {
		w, err := wheel.NewSharded(1, scheme, wheel.Config{Count: true})
		if err != nil {
			panic(err)
		}
		for i := range 1000 {
			w.Schedule(w.New(0, 0), wheel.Time(i)*wheel.Time(time.Second))
		}
		fmt.Println(scheme, w.Holds(0).Longest)
	}
	// Output:
	// scheme2 999
	// scheme6 1
}

func ExampleRealtimeStats() {
	rt, err := wheel.Start(wheel.RealtimeConfig{Tick: time.Millisecond})
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	t := rt.AfterFunc(time.Hour, func() {})
	fmt.Println("running", rt.Stats().Running)
	t.Stop()
	fmt.Println("running", rt.Stats().Running)
	// Output:
	// running 1
	// running 0
}

// A program's own type holds its timers. Owner leads from an expired timer back to it.
func ExampleOf() {
	type session struct {
		name string
		idle wheel.Entry[*session]
	}
	w, err := wheel.NewOf[*session](wheel.Config{Tick: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	open := func(name string) *session {
		s := &session{name: name}
		s.idle.Owner = s
		w.Schedule(&s.idle, w.Now().Add(30*time.Second))
		return s
	}
	a, b := open("a"), open("b")
	w.Advance(w.Now().Add(20*time.Second), 0, nil)
	w.Schedule(&a.idle, w.Now().Add(30*time.Second)) // a has been heard of
	w.Advance(w.Now().Add(20*time.Second), 0, func(e *wheel.Entry[*session]) {
		fmt.Println(e.Owner.name, "was idle until", w.Now())
	})
	fmt.Println(w.Remove(&a.idle), w.Remove(&b.idle))
	// Output:
	// b was idle until 30s
	// true false
}
