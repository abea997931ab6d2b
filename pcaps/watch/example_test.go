package watch_test

import (
	"context"
	"fmt"

	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/watch"
)

// Watch a pipe, and print each recovery when it has settled. For an interface, call Listen and its
// Run instead.
func ExampleWatcher() {
	pipe, err := samples.Open("tail-three/a.pcapng.gz")
	if err != nil {
		panic(err)
	}
	defer pipe.Close()
	w := watch.New(watch.Config{Interface: "pipe", Episode: func(e *watch.Episode) {
		fmt.Printf("%s from %s to %s: %d bytes, %.0f ms\n", e.Kind, e.Src, e.Dst, e.Bytes, 1000**e.TRec)
	}})
	if err := watch.Pipe(context.Background(), w, pipe, "pipe"); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	s := w.Snapshot()
	fmt.Printf("%d recoveries, %.0f ms lost\n", s.Total.All.Episodes, 1000*s.Total.All.TimeLost)
	// Output:
	// tlp from 10.77.1.1:42432 to 10.77.2.1:24599: 1448 bytes, 127 ms
	// tlp from 10.77.1.1:42432 to 10.77.2.1:24599: 1448 bytes, 136 ms
	// 2 recoveries, 222 ms lost
}
