package sweep

import (
	"context"
	"fmt"

	"tcpwheel/experiments"
	"tcpwheel/experiments/subject"
)

// cells are the combinations in their order, each under all seeds.
func cells(p *Plan) (all []experiments.Cell[subject.Result]) {
	for _, c := range p.combinations() {
		name := p.name(c)
		for seed := 1; seed <= p.Seeds; seed++ {
			s := p.spec(c, seed)
			all = append(all, experiments.Cell[subject.Result]{
				Name: fmt.Sprintf("%s seed=%d", name, seed),
				Cost: cost(s),
				Run:  func(ctx context.Context) (subject.Result, error) { return subject.Run(ctx, s) },
			})
		}
	}
	return all
}
