package wheelbench_test

import (
	"context"
	"fmt"
	"time"

	"tcpwheel/wheel/wheelbench"
)

// Counts are exact: START and STOP of Scheme 6 look at no other record, those of a heap do.
func ExampleRun() {
	o := wheelbench.Options{
		Schemes:   []string{"scheme3", "scheme6"},
		Workloads: []string{"start-stop"},
		N:         []int{1000},
		Rounds:    1,
		Budget:    time.Millisecond,
	}
	for r, err := range wheelbench.Run(context.Background(), o) {
		if err != nil {
			panic(err)
		}
		if visits, ok := r.VisitsPerOp(); ok {
			fmt.Printf("%s: %.1f visits per operation\n", r.Scheme, visits)
		}
	}
	// Output:
	// scheme3: 5.3 visits per operation
	// scheme6: 0.0 visits per operation
}

func ExampleWorkload() {
	for _, w := range wheelbench.Workloads() {
		fmt.Printf("%-10s  %s\n", w.Name, w.About)
	}
	// Output:
	// start-stop  START and STOP of one timer while n others run
	// rearm       START of a random one of n timers that run
	// expire      START of n timers, ticks until all have expired; per timer
	// ratas       an expiry and its three STARTs in the mix of Ratas, tick 20µs
}
