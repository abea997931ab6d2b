package wheels

import (
	"context"
	"fmt"

	"tcpwheel/experiments"
)

// counts returns the numbers of timers of a kernel.
func (p *fig9Plan) counts(k *fig9Kernel) []int {
	if k.linear > 0 {
		return p.Outstanding
	}
	return append(append([]int(nil), p.Outstanding...), p.Beyond...)
}

func fig9Cells(p *fig9Plan) (all []experiments.Cell[fig9Cell]) {
	for i := range fig9Kernels {
		k := &fig9Kernels[i]
		for _, n := range p.counts(k) {
			all = append(all, experiments.Cell[fig9Cell]{
				Name: fmt.Sprintf("kernel=%s n=%d", k.name, n),
				Cost: 1e-4 + float64(1e-7*float64(n)) + float64(3e-9*float64(p.Iterations)*float64(10+k.linear*n)),
				Run:  func(context.Context) (fig9Cell, error) { return fig9Run(p, k, n) },
			})
		}
	}
	return all
}

func fig9Run(p *fig9Plan, k *fig9Kernel, n int) (fig9Cell, error) {
	b, err := k.open(n, true)
	if err != nil {
		return fig9Cell{}, err
	}
	counts := b.f.Counts
	if b.callouts != nil {
		counts = b.callouts.Counts
	}
	before := counts()
	b.iterate(p.Iterations)
	got := counts().Sub(before)
	if got.Starts != uint64(p.Iterations) || got.Stops != got.Starts {
		return fig9Cell{}, fmt.Errorf("%d starts and %d stops in %d iterations", got.Starts, got.Stops, p.Iterations)
	}
	return fig9Cell{Kernel: k.name, N: n, Start: got.StartVisits, Stop: got.StopVisits, Moves: got.Moves}, nil
}
