package testbed

import (
	"context"
	"runtime"
	"time"

	"tcpwheel/wheel/stat"
)

// Piece is work that is timed against other pieces. It returns its operations.
type Piece func() (ops int)

// TimeRounds runs each piece once to warm up, and then once in each of so many rounds, at least 1.
// It returns the nanoseconds per operation of each piece by round. Rounds are interleaved, so that
// other programs and the collector meet all pieces alike: believe ratios and medians, not single
// figures.
func TimeRounds(ctx context.Context, rounds int, pieces []Piece) (ns [][]float64, err error) {
	ns = make([][]float64, len(pieces))
	for round := range rounds + 1 {
		for i, p := range pieces {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			start := time.Now()
			ops := p()
			took := time.Since(start)
			if round > 0 { // the first was to warm up
				ns[i] = append(ns[i], float64(took)/float64(max(ops, 1)))
			}
		}
	}
	return ns, nil
}

// MedianOf returns the median of the rounds of a piece, with the least and the greatest.
func MedianOf(rounds []float64) stat.Interval {
	return stat.Interval{Value: stat.Median(rounds), Lo: stat.Quantile(rounds, 0), Hi: stat.Quantile(rounds, 1)}
}

// HeapBytes returns the bytes of the heap in use after a collection.
func HeapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
