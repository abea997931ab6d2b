package web

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// gvisor is the name of gVisor's own TCP in the place of a text of timers.
const gvisor = "gVisor's own TCP"

// gvisor returns the bursts for gVisor's TCP that the other timers have too.
func (p *Plan) gvisor() (all []time.Duration) {
	for _, burst := range p.GVisorBursts {
		if slices.Contains(p.Bursts, burst) {
			all = append(all, burst)
		}
	}
	return all
}

// gvisorRun is run with gVisor's own TCP as the server.
func gvisorRun(ctx context.Context, p *Plan, c Cell) (Cell, error) {
	for i := range p.Flows {
		a := p.draw(asDrawn, c.Seed, i)
		r, err := p.sendStacks(ctx, testbed.GVisor, p.Without, a, a.weather(c.Burst).lost)
		if err != nil {
			return c, fmt.Errorf("answer %d: %w", i, err)
		}
		inflation := 1.0
		if r.Lost > 0 {
			alone, err := p.sendStacks(ctx, testbed.GVisor, p.Without, a, never)
			if err != nil {
				return c, fmt.Errorf("answer %d: %w", i, err)
			}
			inflation = c.lossy(r.Times[0], alone.Times[0])
		}
		c.add(r.Times[0], r.Lost, inflation)
		c.Sent += uint64(r.Sent)
		c.Timeouts += r.Timeouts
	}
	c.Tail, c.Worst = greatest(c.Tail), greatest(c.Worst)
	return c, nil
}

// sendStacks is send with another subject as the server. Its counts are taken on the path.
func (p *Plan) sendStacks(ctx context.Context, kind testbed.Kind, timers testbed.Timers, a answer,
	bad func(wheel.Time) bool) (testbed.Result, error) {
	link := sim.LinkConfig{Rate: uint64(p.Rate), Delay: a.trip / 2}
	// Fates decide when a segment arrives, half a round trip after it left the link.
	rule := func(now wheel.Time, _, _ uint64, _ uint32) bool { return bad(now.Add(-link.Delay)) }
	r, err := testbed.Run(ctx, &testbed.Spec{
		Kind: kind, Timers: timers, Peer: p.Without, Seed: a.seed,
		Work:  testbed.Work{Shape: testbed.Answers, Objects: 1, Bytes: uint64(a.bytes), Request: uint32(p.Request)},
		Path:  testbed.Path{Data: link, Acks: link, Fates: testbed.FatesOf("weather", &testbed.StreamLoss{Rule: rule})},
		Flows: 1, Limit: time.Duration(limit),
	})
	if err == nil && r.Unfinished > 0 {
		err = fmt.Errorf("no end after %v of %d bytes", time.Duration(limit), a.bytes)
	}
	return r, err
}
