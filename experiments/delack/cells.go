package delack

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// mss is the bytes of a segment: 1500 less the headers, without timestamps.
const mss = 1460

// longest is the longest delay of an ACK (RFC 5681 §4.2).
const longest = 500 * time.Millisecond

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	add := func(name string, cost float64, c Cell, run func(p *Plan, c *Cell) error) {
		name = fmt.Sprintf("%s %s seed=%d", c.Kind, name, c.Seed)
		all = append(all, experiments.Cell[Cell]{Name: name, Cost: cost, Run: func(context.Context) (Cell, error) {
			c := c
			err := run(p, &c)
			return c, err
		}})
	}
	peers := append([]time.Duration{0}, p.Delays...)
	for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
		for _, delay := range peers {
			for _, burst := range p.Bursts {
				add(fmt.Sprintf("delay=%v burst=%d", delay, burst), 1e-5*float64(p.Arrivals),
					Cell{Kind: kindArrivals, Delay: delay, Seed: seed, RTT: p.ArrivalRTT, Burst: burst}, arrivals)
			}
			for _, rtt := range p.WaitRTTs {
				add(fmt.Sprintf("delay=%v rtt=%v", delay, rtt), 1e-5*float64(p.WaitSegments),
					Cell{Kind: kindWait, Delay: delay, Seed: seed, RTT: rtt}, wait)
			}
			for _, policy := range p.Policies {
				for _, tail := range p.GridTails {
					add(fmt.Sprintf("%s delay=%v tail=%d", policy, delay, tail), 2e-5*float64(p.Tails*p.Evens),
						Cell{Kind: kindPolicy, Delay: delay, Seed: seed, RTT: p.GridRTT, Burst: tail, Policy: policy},
						policies)
				}
			}
		}
	}
	for _, second := range []bool{false, true} {
		for _, tail := range p.GridTails {
			cost := 4e-5 * float64(p.Tails*p.Evens*len(p.Floors))
			for _, delay := range p.GridDelays {
				add(fmt.Sprintf("delay=%v tail=%d second=%v", delay, tail, second), cost,
					Cell{Kind: kindGrid, Delay: delay, Seed: p.FirstSeed, RTT: p.GridRTT, Burst: tail, Second: second}, grid)
			}
			for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
				add(fmt.Sprintf("heartbeat tail=%d second=%v", tail, second), cost,
					Cell{Kind: kindGrid, Seed: seed, RTT: p.GridRTT, Burst: tail, Second: second}, grid)
			}
			add(fmt.Sprintf("tail=%d second=%v", tail, second), cost,
				Cell{Kind: kindRemedy, Seed: p.FirstSeed, RTT: p.GridRTT, Burst: tail, Second: second}, remedy)
		}
	}
	for _, delay := range p.Delays {
		for _, burst := range p.OddBursts {
			for _, rule := range p.rules(delay) {
				add(fmt.Sprintf("delay=%v %s burst=%d", delay, rule.name, burst), 2e-5*float64(p.Tails*p.Evens),
					Cell{Kind: kindOdd, Delay: delay, Seed: p.FirstSeed, RTT: p.GridRTT, Burst: burst, Policy: rule.name}, odd)
			}
		}
	}
	return all
}

// bed is a sender, and a receiver that delays its ACKs.
type bed struct {
	pair    *testbed.Pair
	session *host.Session
	rtt     time.Duration
	watch   watch
	lose    uint64     // the end of a segment in the stream: its first transmission is lost
	again   wheel.Time // its next transmission
}

// loses is a rule of testbed.StreamLoss.
func (b *bed) loses(now wheel.Time, _, end uint64, attempt uint32) bool {
	if end == b.lose && attempt == 2 {
		b.again = now
	}
	return end == b.lose && attempt == 1
}

// watch is a tcp.Tracer of the receiver that measures the delay of the last ACK.
type watch struct {
	last  wheel.Time // last arrival of data
	delay time.Duration
}

// Trace implements tcp.Tracer.
func (w *watch) Trace(ev *tcp.TraceEvent) {
	switch {
	case ev.Kind == tcp.TraceReceived && ev.Len > 0:
		w.last = ev.T
	case ev.Kind == tcp.TraceSent && ev.Len == 0:
		w.delay = ev.T.Sub(w.last)
	}
}

// newBed connects the two. delay 0 is the heartbeat.
func newBed(p *Plan, c *Cell, tm testbed.Timers, delay time.Duration, app host.App) (*bed, error) {
	b := &bed{rtt: c.RTT}
	cfg := tm.Config()
	cfg.Socket.NoDelay = true
	cfg.Congestion.InitialWindow = 16 * mss
	link := sim.LinkConfig{Delay: c.RTT / 2}
	var err error
	up := sim.LinkConfig{Delay: c.RTT / 2, Loss: sim.Losses{&testbed.StreamLoss{Rule: b.loses}}}
	b.pair, err = testbed.NewPair(testbed.PairPlan{
		Seed: uint64(c.Seed), Client: cfg, Server: tcp.DefaultConfig(peerPolicy(p, delay)),
		Up: up, Down: link, Trace: true, Verify: true,
	})
	if err != nil {
		return nil, err
	}
	b.pair.Records[1].Next = &b.watch
	sink := func() host.App { return &host.Sink{} }
	if err := b.pair.Server.Listen(80, tcp.ListenConfig{Backlog: 1}, sink); err != nil {
		return nil, err
	}
	if app == nil {
		app = host.AppFunc(func(wheel.Time, *host.Session, tcp.Events) {})
	}
	b.session, err = b.pair.Client.Dial(b.pair.Server, 80, nil, app)
	if err != nil {
		return nil, err
	}
	// A receiver that has not seen a full-sized segment counts the first as more than one, and delays
	// the ACK of the second.
	b.run(2 * b.rtt)
	b.burst(2)
	b.run(2*b.rtt + longest)
	return b, nil
}

// peerPolicy returns a policy with a timer for delayed ACKs, or with the heartbeat if delay is 0.
func peerPolicy(p *Plan, delay time.Duration) tcptimers.Policy {
	peer := testbed.MustTimers("rfc6298@exact").Policy
	peer.DelAck = tcptimers.DelAckConfig{Every: 2, Delay: delay, Min: delay, Max: delay}
	if delay == 0 {
		peer.DelAck = tcptimers.DelAckConfig{Every: 2, Heartbeat: p.Heartbeat, Max: p.Heartbeat}
	}
	return peer
}

func (b *bed) now() wheel.Time         { return b.pair.World.Net.Now() }
func (b *bed) run(d time.Duration)     { b.pair.Run(b.now().Add(d)) }
func (b *bed) record() *testbed.Record { return &b.pair.Records[0] }
func (b *bed) faults() error           { return errors.Join(b.pair.World.Faults()...) }
func (b *bed) burst(segments int)      { b.session.Write(uint32(segments*mss), 0) }
func (b *bed) rto() time.Duration      { return b.session.Conn().Info(b.now()).RTO }
func draw(seed int, n int) float64     { return testbed.Uniform(uint64(seed), 0xe13, uint64(n)) }
func ms(d time.Duration) float64       { return float64(d) / 1e6 }
func patient(text string) testbed.Timers {
	return testbed.MustTimers(text + " control=newreno -timestamps")
}

// arrivals sends bursts at random instants, each when all earlier data is acknowledged.
func arrivals(p *Plan, c *Cell) error {
	b, err := newBed(p, c, patient("rfc6298@exact floor=3s"), c.Delay, nil)
	if err != nil {
		return err
	}
	var delays []time.Duration
	for i := range p.Arrivals {
		b.run(time.Duration(draw(c.Seed, i) * float64(p.Heartbeat)))
		b.watch.delay = -1
		b.burst(c.Burst)
		b.run(c.RTT + p.Heartbeat + longest)
		if b.session.Unacked() > 0 || b.watch.delay < 0 {
			return fmt.Errorf("burst %d is not acknowledged", i)
		}
		delays = append(delays, b.watch.delay)
	}
	if len(b.record().Retransmissions) > 0 {
		return errors.New("there is a retransmission, want none")
	}
	c.Mean, c.P99 = time.Duration(stat.Mean(delays)), time.Duration(stat.Quantile(delays, 0.99))
	c.Least, c.Greatest = slices.Min(delays), slices.Max(delays)
	beats := make([]float64, len(delays))
	for i, d := range delays {
		beats[i] = float64(d) / float64(p.Heartbeat)
	}
	_, c.KS = stat.KolmogorovSmirnov(beats, func(x float64) float64 { return min(max(x, 0), 1) })
	return b.faults()
}

// wait sends a segment when the one before is acknowledged, from a random instant on.
func wait(p *Plan, c *Cell) error {
	const settle = 10
	sent, from, until := 0, wheel.Time(0), wheel.Time(0)
	app := host.AppFunc(func(now wheel.Time, s *host.Session, ev tcp.Events) {
		if sent == 0 || s.Unacked() > 0 || sent > settle+p.WaitSegments || ev.Has(tcp.EventClosed) {
			return
		}
		switch sent {
		case settle:
			from = now
		case settle + p.WaitSegments:
			until = now
		}
		sent++
		s.Write(500, 0)
	})
	b, err := newBed(p, c, patient("rfc6298@exact floor=6s"), c.Delay, app)
	if err != nil {
		return err
	}
	b.run(time.Duration(draw(c.Seed, 0) * float64(p.Heartbeat)))
	sent++
	b.session.Write(500, 0)
	b.run(time.Duration(settle+p.WaitSegments+1) * (c.RTT + 2*max(p.Heartbeat, c.Delay)))
	if until == 0 || len(b.record().Retransmissions) > 0 {
		return fmt.Errorf("%d segments of %d were sent, with %d retransmissions",
			sent, settle+p.WaitSegments, len(b.record().Retransmissions))
	}
	c.Period = until.Sub(from) / time.Duration(p.WaitSegments)
	return b.faults()
}

// floored returns one timer, or a timer per segment, over a floor on the variation, or on the
// timeout.
func floored(floor time.Duration, second, each bool) testbed.Timers {
	text := "linux@exact rexmit=restart -tlp -rack -frto floor=" + floor.String()
	if second {
		text = "rfc6298@exact rexmit=restart -tlp -rack -frto floor=" + floor.String()
	}
	tm := patient(text)
	if each {
		tm.Policy.Rexmit = tcptimers.RexmitPerSegment
	}
	return tm
}

// grid runs the tails of all floors with the delay of c.
func grid(p *Plan, c *Cell) error {
	for _, floor := range p.Floors {
		for _, each := range []bool{false, true} {
			pt := Point{Floor: floor, Each: each}
			if err := tails(p, c, floored(floor, c.Second, each), c.Delay, &pt); err != nil {
				return fmt.Errorf("floor %v: %w", floor, err)
			}
			c.Grid = append(c.Grid, pt)
		}
	}
	return nil
}

// remedy lets the peer delay its ACKs by a tick less than the floor.
func remedy(p *Plan, c *Cell) error {
	for _, floor := range p.Floors {
		delay := floor - p.Tick
		if delay <= 0 || delay > longest {
			continue // RFC 5681 §4.2 allows no longer delay
		}
		for _, each := range []bool{false, true} {
			pt := Point{Floor: floor, Each: each}
			if err := tails(p, c, floored(floor, c.Second, each), delay, &pt); err != nil {
				return fmt.Errorf("floor %v: %w", floor, err)
			}
			c.Grid = append(c.Grid, pt)
		}
	}
	return nil
}

// policies runs whole policies with the delay of c.
func policies(p *Plan, c *Cell) error {
	pt := Point{}
	err := tails(p, c, testbed.MustTimers(c.Policy+" -timestamps"), c.Delay, &pt)
	c.Grid = []Point{pt}
	return err
}

// evens sends even bursts, whose ACKs come at once and bring SRTT to the round trip. The first
// comes a phase before the others.
func (b *bed) evens(p *Plan, phase time.Duration) {
	for i := range p.Evens {
		b.burst(2)
		b.run(b.rtt + time.Millisecond)
		if b.session.Unacked() > 0 { // the window is one segment, whose ACK is delayed
			b.run(longest)
		}
		if i == 0 {
			b.run(phase)
		}
	}
	if b.session.Unacked() > 0 {
		b.run(time.Minute)
	}
}

// tails sends odd tails after even bursts, and counts those with a spurious retransmission.
func tails(p *Plan, c *Cell, tm testbed.Timers, delay time.Duration, pt *Point) error {
	b, err := newBed(p, c, tm, delay, nil)
	if err != nil {
		return err
	}
	for tail := range p.Tails {
		b.evens(p, time.Duration(draw(c.Seed, tail)*float64(p.Heartbeat)))
		before, begin, rto := len(b.record().Retransmissions), b.now(), b.rto()
		b.burst(c.Burst)
		b.run(c.RTT)
		expires := tm.Policy.Deadline(begin, rto)
		if c.Burst > 1 {
			// ACKs of the pairs before the last segment have arrived, with RTT samples. They restart one
			// timer. The timer of a segment moves only with a longer timeout.
			if pt.Each {
				expires = max(expires, tm.Policy.Deadline(begin, b.rto()))
			} else {
				expires = tm.Policy.Deadline(b.now(), b.rto())
			}
		}
		arrives := ackArrives(p, begin, c.RTT, delay)
		b.run(longest)
		spurious := false
		for _, r := range b.record().Retransmissions[before:] {
			spurious = spurious || r.First >= begin
		}
		// At one instant either may be first.
		if expires != arrives && spurious != (expires < arrives) {
			pt.Against++
		}
		pt.Tails++
		if spurious {
			pt.Spurious++
		}
		b.run(time.Minute) // for backed-off timeouts
	}
	return b.faults()
}

// ackArrives returns when the ACK of a lone segment, or of the last of an odd burst, sent at begin
// arrives: after the delay, or after the first beat that follows its arrival.
func ackArrives(p *Plan, begin wheel.Time, rtt, delay time.Duration) wheel.Time {
	peer := peerPolicy(p, delay)
	return peer.DelAckDeadline(begin.Add(rtt/2), delay).Add(rtt / 2)
}
