// Package stopwatch times pieces of work against each other, for the parts of studies that are of one machine.
//
// Other programs and the collector meet all pieces alike, because their rounds are interleaved. Believe ratios and medians,
// not single figures.
package stopwatch

import (
	"context"
	"runtime"
	"time"

	"tcpwheel/experiments/stat"
)

// Piece is work of a number of operations that are alike.
type Piece struct {
	Ops int // at least 1
	Run func()
}

// Time runs each piece once, and then in as many rounds as are told, at least 1, a round being each piece once. It returns
// the nanoseconds per operation of each piece in each round, and the error of ctx if that ends first.
func Time(ctx context.Context, rounds int, pieces []Piece) (ns [][]float64, err error) {
	ns = make([][]float64, len(pieces))
	for round := range rounds + 1 {
		for i, p := range pieces {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			start := time.Now()
			p.Run()
			took := time.Since(start)
			if round > 0 { // the first was to warm up
				ns[i] = append(ns[i], float64(took)/float64(max(p.Ops, 1)))
			}
		}
	}
	return ns, nil
}

// Medians returns the median of each piece, with the least and the greatest of its rounds.
func Medians(ns [][]float64) []stat.Interval {
	all := make([]stat.Interval, len(ns))
	for i, of := range ns {
		all[i] = stat.Interval{Value: stat.Median(of), Lo: stat.Quantile(of, 0), Hi: stat.Quantile(of, 1)}
	}
	return all
}

// HeapBytes returns how many octets of the heap are in use after a collection.
func HeapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
