package outage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// mss is the bytes of a segment: 1500 less the headers, without timestamps.
const mss = 1460

// sides are the timers that a case compares: the first side has one for the connection, the second
// one for each segment.
var sides = [2]tcptimers.RexmitMode{tcptimers.RexmitRestart, tcptimers.RexmitPerSegment}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, flight := range p.Flights {
		for _, span := range p.Spans {
			for _, part := range p.Parts {
				for seed := 1; seed <= p.Seeds; seed++ {
					if (span == 0 || flight == 1) && seed > 1 {
						break // nothing is random
					}
					all = append(all, experiments.Cell[Cell]{
						Name: fmt.Sprintf("flight=%d span=%v delivered=%d seed=%d", flight, span, part, seed),
						Cost: 0.005 * float64(len(p.Outages)),
						Run: func(context.Context) (Cell, error) {
							return cell(p, Cell{Flight: flight, Span: span, Part: part, Seed: seed})
						},
					})
				}
			}
		}
	}
	return all
}

func cell(p *Plan, c Cell) (Cell, error) {
	for _, outage := range p.Outages {
		for _, sack := range []bool{true, false} {
			for _, frto := range []bool{true, false} {
				x := Case{Outage: outage, SACK: sack, FRTO: frto}
				for i, into := range []*Side{&x.One, &x.Each} {
					var err error
					if *into, c.RTO, err = lose(p, &c, &x, sides[i]); err != nil {
						return c, fmt.Errorf("outage %v, SACK %v, F-RTO %v, %v: %w", outage, sack, frto, sides[i], err)
					}
				}
				c.Cases = append(c.Cases, x)
			}
		}
	}
	return c, nil
}

// starts returns when the segments of a flight leave: the first at once, the others at random over
// the span.
func starts(c *Cell) []time.Duration {
	all := make([]time.Duration, c.Flight)
	for i := 1; i < c.Flight; i++ {
		all[i] = time.Duration(testbed.Uniform(uint64(c.Seed), 0xe24, uint64(i)) * float64(c.Span))
	}
	slices.Sort(all)
	return all
}

// lose loses the flight of c as x says, and returns the reaction.
func lose(p *Plan, c *Cell, x *Case, mode tcptimers.RexmitMode) (s Side, rto time.Duration, err error) {
	tm := p.Timers
	tm.Policy.Rexmit, tm.Policy.FRTO = mode, x.FRTO
	cfg := tm.Config()
	cfg.SACK = x.SACK
	cfg.Congestion.InitialWindow = 64 * mss
	cfg.Socket.NoDelay = true
	var begin wheel.Time // of the flight; 0 before it
	var from uint64
	link := sim.LinkConfig{Delay: p.RTT / 2}
	lossy := link
	lossy.Loss = sim.Losses{&testbed.StreamLoss{Rule: func(now wheel.Time, start, _ uint64, attempt uint32) bool {
		return begin > 0 && start >= from && (attempt == 1 || now < begin.Add(x.Outage))
	}}}
	pair, err := testbed.NewPair(testbed.PairPlan{Seed: 1, Client: cfg, Server: cfg, Up: lossy, Down: link,
		Trace: true, Verify: true})
	if err != nil {
		return s, 0, err
	}
	session, err := pair.Connect()
	if err != nil {
		return s, 0, err
	}
	net := pair.World.Net
	conn := session.Conn()
	pair.RunFor(2 * p.RTT)
	for range p.Warm {
		session.Write(mss, 0)
		pair.RunFor(2 * p.RTT)
	}
	rto = conn.Info(net.Now()).RTO
	begin, from = net.Now(), session.Wrote()+uint64(c.Flight*c.Part/100*mss)
	for _, at := range starts(c) {
		pair.Run(begin.Add(at))
		session.Write(mss, 0)
	}
	record := &pair.Records[0]
	for net.Now() < begin.Add(2*time.Minute) && len(record.Retransmissions) == 0 && net.Step() {
	}
	if len(record.Retransmissions) == 0 {
		return s, rto, errors.New("no retransmission within two minutes")
	}
	first := record.Retransmissions[0].At
	pair.Run(first.Add(p.RTT - time.Microsecond))
	info := conn.Info(net.Now())
	s.First, s.Backoffs, s.Ssthresh = first.Sub(begin), info.Backoff, info.Ssthresh
	for net.Now() < begin.Add(10*time.Minute) && conn.Acked() < session.Wrote() && net.Step() {
	}
	s.Complete = net.Now().Sub(begin)
	pair.RunFor(2 * p.RTT)
	if conn.Acked() < session.Wrote() {
		return s, rto, errors.New("the flight was not repaired within ten minutes")
	}
	if err := errors.Join(pair.World.Faults()...); err != nil {
		return s, rto, err
	}
	s.Timeouts = int(pair.Client.Counters().TCPTimeouts)
	s.count(p, c, x, record.Retransmissions, begin, rto)
	return s, rto, nil
}

// count fills in the counts of retransmissions. begin is the start of the flight.
func (s *Side) count(p *Plan, c *Cell, x *Case, all []testbed.Retransmission, begin wheel.Time, rto time.Duration) {
	s.Spare = math.MaxInt64
	first, good := &all[0], c.Flight*c.Part/100
	story := c.Flight == p.Story && c.Span == p.Spans[len(p.Spans)-1] && c.Part == p.Parts[len(p.Parts)-1] &&
		c.Seed == 1
	for i := range all {
		r := &all[i]
		if r.At < first.At.Add(p.RTT) {
			s.Bytes += int(r.Len)
		}
		if r.At < begin.Add(x.Outage) {
			s.Blind++
		}
		s.Spare = min(s.Spare, r.Wait()-rto)
		if story && x.Outage == 0 && x.SACK && !x.FRTO {
			s.Retransmissions = append(s.Retransmissions, Retransmission{r.At.Sub(begin),
				int(r.Seq.Sub(first.Seq))/mss + good + 1})
		}
	}
}
