package fig9

import (
	"context"
	"fmt"

	"tcpwheel/experiments"
)

// counts returns the numbers of timers of a kernel.
func (p *Plan) counts(k *kernel) []int {
	if k.linear > 0 {
		return p.Outstanding
	}
	return append(append([]int(nil), p.Outstanding...), p.Beyond...)
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	for i := range kernels {
		k := &kernels[i]
		for _, n := range p.counts(k) {
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("kernel=%s n=%d", k.name, n),
				Cost: 1e-4 + float64(1e-7*float64(n)) + float64(3e-9*float64(p.Iterations)*float64(10+k.linear*n)),
				Run:  func(context.Context) (Cell, error) { return run(p, k, n) },
			})
		}
	}
	return all
}

func run(p *Plan, k *kernel, n int) (Cell, error) {
	b, err := k.open(n, true)
	if err != nil {
		return Cell{}, err
	}
	counts := b.f.Counts
	if b.callouts != nil {
		counts = b.callouts.Counts
	}
	before := counts()
	b.iterate(p.Iterations)
	got := counts().Sub(before)
	if got.Starts != uint64(p.Iterations) || got.Stops != got.Starts {
		return Cell{}, fmt.Errorf("%d starts and %d stops in %d iterations", got.Starts, got.Stops, p.Iterations)
	}
	return Cell{Kernel: k.name, N: n, Start: got.StartVisits, Stop: got.StopVisits, Moves: got.Moves}, nil
}
