// Package sweep is study U1, for users: a plan crosses timers, path and work, and the study
// measures each combination.
//
// `tcpwheel experiment run my-plan.yaml` runs a plan whose first line is "study: sweep".
// 'tcpwheel experiment show sweep --keys' lists every key.
//
// A combination is a sender (subject, timers, tick, floor, rtt_tick, wheel) under a condition (all
// other lists). Under each condition all senders meet the same losses, pauses and starts. The study
// compares them with the first sender, object by object. Reports have a Row for each run, as CSV
// and as JSON lines.
package sweep

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is a plan of the study. Its lists are crossed.
type Plan struct {
	Subject []string         `plan:"subject" oneof:"engine binding gvisor" help:"the sender: the engine in the virtual network, the engine in a gVisor stack, or gVisor's own TCP with its own timers"`
	Timers  []testbed.Timers `plan:"timers" help:"of the sender; the first is the baseline. floor=1s leaves var-min alone, rto-floor=1s sets both"`
	Names   []string         `plan:"names" optional:"true" help:"short names for tables and figures, one for each of timers"`
	Tick    []time.Duration  `plan:"tick" min:"1us" max:"500ms" optional:"true" help:"tick of expiry, replaces that of timers"`
	Floor   []time.Duration  `plan:"floor" min:"0s" max:"1m" optional:"true" help:"RTO floor, replaces that of timers and leaves their var-min alone; 0s is none"`
	RTTTick []time.Duration  `plan:"rtt_tick" min:"0s" max:"500ms" optional:"true" help:"tick of the RTT clock, replaces that of timers; 0s is exact"`
	Wheel   []string         `plan:"wheel" optional:"true" help:"scheme of the timing wheel of subject engine, as tcpwheel wheel schemes lists them; default scheme6"`

	Control    []string `plan:"control" oneof:"newreno cubic vegas" optional:"true" help:"congestion control, replaces that of timers"`
	SACK       []bool   `plan:"sack" optional:"true" help:"of the sender, replaces that of timers"`
	Timestamps []bool   `plan:"timestamps" optional:"true" help:"of the sender, replaces that of timers"`

	Peer    []testbed.Timers `plan:"peer" help:"timers of the receivers with their delayed ACKs, such as linux delack=200ms"`
	RTT     []time.Duration  `plan:"rtt" min:"10us" max:"10s" help:"RTT of the path without queues"`
	Rate    []sim.LinkRate   `plan:"rate" help:"of the shared link towards the receivers"`
	Queue   []int            `plan:"queue" min:"0" max:"1000000" help:"most packets that wait for the shared link; 0 is no bound"`
	Jitter  []time.Duration  `plan:"jitter" min:"0s" max:"5s" help:"uniform variation of the delay towards the receivers, up or down, at most half the RTT; packets keep their order"`
	Reorder []float64        `plan:"reorder" unit:"probability" min:"0" max:"1" help:"share of packets that are late by reorder_by, so others overtake them"`
	Loss    []testbed.Fates  `plan:"loss" help:"towards the receivers, by flow"`
	AckLoss []testbed.Fates  `plan:"ack_loss" help:"towards the sender, by flow; fates and tail lose requests there, not ACKs"`

	Workload []string `plan:"workload" oneof:"bulk request-response web tail stream stop-and-wait" help:"when the objects of a flow begin"`
	Bytes    []uint64 `plan:"bytes" unit:"size" min:"1" max:"1073741824" help:"size of an object; n times 1400, for n up to 30, is n segments for all subjects"`
	Flows    []int    `plan:"flows" min:"1" max:"1000" help:"flows from one sender, each to its own receiver"`

	JitterHold time.Duration `plan:"jitter_hold" min:"0s" max:"1h" help:"how long a drawn delay holds: packets sent within it take the same time; 0s draws one for each packet"`
	ReorderBy  time.Duration `plan:"reorder_by" min:"0s" max:"10s" help:"see reorder"`
	Objects    int           `plan:"objects" min:"1" max:"10000" help:"objects of each flow, warm-up included; bulk has one"`
	Warmup     int           `plan:"warmup" min:"0" max:"9999" help:"first objects, which fates and tail spare and which do not count"`
	Request    uint32        `plan:"request" min:"1" max:"65535" help:"bytes of a request"`
	Think      time.Duration `plan:"think" min:"0s" max:"1m" help:"pause between objects, uniform from half to one and a half of it"`
	Stagger    time.Duration `plan:"stagger" min:"0s" max:"1m" help:"flows begin at random within this span, so the phase of ticks is random"`
	Limit      time.Duration `plan:"limit" min:"1ms" max:"24h" help:"virtual time; an unfinished object counts with its age"`
	MTU        int           `plan:"mtu" min:"576" max:"9000" help:"of the path"`
	FirstSeed  int           `plan:"first_seed" min:"1" max:"1000000" help:"of the runs"`
	Seeds      int           `plan:"seeds" min:"1" max:"1000" help:"so many from first_seed: each a run of its own"`
}

// Study is study U1.
var Study = experiments.Define(experiments.Spec[Plan, testbed.Result]{
	ID: "U1", Name: "sweep", Class: experiments.Shape, Files: files,
	Words: func() experiments.Words { return says },
	Check: check,
	Cells: cells,
	Judge: func(p *Plan, results []testbed.Result) (*experiments.Outcome, error) {
		return p.outcome(rowsOf(p, results)), nil
	},
	Live: []experiments.LivePart[Plan]{{Name: "kernel", Needs: testbed.NeedsRoot, Run: kernel}},
})

// cells returns the combinations in order, each with all seeds.
func cells(p *Plan) (all []experiments.Cell[testbed.Result]) {
	for _, c := range p.combinations() {
		name := p.name(c)
		for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
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

// Bounds of a plan, so no plan can overload a machine.
const (
	MaxCells = 100_000
	MaxCost  = 30.0       // seconds of a cell, estimated
	MaxTimes = 20_000_000 // objects of all cells: their times are kept
)

// Cost of a segment and of an object in seconds on a core of about 2.1 GHz, within a factor of
// three.
var costs = map[testbed.Kind]struct{ segment, object float64 }{
	testbed.Engine:  {4e-6, 20e-6},
	testbed.Binding: {25e-6, 150e-6},
	testbed.GVisor:  {45e-6, 250e-6},
}

// cost estimates the CPU time of a cell, in seconds.
func cost(s *testbed.Spec) float64 {
	c := costs[s.Kind]
	objects := float64(s.Flows * s.Work.Objects)
	return 1e-4 + float64(s.Segments()*c.segment) + float64(objects*c.object) + float64(float64(s.Flows)*1e-4)
}

// check finds faults beyond the tags.
func check(p *Plan) error {
	if err := p.checkOverrides(); err != nil {
		return err
	}
	if n := len(p.Names); n > 0 && n != len(p.Timers) {
		return fmt.Errorf("names: %d of %d timers, want one of each", n, len(p.Timers))
	}
	for _, w := range p.Wheel {
		if !slices.Contains(wheel.Schemes(), w) || w == "runtime" {
			return fmt.Errorf("wheel: %q, want one of %s", w, strings.Join(wheel.Schemes(), ", "))
		}
	}
	for _, r := range p.Reorder {
		if r > 0 && p.ReorderBy == 0 {
			return fmt.Errorf("reorder: %v without reorder_by, want a time by which packets are late", r)
		}
	}
	n := 1.0
	for _, a := range p.axes() {
		for i, l := range a.labels {
			if slices.Contains(a.labels[:i], l) {
				return fmt.Errorf("%s: %s appears twice", a.key, l)
			}
		}
		n *= float64(len(a.labels))
	}
	if n *= float64(p.Seeds); n > MaxCells {
		return fmt.Errorf("%.0f cells, all lists crossed times %d seeds, want at most %d: shorten lists, or split "+
			"the plan", n, p.Seeds, MaxCells)
	}
	times := 0.0
	for _, c := range p.combinations() {
		if _, err := p.timers(c); err != nil {
			return p.refused(c, err)
		}
		s := p.spec(c, 1)
		if s.Work.Shape != testbed.Bulk && p.Warmup >= p.Objects {
			return fmt.Errorf("warmup: %d of %d objects, want fewer than there are", p.Warmup, p.Objects)
		}
		if err := s.Check(); err != nil {
			return fmt.Errorf("%s (with %s)", strings.TrimPrefix(err.Error(), "subject: "), p.name(c))
		}
		times += float64(s.Flows * s.Work.Objects * p.Seeds)
		if t := cost(s); t > MaxCost {
			return fmt.Errorf("a cell of %.0f segments, which takes about %.0f s, want at most %.0f s: lower "+
				"flows, objects or bytes (with %s)",
				s.Segments(), t, MaxCost, p.name(c))
		}
	}
	if times > MaxTimes {
		return fmt.Errorf("%.0f objects in all cells, want at most %d: lower flows, objects or seeds, or shorten "+
			"lists", times, MaxTimes)
	}
	return nil
}

// refused returns the error for timers that conflict with lists. It names the list if only one
// conflicts.
func (p *Plan) refused(c combination, err error) error {
	base := pick(p.Timers, c, "timers").Text
	for _, o := range []struct {
		key  string
		list []time.Duration
	}{{"tick", p.Tick}, {"floor", p.Floor}, {"rtt_tick", p.RTTTick}} {
		if len(o.list) == 0 {
			continue
		}
		alone := Plan{Timers: p.Timers}
		switch o.key {
		case "tick":
			alone.Tick = o.list
		case "floor":
			alone.Floor = o.list
		case "rtt_tick":
			alone.RTTTick = o.list
		}
		if _, err := alone.timers(c); err != nil {
			return fmt.Errorf("%s: %v for timers %q: %w", o.key, pick(o.list, c, o.key), base, err)
		}
	}
	return fmt.Errorf("timers: %q: %w (with %s)", base, err, p.name(c))
}

// checkOverrides refuses a list for a value that the text of timers sets, too.
func (p *Plan) checkOverrides() error {
	for _, t := range p.Timers {
		words := strings.Fields(t.Text)
		has := func(prefix string) bool {
			return slices.ContainsFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, prefix) })
		}
		for _, o := range []struct {
			key       string
			set, said bool
		}{
			{"tick", len(p.Tick) > 0, strings.Contains(words[0], "@")},
			{"floor", len(p.Floor) > 0, has("floor=")},
			{"rtt_tick", len(p.RTTTick) > 0, has("rtt-tick=")},
			{"control", len(p.Control) > 0, has("control=")},
			{"sack", len(p.SACK) > 0, has("+sack") || has("-sack")},
			{"timestamps", len(p.Timestamps) > 0, has("+timestamps") || has("-timestamps")},
		} {
			if o.set && o.said {
				return fmt.Errorf("%s: timers %q set it, too: want it in one place", o.key, t.Text)
			}
		}
	}
	return nil
}

// spec returns the run of a combination with a seed.
func (p *Plan) spec(c combination, seed int) *testbed.Spec {
	timers, _ := p.timers(c) // check found the error
	rtt, jitter := pick(p.RTT, c, "rtt"), pick(p.Jitter, c, "jitter")
	data := sim.LinkConfig{
		Delay: rtt - rtt/2, Rate: uint64(pick(p.Rate, c, "rate").Fixed), Trace: pick(p.Rate, c, "rate").Trace,
		Queue:  sim.Limit{Packets: uint32(pick(p.Queue, c, "queue"))},
		Jitter: sim.Jitter{Amount: jitter, Hold: p.JitterHold},
	}
	if share := pick(p.Reorder, c, "reorder"); share > 0 {
		data.Reorder = sim.Reorder{Probability: share, Extra: p.ReorderBy}
	}
	s := &testbed.Spec{
		Kind: testbed.Kind(pick(p.Subject, c, "subject")), Timers: timers, Peer: pick(p.Peer, c, "peer"),
		Seed: uint64(seed),
		Work: testbed.Work{
			Shape: testbed.Shape(pick(p.Workload, c, "workload")), Objects: p.Objects, Warm: p.Warmup,
			Bytes:   pick(p.Bytes, c, "bytes"),
			Request: p.Request, Think: p.Think,
		},
		Path: testbed.Path{
			Data: data, Acks: sim.LinkConfig{Delay: rtt / 2},
			Fates: pick(p.Loss, c, "loss"), AckFates: pick(p.AckLoss, c, "ack_loss"),
		},
		Flows: pick(p.Flows, c, "flows"), Stagger: p.Stagger, Limit: p.Limit, MTU: p.MTU,
		Control: pick(p.Control, c, "control"),
	}
	if s.Work.Shape == testbed.Bulk {
		s.Work.Objects, s.Work.Warm = 1, 0
	}
	if s.Kind == testbed.Engine {
		s.Scheme = pick(p.Wheel, c, "wheel")
	}
	if len(p.SACK) > 0 {
		s.SACK = new(pick(p.SACK, c, "sack"))
	}
	if len(p.Timestamps) > 0 {
		s.Timestamps = new(pick(p.Timestamps, c, "timestamps"))
	}
	return s
}

// timers returns the timers of a combination, with the values of lists in place of their own. The
// error is that of a tick that conflicts with the rest.
func (p *Plan) timers(c combination) (testbed.Timers, error) {
	t := pick(p.Timers, c, "timers")
	words := strings.Fields(t.Text)
	if len(p.Tick) > 0 {
		words[0] += "@" + pick(p.Tick, c, "tick").String()
	}
	if len(p.Floor) > 0 {
		words = slices.Insert(words, 1, "floor="+max(pick(p.Floor, c, "floor"), 1).String())
	}
	if len(p.RTTTick) > 0 {
		words = slices.Insert(words, 1, "rtt-tick="+pick(p.RTTTick, c, "rtt_tick").String())
	}
	text := strings.Join(words, " ")
	if text == t.Text {
		return t, nil
	}
	return testbed.ParseTimers(text)
}
