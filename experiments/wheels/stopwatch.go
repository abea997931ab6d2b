package wheels

import (
	"context"
	"runtime"
	"time"

	"tcpwheel/wheel/stat"
)

// piece is work that is timed against other pieces.
type piece struct {
	ops int // operations of one run, at least 1
	run func()
}

// timeRounds runs each piece once to warm up, and then once in each of so many rounds, at least 1.
// It returns the nanoseconds per operation of each piece by round. Rounds are interleaved, so that
// other programs and the collector meet all pieces alike: believe ratios and medians, not single
// figures.
func timeRounds(ctx context.Context, rounds int, pieces []piece) (ns [][]float64, err error) {
	ns = make([][]float64, len(pieces))
	for round := range rounds + 1 {
		for i, p := range pieces {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			start := time.Now()
			p.run()
			took := time.Since(start)
			if round > 0 { // the first was to warm up
				ns[i] = append(ns[i], float64(took)/float64(max(p.ops, 1)))
			}
		}
	}
	return ns, nil
}

// medians returns the median of each piece, with the least and the greatest of its rounds.
func medians(ns [][]float64) []stat.Interval {
	all := make([]stat.Interval, len(ns))
	for i, of := range ns {
		all[i] = stat.Interval{Value: stat.Median(of), Lo: stat.Quantile(of, 0), Hi: stat.Quantile(of, 1)}
	}
	return all
}

// heapBytes returns the bytes of the heap in use after a collection.
func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
