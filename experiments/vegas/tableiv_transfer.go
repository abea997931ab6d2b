package vegas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

const tableivPort = 80

// tableivMss is the payload of a full segment without options over an MTU of 1500.
const tableivMss = 1460

func tableivCells(p *tableivPlan) (all []experiments.Cell[tableivCell]) {
	add := func(senders []testbed.Timers, load float64, seeds int) {
		for _, row := range senders {
			for _, buffers := range p.Buffers {
				for seed := 1; seed <= seeds; seed++ {
					all = append(all, experiments.Cell[tableivCell]{
						Name: fmt.Sprintf("sender=%q load=%v buffers=%d seed=%d", row.Text, load, buffers, seed),
						Cost: 3e-8 * float64(p.Bytes),
						Run:  func(context.Context) (tableivCell, error) { return tableivTransfer(p, row, load, buffers, seed) },
					})
				}
			}
		}
	}
	add(p.rows(), p.Load, p.Seeds)
	for _, load := range p.Loads {
		add(p.claimed(), load, p.LoadSeeds)
	}
	return all
}

// The pairs of hosts: the transfer's, and that of the short flows.
const (
	tableivOfTransfer = iota
	tableivOfShort
	tableivPairs
)

// tableivRun is one transfer that competes with short flows.
type tableivRun struct {
	plan      *tableivPlan
	world     *host.World
	senders   [tableivPairs]*host.Host
	receivers [tableivPairs]*host.Host
	record    testbed.Record
	silence   tableivSilences

	load  float64    // of the short flows
	rng   *rand.Rand // of the short flows
	timer wheel.Timer
	err   error // of a short flow that failed to begin

	begun, ended wheel.Time // of the transfer
	done, failed bool
}

// tableivNewRun makes the hosts and links.
func tableivNewRun(p *tableivPlan, row testbed.Timers, buffers, seed int) (*tableivRun, error) {
	r := &tableivRun{plan: p, rng: rand.New(rand.NewPCG(uint64(seed), 0xe9))}
	var err error
	if r.world, err = host.NewWorld(sim.Config{Seed: testbed.Key(uint64(seed), 0xe9, uint64(buffers))}); err != nil {
		return nil, err
	}
	r.world.Verify = true
	receiver := p.Short.Config() // 4.4BSD's, for all
	receiver.SACK = row.Config().SACK
	receiver.Timestamps = row.Config().Timestamps
	configs := [2][tableivPairs]tcp.Config{{row.Config(), p.Short.Config()}, {receiver, p.Short.Config()}}
	nodes := [2][]sim.Node[host.Body]{}
	for side := range configs {
		for i, cfg := range configs[side] {
			cfg.Congestion.InitialWindow = uint32(p.InitialWindow * tableivMss)
			engine := tcp.EngineConfig{
				Conn: cfg, Seed: testbed.Key(uint64(seed), uint64(side), uint64(i)), Key: [16]byte{0: byte(1 + side), 1: byte(1 + i), 2: byte(seed), 3: byte(seed >> 8)},
			}
			if side == 0 && i == tableivOfTransfer {
				r.record.Next = &r.silence
				engine.Trace = &r.record
			}
			h, err := r.world.NewHost(netip.AddrFrom4([4]byte{10, byte(side + 1), 0, byte(i + 1)}), engine)
			if err != nil {
				return nil, err
			}
			nodes[side] = append(nodes[side], h)
			if side == 0 {
				r.senders[i] = h
			} else {
				r.receivers[i] = h
			}
		}
	}
	topology := sim.TopologyConfig{
		Kind: "dumbbell", Senders: tableivPairs, Access: []sim.LinkConfig{{Rate: uint64(p.Access), Delay: time.Millisecond}},
		Bottleneck: sim.LinkConfig{Rate: uint64(p.Rate), Queue: sim.Limit{Packets: uint32(buffers)}, Delay: p.Delay},
		Return:     &sim.LinkConfig{Rate: uint64(p.Rate), Delay: p.Delay},
	}
	built, err := sim.Build(r.world.Net, topology, nodes[0], nodes[1])
	if err != nil {
		return nil, err
	}
	for i := range tableivPairs {
		if err := r.world.Attach(r.senders[i], built.Senders[i], built.SenderOut[i]); err != nil {
			return nil, err
		}
		if err := r.world.Attach(r.receivers[i], built.Receivers[i], built.ReceiverOut[i]); err != nil {
			return nil, err
		}
		err := r.receivers[i].Listen(tableivPort, tcp.ListenConfig{Backlog: 1024}, func() host.App { return host.Apps{&host.Sink{}, &host.Closer{}} })
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// tableivTransfer runs one transfer.
func tableivTransfer(p *tableivPlan, row testbed.Timers, load float64, buffers, seed int) (tableivCell, error) {
	c := tableivCell{Sender: row.Text, Load: load, Buffers: buffers, Seed: seed}
	r, err := tableivNewRun(p, row, buffers, seed)
	if err != nil {
		return c, err
	}
	if r.load = load; load > 0 {
		r.timer = r.world.Net.NewTimer(r)
		r.next(0)
	}
	r.world.Net.Run(wheel.Time(p.WarmUp))
	r.begun = r.world.Net.Now()
	main := host.Apps{&host.Bulk{Bytes: uint64(p.Bytes), Buffer: uint32(p.SendBuffer)}, host.AppFunc(r.watch)}
	if _, err := r.senders[tableivOfTransfer].Dial(r.receivers[tableivOfTransfer], tableivPort, nil, main); err != nil {
		return c, err
	}
	for until := r.begun; !r.done; {
		if until = until.Add(time.Second); until > r.begun.Add(time.Hour) || r.failed {
			return c, fmt.Errorf("the transfer has not ended at %v", until)
		}
		r.world.Net.Run(until)
	}
	for _, err := range append(r.world.Faults(), r.err) {
		if err != nil {
			return c, err
		}
	}
	c.Seconds = r.ended.Sub(r.begun).Seconds()
	c.Timeouts = int(r.senders[tableivOfTransfer].Counters().TCPTimeouts)
	for i := range r.record.Retransmissions {
		c.Retransmitted += int(r.record.Retransmissions[i].Len)
	}
	c.Silence = r.silence.sum.Seconds()
	return c, nil
}

// tableivSilences is a tcp.Tracer that adds up the times without transmission before timeouts.
type tableivSilences struct {
	last wheel.Time // last transmission of data
	sum  time.Duration
}

// Trace implements tcp.Tracer.
func (s *tableivSilences) Trace(ev *tcp.TraceEvent) {
	if ev.Kind != tcp.TraceSent || ev.Len == 0 {
		return
	}
	if ev.Timed && ev.Timer == tcptimers.Rexmit && ev.Rexmit > 0 {
		s.sum += ev.T.Sub(s.last)
	}
	s.last = ev.T
}

// watch waits for the last ACK of the transfer.
func (r *tableivRun) watch(now wheel.Time, s *host.Session, ev tcp.Events) {
	if ev.Has(tcp.EventClosed) && !r.done {
		r.failed = true
	}
	if ev.Has(tcp.EventSent) && s.Wrote() == uint64(r.plan.Bytes) && !r.done {
		r.done, r.ended = true, now
	}
}

// next sets the timer for the next short flow.
func (r *tableivRun) next(now wheel.Time) {
	p := r.plan
	mean := float64(p.Median) * stat.Exp(p.Spread*p.Spread/2) // bytes
	every := mean / (r.load * float64(p.Rate) / 8)            // s
	wait := time.Duration(stat.Exponential(r.rng) * every * float64(time.Second))
	r.world.Net.StartTimer(r.timer, now.Add(wait))
}

// Expire implements sim.Handler: a short flow begins.
func (r *tableivRun) Expire(now wheel.Time) {
	bytes := uint64(float64(r.plan.Median) * stat.Exp(r.plan.Spread*stat.Normal(r.rng)))
	app := &host.Bulk{Bytes: max(bytes, 1), Finish: true}
	if _, err := r.senders[tableivOfShort].Dial(r.receivers[tableivOfShort], tableivPort, nil, app); err != nil && r.err == nil {
		r.err = err
	}
	r.next(now)
}
