// Package tailmap is study E17, which finds the rule that repairs a lost tail first.
package tailmap

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/wheel"
)

//go:embed *.md *.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Segments int             `plan:"segments" min:"2" max:"64"`
	Lost     []int           `plan:"lost" min:"1" max:"63"`
	RTTs     []time.Duration `plan:"rtts" min:"100us" max:"600ms"`
	Warm     int             `plan:"warm" min:"30" max:"1000"`

	GapRTT    time.Duration   `plan:"gap_rtt" min:"1ms" max:"600ms"`
	Gaps      []time.Duration `plan:"gaps" min:"0s" max:"100ms"`
	TickRTT   time.Duration   `plan:"tick_rtt" min:"1ms" max:"600ms"`
	Ticks     []time.Duration `plan:"ticks" min:"1us" max:"500ms"`
	FirstSeed int             `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int             `plan:"seeds" min:"1" max:"1000"`

	GVisorSegments []int           `plan:"gvisor_segments" min:"1" max:"10"`
	GVisorRTTs     []time.Duration `plan:"gvisor_rtts" min:"1ms" max:"1s"`
}

// Kind is the experiment of a cell.
type Kind string

const (
	kindMap    Kind = "map"    // one round trip and floor, all rules and numbers of lost segments
	kindAge    Kind = "age"    // segments that are apart
	kindTick   Kind = "tick"   // coarser ticks at a random phase
	kindGVisor Kind = "gvisor" // gVisor's own TCP
)

// Cell is the result of one setting.
type Cell struct {
	Kind  Kind          `json:"kind"`
	Floor string        `json:"floor,omitempty"` // on the timeout
	RTT   time.Duration `json:"rtt_s"`
	Gap   time.Duration `json:"gap_s,omitempty"`  // between the segments of a flight
	Tick  time.Duration `json:"tick_s,omitempty"` // of expiry
	Seed  int           `json:"seed,omitempty"`   // of the phase of the tick
	Tails []Tail        `json:"tails"`
}

// Tail is one lost tail and its repair. Times count from the first transmission of the first lost
// segment.
type Tail struct {
	Rule           string        `json:"rule"`               // of the sender's timers
	Segments       int           `json:"segments,omitempty"` // of gVisor's responses
	Lost           int           `json:"lost"`
	RTO            time.Duration `json:"rto_s,omitempty"`  // when the flight left
	Retransmission time.Duration `json:"retransmission_s"` // the first one of the tail
	Complete       time.Duration `json:"complete_s"`       // the ACK of the whole tail
	Age            time.Duration `json:"age_s,omitempty"`  // the last ACK before the retransmission
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E17", Name: "tailmap", Bed: "pair", Class: experiments.Exact, Files: files,
	Words: func() experiments.Words { return words },
	Check: func(p *Plan) error {
		for _, j := range p.Lost {
			if j >= p.Segments {
				return fmt.Errorf("lost: %d of %d segments, want fewer", j, p.Segments)
			}
		}
		for _, gap := range p.Gaps {
			if time.Duration(p.Segments)*gap > p.GapRTT {
				return fmt.Errorf("gaps: %v, want at most %v, so that the flight leaves within gap_rtt", gap,
					p.GapRTT/time.Duration(p.Segments))
			}
		}
		return nil
	},
	Cells: cells,
	Judge: judgeTails,
})

// The rules, as tables name them.
const (
	oneTimer   = "one timer"
	rtoRestart = "RTO restart"
	perSegment = "timer per segment"
	probe      = "probe"
	shipped    = "default"
	gvisor     = "gVisor"
)

// rules are the rules that have a law.
var rules = []string{oneTimer, rtoRestart, perSegment, probe}

// The floors on the timeout.
const (
	floorLinux  = "200 ms on the variation"
	floorSecond = "1 s on the timeout"
)

var floors = []string{floorLinux, floorSecond}

// maxAckDelay is how long a probe for a lone segment waits for a delayed ACK (MaxAckDelay of all
// policies here).
const maxAckDelay = 200 * time.Millisecond

// timers returns the timers of a rule over a floor and a tick.
func timers(rule, floor string, tick time.Duration) testbed.Timers {
	const common = " delack=off control=newreno -timestamps -frto"
	at := "@" + tick.String()
	base := "linux" + at
	if floor == floorSecond {
		base = "rfc6298" + at + " floor=1s"
	}
	switch rule {
	case rtoRestart:
		return testbed.MustTimers(base + " rexmit=rto-restart -tlp -rack" + common)
	case perSegment:
		return testbed.MustTimers(base + " rexmit=per-segment -tlp -rack" + common)
	case probe:
		return testbed.MustTimers(base + " rexmit=restart +tlp +rack" + common)
	case shipped:
		if floor == floorSecond {
			return testbed.MustTimers("per-segment" + at + " floor=1s" + common)
		}
		return testbed.MustTimers("per-segment" + at + " var-min=200ms" + common)
	}
	return testbed.MustTimers(base + " rexmit=restart -tlp -rack" + common)
}

// timeout returns the RTO at a steady round trip. An engine's is up to 3 ns longer: the rounding of
// RTTVAR.
func timeout(floor string, rtt time.Duration) time.Duration {
	if floor == floorSecond {
		return max(time.Second, rtt)
	}
	return rtt + 200*time.Millisecond
}

// mss is the payload of a segment: 1500 bytes less the headers, without timestamps.
const mss = 1460

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	add := func(name string, cost float64, c Cell, rules []string, lost []int) {
		all = append(all, experiments.Cell[Cell]{Name: name, Cost: cost, Run: func(context.Context) (Cell, error) {
			c := c
			for _, rule := range rules {
				for _, j := range lost {
					t, err := tailLoss(p, &c, rule, j)
					if err != nil {
						return c, fmt.Errorf("%s, %d lost: %w", rule, j, err)
					}
					c.Tails = append(c.Tails, t)
				}
			}
			return c, nil
		}})
	}
	everyone := append([]string{shipped}, rules...)
	for _, floor := range floors {
		for _, rtt := range p.RTTs {
			add(fmt.Sprintf("floor=%.1s rtt=%v", floor, rtt), 2e-3*float64(5*len(p.Lost)),
				Cell{Kind: kindMap, Floor: floor, RTT: rtt, Tick: testbed.Exact}, everyone, p.Lost)
		}
		for _, gap := range p.Gaps {
			add(fmt.Sprintf("floor=%.1s gap=%v", floor, gap), 2e-3*float64(3*len(p.Lost)),
				Cell{Kind: kindAge, Floor: floor, RTT: p.GapRTT, Gap: gap, Tick: testbed.Exact}, rules[:3], p.Lost)
		}
	}
	for _, tick := range p.Ticks {
		for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
			add(fmt.Sprintf("tick=%v seed=%d", tick, seed), 2e-3*float64(4*len(p.Lost)),
				Cell{Kind: kindTick, Floor: floorLinux, RTT: p.TickRTT, Tick: tick, Seed: seed}, rules, p.Lost)
		}
	}
	for _, rtt := range p.GVisorRTTs {
		all = append(all, experiments.Cell[Cell]{
			Name: fmt.Sprintf("gvisor rtt=%v", rtt), Cost: 0.2,
			Run: func(ctx context.Context) (Cell, error) {
				return gvisorTails(ctx, p, rtt)
			},
		})
	}
	return all
}

// watch is a tcp.Tracer that follows one flight.
type watch struct {
	next          tcp.Seq // behind the last byte sent
	on            bool
	from, to      tcp.Seq    // of the lost tail
	first         wheel.Time // first transmission of from
	lastAck       wheel.Time // before the first retransmission
	retransmitted wheel.Time
	complete      wheel.Time
}

// Trace implements tcp.Tracer.
func (w *watch) Trace(ev *tcp.TraceEvent) {
	if ev.Kind == tcp.TraceSent && ev.Rexmit == 0 {
		w.next = ev.Header.Seq.Add(ev.Len)
		if ev.Header.Flags.Has(tcp.SYN) {
			w.next = w.next.Add(1)
		}
	}
	switch {
	case !w.on:
	case ev.Kind == tcp.TraceSent && ev.Len > 0:
		if ev.Header.Seq == w.from && ev.Rexmit == 0 {
			w.first = ev.T
		}
		if ev.Rexmit > 0 && w.retransmitted == 0 {
			w.retransmitted = ev.T
		}
	case ev.Kind == tcp.TraceReceived:
		if w.retransmitted == 0 && ev.Header.Ack.AtOrBefore(w.from) {
			w.lastAck = ev.T
		}
		if w.complete == 0 && ev.Header.Ack == w.to {
			w.complete = ev.T
		}
	}
}

// tailLoss loses the tail of a flight in the setting of c.
func tailLoss(p *Plan, c *Cell, rule string, lost int) (t Tail, err error) {
	tm := timers(rule, c.Floor, c.Tick)
	cfg := tm.Config()
	cfg.Congestion.InitialWindow = 64 * mss
	cfg.Socket.NoDelay = true
	// The rules differ in their timers only: all halve the flight (RFC 5681 §3.1), and none cwnd, as
	// Linux would.
	cfg.Congestion.Reduce = congestion.ReduceFlight
	var from uint64 // position of the lost tail in the stream; 0 means no loss yet
	link := sim.LinkConfig{Delay: c.RTT / 2}
	lossy := link
	lossy.Loss = sim.Losses{&testbed.StreamLoss{Rule: func(_ wheel.Time, start, _ uint64, attempt uint32) bool {
		return from > 0 && start >= from && attempt == 1
	}}}
	pair, err := testbed.NewPair(testbed.PairPlan{Seed: 1, Client: cfg, Server: cfg, Up: lossy, Down: link,
		Trace: true, Verify: true})
	if err != nil {
		return t, err
	}
	w := &watch{}
	pair.Records[0].Next = w
	session, err := pair.Connect()
	if err != nil {
		return t, err
	}
	pair.RunFor(2 * c.RTT)
	for range p.Warm {
		session.Write(mss, 0)
		pair.RunFor(2 * c.RTT)
	}
	if c.Seed > 0 { // the phase of the tick, the same for all rules
		pair.RunFor(time.Duration(testbed.Uniform(uint64(c.Seed), 0xe17) * float64(c.Tick)))
	}
	info := session.Conn().Info(pair.World.Net.Now())
	if want := timeout(c.Floor, c.RTT); c.Kind == kindMap && (info.RTO < want || info.RTO > want+time.Microsecond) &&
		rule != shipped {
		return t, fmt.Errorf("the timeout is %v, want %v", info.RTO, want)
	}
	good := p.Segments - lost
	from = session.Wrote() + uint64(good*mss)
	w.on, w.from, w.to = true, w.next.Add(uint32(good*mss)), w.next.Add(uint32(p.Segments*mss))
	if c.Gap == 0 {
		session.Write(uint32(p.Segments*mss), 0)
	} else {
		for range p.Segments {
			session.Write(mss, 0)
			pair.RunFor(c.Gap)
		}
	}
	pair.RunFor(time.Minute)
	switch err := errors.Join(pair.World.Faults()...); {
	case err != nil:
		return t, err
	case w.first == 0 || w.retransmitted == 0 || w.complete == 0:
		return t, fmt.Errorf("the tail was not repaired within a minute")
	}
	t = Tail{Rule: rule, Lost: lost, RTO: info.RTO, Retransmission: w.retransmitted.Sub(w.first),
		Complete: w.complete.Sub(w.first), Age: w.lastAck.Sub(w.first)}
	return t, nil
}

// gvisorTails loses the last segment of gVisor's responses, for all sizes of the plan, and several
// last segments of the largest.
func gvisorTails(ctx context.Context, p *Plan, rtt time.Duration) (Cell, error) {
	c := Cell{Kind: kindGVisor, RTT: rtt}
	add := func(segments, lost int) error {
		t, err := gvisorTail(ctx, p, rtt, segments, lost)
		c.Tails = append(c.Tails, t)
		return err
	}
	for _, segments := range p.GVisorSegments {
		if err := add(segments, 1); err != nil {
			return c, err
		}
	}
	for _, lost := range p.Lost {
		if lost > 1 {
			if err := add(min(p.Segments, 10), lost); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

func gvisorTail(ctx context.Context, p *Plan, rtt time.Duration, segments, lost int) (t Tail, err error) {
	const segment = 1400 // bytes: fits one segment of any TCP here
	fates, err := testbed.ParseFates(fmt.Sprintf("tail:%d", lost))
	if err != nil {
		return t, err
	}
	link := sim.LinkConfig{Delay: rtt / 2}
	r, err := testbed.Run(ctx, &testbed.Spec{
		Kind: testbed.GVisor, Timers: timers(oneTimer, floorLinux, testbed.Exact),
		Peer: testbed.MustTimers("per-segment@exact delack=off"), Seed: 1,
		Work: testbed.Work{Shape: testbed.Answers, Request: 1, Objects: p.Warm + 1, Warm: p.Warm,
			Bytes: uint64(segments * segment), Think: time.Second},
		Path: testbed.Path{Data: link, Acks: link, Fates: fates}, Flows: 1, Limit: time.Hour,
	})
	if err != nil {
		return t, err
	}
	if r.Lost != lost || len(r.Times) != 1 || r.Unfinished > 0 {
		return t, fmt.Errorf("gVisor lost %d segments, want %d, or did not recover", r.Lost, lost)
	}
	return Tail{Rule: gvisor, Segments: segments, Lost: lost, Retransmission: slices.Min(r.Waits),
		Complete: r.Times[0]}, nil
}
