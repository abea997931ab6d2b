package sweep

import (
	"context"
	"fmt"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

// cells returns the combinations in order, each with all seeds.
func cells(p *Plan) (all []experiments.Cell[testbed.Result]) {
	for _, c := range p.combinations() {
		name := p.name(c)
		for seed := 1; seed <= p.Seeds; seed++ {
			s := p.spec(c, seed)
			all = append(all, experiments.Cell[testbed.Result]{
				Name: fmt.Sprintf("%s seed=%d", name, seed),
				Cost: cost(s),
				Run:  func(ctx context.Context) (testbed.Result, error) { return testbed.Run(ctx, s) },
			})
		}
	}
	return all
}
