package main

import (
	"context"
	"fmt"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel"
)

// The engine's cases: flows over a bottleneck, and how many of their data segments to time.
var engineCases = []struct {
	flows    int
	rate     uint64
	loss     float64
	segments uint64
}{
	{1, 1e9, 0.01, 40_000},
	{10, 1e9, 0.01, 40_000},
	{100, 1e9, 0.01, 100_000},
	{1_000, 1e10, 0.001, 200_000},
	{10_000, 1e10, 0.001, 300_000},
	{100_000, 1e11, 0.001, 1_000_000},
}

// engine times data segments in virtual time, with a timer for each and with one timer for each
// connection, next to the event queue of the simulator alone.
func engine(ctx context.Context, quick bool) (all result, err error) {
	per := figure.Series{Name: "a timer for each segment", Kind: figure.Line}
	one := figure.Series{Name: "one timer for each connection", Kind: figure.Line}
	queue := figure.Series{Name: "limit: the event queue alone", Kind: figure.Line, Dashed: true}
	for _, c := range engineCases {
		if quick && c.flows > 10_000 {
			break
		}
		turns := 5
		if c.flows > 10_000 {
			turns = 2
		}
		var least [3]float64
		var last host.Result
		for i, rexmit := range []string{"per-segment", "restart"} {
			if least[i], last, err = flowTime(ctx, c.flows, c.rate, c.loss, c.segments, rexmit, turns); err != nil {
				return all, err
			}
		}
		events := float64(last.Events) / float64(last.Segments)
		if least[2], err = queueTime(ctx, min(4*c.flows, 10_000)); err != nil {
			return all, err
		}
		least[2] *= events
		per.Add(float64(c.flows), least[0])
		one.Add(float64(c.flows), least[1])
		queue.Add(float64(c.flows), least[2])
		if c.flows == 100 || c.flows == 10_000 {
			all.rows = append(all.rows, row{Work: fmt.Sprintf("engine in virtual time, %d flows", c.flows),
				Unit: "ns a segment", Ours: least[0],
				Peer: least[1], BestPeer: "one timer", Limit: least[2], LimitIs: fmt.Sprintf("the event queue alone, %.2f events",
					events)})
		}
	}
	all.figures = append(all.figures, figure.Figure{Name: "speed-engine", Title: "Time of a data segment by the number " +
		"of flows",
		X: figure.Axis{Label: "flows", Log: true}, Y: figure.Axis{Label: "ns per received data segment",
			Log: true}, Series: []figure.Series{per, one, queue}})
	return all, nil
}

// parts is the number of slices of a run that are timed on their own.
const parts = 40

// maxFlowsOfPair keeps the flows of two hosts below the ports that one of them has.
const maxFlowsOfPair = 25_000

// engineFlows returns flows over one bottleneck with a round trip of 50 ms. Many flows have several
// pairs of hosts.
func engineFlows(flows int, rate uint64, loss float64, rexmit string) host.FlowsConfig {
	rtt := 50 * time.Millisecond
	link := sim.LinkConfig{Rate: rate, Delay: rtt / 2, Queue: sim.Limit{Bytes: rate/8/20 + uint64(flows)*1500 + 15000}}
	back := link
	link.Loss = sim.Losses{sim.Bernoulli{P: loss}}
	return host.FlowsConfig{Seed: 1, Flows: flows, Pairs: (flows + maxFlowsOfPair - 1) / maxFlowsOfPair, Stagger: rtt,
		Duration: time.Hour,
		Link:     link, Return: &back, Policy: "per-segment", Rexmit: rexmit, Control: "cubic"}
}

// flowTime runs the same flows in each turn, and adds up the least time of each of their parts.
func flowTime(ctx context.Context, flows int, rate uint64, loss float64, segments uint64, rexmit string,
	turns int) (ns float64, r host.Result, err error) {
	p := engineFlows(flows, rate, loss, rexmit)
	var least [parts]time.Duration
	for turn := range turns {
		f, err := host.NewFlows(p)
		if err != nil {
			return 0, r, err
		}
		for i := range least {
			start := time.Now()
			for more := true; more && f.Segments() < segments*uint64(i+1)/parts && ctx.Err() == nil; {
				more = f.Run(f.World.Net.Now().Add(time.Millisecond))
			}
			if took := time.Since(start); turn == 0 || took < least[i] {
				least[i] = took
			}
		}
		if err := f.Err(); err != nil {
			return 0, r, err
		}
		r = f.Result()
	}
	var sum time.Duration
	for _, took := range least {
		sum += took
	}
	return float64(sum) / float64(max(r.Segments, 1)), r, ctx.Err()
}

// echo returns each datagram over the link opposite to the one by which it came.
type echo struct {
	net  *sim.Network[uint64]
	back [2]sim.LinkID
}

func (e *echo) Receive(_ wheel.Time, via sim.LinkID, d *sim.Datagram[uint64]) {
	e.net.Send(e.back[via], d)
}

// queueTime returns the time of an event of a network without TCP, where so many datagrams
// circulate.
func queueTime(ctx context.Context, circulating int) (ns float64, err error) {
	net, err := sim.NewNetwork[uint64](sim.Config{Seed: 1})
	if err != nil {
		return 0, err
	}
	e := &echo{net: net}
	a, errA := net.AddNode("a", e)
	b, errB := net.AddNode("b", e)
	link := sim.LinkConfig{Rate: 1e9, Delay: 25 * time.Millisecond}
	there, back, err := net.Connect(a, b, link, link)
	if errA != nil || errB != nil || err != nil {
		return 0, fmt.Errorf("%v, %v, %v", errA, errB, err)
	}
	e.back[there], e.back[back] = back, there
	for i := range circulating {
		net.Send(there, &sim.Datagram[uint64]{Packet: sim.Packet{Size: 1500}, Body: uint64(i)})
	}
	net.Run(wheel.Time(time.Second))
	const steps = 20_000
	return least(ctx, 30, steps, func() {
		for range steps {
			net.Step()
		}
	})[0], nil
}
