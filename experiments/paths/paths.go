// Package paths is study E33: transfers over the paths that users of gVisor's TCP reported.
package paths

import (
	"context"
	"embed"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/virtual"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Ours    []testbed.Timers `plan:"ours"`  // this project's senders; all are compared with the first
	Peer    testbed.Timers   `plan:"peer"`  // the receiver
	Paths   []Path           `plan:"paths"` // see Path
	Limit   time.Duration    `plan:"limit" min:"1s" max:"1h"`
	Control string           `plan:"kernel_control" oneof:"cubic reno"` // of the live part

	KernelSeeds int `plan:"kernel_seeds" min:"1" max:"100"`
	FirstSeed   int `plan:"first_seed" min:"1" max:"1000000"`
	Seeds       int `plan:"seeds" min:"1" max:"1000"`
}

// Row is a transfer over a path under one seed.
type Row struct {
	Path   string `json:"path"`
	Sender string `json:"sender"` // "ours TIMERS", gvisor or reporter's
	Seed   int    `json:"seed"`

	Time       time.Duration `json:"time_s"`               // until the last byte arrived, or the plan's limit
	Bytes      uint64        `json:"bytes"`                // of the transfer
	Unfinished bool          `json:"unfinished,omitempty"` // at the limit

	Sent            int    `json:"sent"` // segments
	Lost            int    `json:"lost"`
	Retransmissions int    `json:"retransmissions"`
	Spurious        int    `json:"spurious"`
	Timeouts        uint64 `json:"timeouts"`
}

// The senders that are not this project's.
const (
	gvisor   = "gvisor"
	reporter = "reporter's"
	kernel   = "kernel"
)

// sender is a TCP on a path.
type sender struct {
	name    string
	timers  testbed.Timers  // of ours
	subject testbed.Subject // of gVisor's
}

// senders returns the senders of a path: ours, gVisor's TCP, and the same with the reporter's
// settings where those differ.
func (p *Plan) senders(path *Path) (all []sender) {
	for _, t := range p.Ours {
		all = append(all, sender{name: "ours " + t.Text, timers: t})
	}
	own := testbed.Subject{Kind: testbed.GVisor}
	all = append(all, sender{name: gvisor, subject: own})
	if path.Reporter.String() != own.String() {
		all = append(all, sender{name: reporter, subject: path.Reporter})
	}
	return all
}

// spec returns the transfer of a sender.
func (p *Plan) spec(path *Path, s *sender, seed int) *testbed.Spec {
	spec := &testbed.Spec{Kind: testbed.Engine, Timers: s.timers, Peer: p.Peer, Seed: uint64(seed),
		Work: testbed.Work{Shape: testbed.Bulk, Objects: 1, Bytes: path.Bytes},
		Path: testbed.Path{Data: path.Link, Acks: sim.LinkConfig{Delay: path.Link.Delay}, Fates: path.Loss},
		// A path whose delay varies by time begins at another instant under each seed.
		Flows: 1, Stagger: 2 * time.Second, Limit: p.Limit}
	switch {
	case s.subject.Kind == testbed.GVisor:
		spec.Kind = testbed.GVisor
		spec.Stack = func(t *virtual.TCP) {
			*t = s.subject.Stack()
			t.ClockTick = path.Clock
		}
	case path.Clock > 0:
		spec.Kind = testbed.Binding
		spec.Stack = func(t *virtual.TCP) { t.ClockTick = path.Clock }
	}
	return spec
}

// row returns what a run was.
func (p *Plan) row(path *Path, name string, seed int, r *testbed.Result) Row {
	return Row{Path: path.Name, Sender: name, Seed: seed, Time: r.Times[0], Bytes: path.Bytes,
		Unfinished: r.Unfinished > 0, Sent: r.Sent, Lost: r.Lost, Retransmissions: r.Retransmitted, Spurious: r.Spurious,
		Timeouts: r.Timeouts}
}

func cells(p *Plan) (all []experiments.Cell[Row]) {
	for i := range p.Paths {
		path := &p.Paths[i]
		for _, s := range p.senders(path) {
			cost := 5e-6
			if s.subject.Kind == testbed.GVisor || path.Clock > 0 {
				cost = 4e-5
			}
			for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
				all = append(all, experiments.Cell[Row]{
					Name: fmt.Sprintf("%s %s seed=%d", path.Name, s.name, seed), Cost: cost * float64(path.Bytes) / 1400,
					Run: func(ctx context.Context) (Row, error) {
						r, err := testbed.Run(ctx, p.spec(path, &s, seed))
						if err != nil {
							return Row{}, err
						}
						return p.row(path, s.name, seed, &r), nil
					},
				})
			}
		}
	}
	return all
}

// runKernel runs the paths with this machine's kernel in real time, and with ours under the same
// seeds.
func runKernel(ctx context.Context, p *Plan) (rows []Row, err error) {
	each := 1 + len(p.Ours)
	rows = make([]Row, len(p.Paths)*p.KernelSeeds*each)
	return rows, testbed.AtOnce(2, len(rows)/each, func(i int) error {
		path, seed := &p.Paths[i/p.KernelSeeds], p.FirstSeed+i%p.KernelSeeds
		for n, timers := range p.Ours {
			name := "ours " + timers.Text
			s := p.spec(path, &sender{name, timers, testbed.Subject{}}, seed)
			r, err := testbed.Run(ctx, s)
			if err != nil {
				return err
			}
			rows[i*each+n] = p.row(path, name, seed, &r)
		}
		s := p.spec(path, &sender{timers: p.Ours[0]}, seed)
		s.KernelControl = p.Control
		r, err := testbed.RunKernel(ctx, s)
		if err == nil {
			rows[(i+1)*each-1] = p.row(path, kernel, seed, &r)
		}
		return err
	})
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Row]{
	ID: "E33", Name: "paths", Bed: "pair", Class: experiments.Published, Files: files,
	Check: func(p *Plan) error {
		for i := range p.Paths {
			for _, s := range p.senders(&p.Paths[i]) {
				if err := p.spec(&p.Paths[i], &s, 1).Check(); err != nil {
					return fmt.Errorf("paths: %s: %w", p.Paths[i].Name, err)
				}
			}
		}
		return nil
	},
	Words: func() experiments.Words { return words },
	Cells: cells, Judge: outcome,
	Live: []experiments.LivePart[Plan]{{Name: "kernel", Needs: testbed.NeedsRoot,
		Run: func(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
			rows, err := runKernel(ctx, p)
			if err != nil {
				return nil, err
			}
			return judgeKernel(p, rows), nil
		}}},
})
