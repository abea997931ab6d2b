// Package pacing is study E29: release times and retransmission timers in one wheel. How fine must
// its tick be for either, and what does it cost to share?
package pacing

import (
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study. Ticks, rates, round trips and losses are crossed.
type Plan struct {
	Timers     testbed.Timers  `plan:"timers"`
	Ticks      []time.Duration `plan:"ticks" min:"1us" max:"500ms" order:"rising"`
	Rates      []int           `plan:"rates" unit:"rate" min:"100000" max:"100000000000" order:"rising"`
	RoundTrips []time.Duration `plan:"round_trips" min:"10us" max:"1s" order:"rising"`
	Losses     []float64       `plan:"losses" min:"0" max:"0.5" order:"rising"`

	Access    int     `plan:"access" min:"1" max:"1000"`
	Buffer    float64 `plan:"buffer" min:"0.01" max:"100"`
	Least     int     `plan:"least_buffer" min:"1" max:"100000"`
	Trips     int     `plan:"transfer" min:"1" max:"10000"`
	Shorter   int     `plan:"least_transfer" min:"1" max:"1000000"`
	Objects   int     `plan:"transfers" min:"1" max:"10000"`
	FirstSeed int     `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int     `plan:"seeds" min:"1" max:"1000"`

	OldTimers  testbed.Timers `plan:"old_timers"`
	TailTimers testbed.Timers `plan:"tail_timers"`
	TailLoss   float64        `plan:"tail_loss" min:"0" max:"0.5"`
	Tail       int            `plan:"tail_transfer" min:"1" max:"10000"`
	Tails      int            `plan:"tail_transfers" min:"1" max:"100000"`

	GapTimers testbed.Timers `plan:"gap_timers"`
	GapRate   int            `plan:"gap_rate" unit:"rate" min:"100000" max:"100000000000"`
	GapTrip   time.Duration  `plan:"gap_round_trip" min:"10us" max:"1s"`
	GapBuffer int            `plan:"gap_buffer" min:"1" max:"100000"`
	GapBytes  int            `plan:"gap_bytes" unit:"size" min:"100000" max:"1000000000"`
	Train     time.Duration  `plan:"train" min:"1us" max:"1s"`

	Queues  []string      `plan:"queues" oneof:"one-wheel two-wheels hierarchy"`
	Flows   []int         `plan:"flows" min:"10" max:"10000000" order:"rising"`
	Packets int           `plan:"packets_per_second" min:"1000" max:"100000000"`
	Tick    time.Duration `plan:"release_tick" min:"1us" max:"100ms"`
	Coarse  time.Duration `plan:"rto_tick" min:"1us" max:"100ms"`
	RTO     time.Duration `plan:"rto" min:"1ms" max:"1m"`
	Watched time.Duration `plan:"watched" min:"1ms" max:"1m"`
}

// Cell is a run. Each kind leaves the measures of others at 0.
type Cell struct {
	Kind  string        `json:"kind"`
	Paced bool          `json:"paced"`  // whether a timer releases each segment
	Tick  time.Duration `json:"tick_s"` // of the one wheel that has all timers of the sender
	Seed  int           `json:"seed"`

	Rate      int           `json:"rate,omitempty"`         // of the bottleneck, bit/s
	RoundTrip time.Duration `json:"round_trip_s,omitempty"` // of idle links
	Loss      float64       `json:"loss,omitempty"`         // share that the path loses, besides the queue
	Gap       time.Duration `json:"gap_s,omitempty"`        // the time of a full packet at the bottleneck
	Room      int           `json:"room,omitempty"`         // packets that the queue of the bottleneck holds

	Sent       int           `json:"sent,omitempty"`       // packets with data
	Took       time.Duration `json:"took_s,omitempty"`     // sum over the transfers, to the last ACK
	Bits       float64       `json:"bits,omitempty"`       // of all transfers, without headers
	Dropped    uint64        `json:"dropped,omitempty"`    // packets, at the queue
	QueueSum   float64       `json:"queue_sum,omitempty"`  // packets that waited, over the packets that came
	QueueMost  int           `json:"queue_most,omitempty"` // packets that waited at once
	Trains     int           `json:"trains,omitempty"`     // packets with short gaps, as they leave the sender
	Longest    int           `json:"longest,omitempty"`    // packets of a train
	Alone      int           `json:"alone,omitempty"`      // packets that were a train of one
	UpTo5      int           `json:"up_to_5,omitempty"`    // packets in trains of up to five
	GapErrors  float64       `json:"gap_errors,omitempty"` // sum of the differences between gaps and Gap, in gaps
	Timeouts   uint64        `json:"timeouts,omitempty"`
	Expiries   uint64        `json:"expiries,omitempty"` // of the sender's timers
	Retransmit uint64        `json:"retransmissions,omitempty"`

	Queue string `json:"queue,omitempty"` // what holds the timers, of Plan.Queues
	Flows int    `json:"flows,omitempty"` // each has a release time and a retransmission timer
	Work  uint64 `json:"work,omitempty"`  // records visited, compared or moved
	Wakes uint64 `json:"wakes,omitempty"` // ticks with a timer to look at, of all queues together
}

// oneWheel is the queue that others are compared with.
const oneWheel = "one-wheel"

// The kinds of cells.
const (
	onPath  = "path"  // transfers over a path at one tick under one seed
	ofOld   = "old"   // those of an old TCP
	ofTails = "tails" // short transfers without pacing, whose losses wait for timeouts
	ofGaps  = "gaps"  // one transfer over the path of QUIC Steps
	ofQueue = "queue" // operations on release times and retransmission timers of flows
)

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E29", Name: "pacing", Bed: "dumbbell", Class: experiments.Shape, Files: files,
	Words: func() experiments.Words { return words },
	Check: (*Plan).check,
	Cells: cells,
	Judge: judgePacing,
	Live: []experiments.LivePart[Plan]{
		{Name: "kernel", Needs: testbed.NeedsRoot, Run: kernelGaps},
	},
})

// check finds faults beyond the tags.
func (p *Plan) check() error {
	if !p.has(oneWheel) {
		return fmt.Errorf("queues: want %s among them: others are compared with it", oneWheel)
	}
	if p.Coarse < p.Tick {
		return fmt.Errorf("rto_tick: %v, want at least release_tick, %v", p.Coarse, p.Tick)
	}
	if gap := p.flowGap(p.Flows[0]); gap < p.Tick {
		return fmt.Errorf("flows: %d, each with a packet each %v, want at least release_tick, %v", p.Flows[0],
			gap, p.Tick)
	}
	const most = 1 << 30 // bytes of a write
	c := Cell{RoundTrip: p.RoundTrips[len(p.RoundTrips)-1], Gap: packetTime(p.Rates[len(p.Rates)-1])}
	if n := p.segments(&c); n > most/payload {
		return fmt.Errorf("transfer: %d segments at the greatest rate and round trip, want at most %d", n, most/payload)
	}
	return nil
}

func (p *Plan) has(queue string) bool { return slices.Contains(p.Queues, queue) }

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	add := func(c Cell, segments, objects int, split time.Duration) {
		all = append(all, experiments.Cell[Cell]{
			Name: fmt.Sprintf("%s paced=%t tick=%v rate=%d rtt=%v loss=%v seed=%d", c.Kind, c.Paced, c.Tick, c.Rate,
				c.RoundTrip, c.Loss, c.Seed),
			Cost: 5e-6 * float64(segments*objects+100),
			Run:  p.transfers(c, segments, objects, split),
		})
	}
	for _, paced := range []bool{false, true} {
		for _, tick := range p.Ticks {
			p.eachPath(func(c Cell) {
				c.Paced, c.Tick = paced, tick
				for _, c.Loss = range p.Losses {
					c.Kind = onPath
					add(c, p.segments(&c), p.Objects, c.Gap/4)
				}
				if tick == p.Ticks[0] {
					c.Kind, c.Loss = ofOld, 0
					add(c, p.segments(&c), p.Objects, c.Gap/4)
				}
				if !paced {
					c.Kind, c.Loss = ofTails, p.TailLoss
					add(c, p.Tail, p.Tails, c.Gap/4)
				}
			})
			add(Cell{Kind: ofGaps, Paced: paced, Tick: tick, Rate: p.GapRate, RoundTrip: p.GapTrip, Seed: p.FirstSeed,
				Gap: packetTime(p.GapRate), Room: p.GapBuffer}, p.GapBytes/payload+1, 1, p.Train)
		}
	}
	for _, queue := range p.Queues {
		for _, flows := range p.Flows {
			c := Cell{Kind: ofQueue, Paced: true, Tick: p.Tick, Seed: 1, Queue: queue, Flows: flows}
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("queue=%s flows=%d", queue, flows),
				Cost: 5e-7 * float64(p.Packets) * (p.RTO + p.Watched).Seconds(),
				Run:  p.operations(c),
			})
		}
	}
	return all
}

// eachPath calls f with each path under each seed.
func (p *Plan) eachPath(f func(c Cell)) {
	for _, rate := range p.Rates {
		for _, trip := range p.RoundTrips {
			for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
				f(p.path(Cell{Rate: rate, RoundTrip: trip, Seed: seed}))
			}
		}
	}
}
