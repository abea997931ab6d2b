// Package tailmap is study E17, which finds the rule that repairs a lost tail first.
package tailmap

import (
	"embed"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

//go:embed *.md *.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Segments int             `plan:"segments" min:"2" max:"64"`
	Lost     []int           `plan:"lost" min:"1" max:"63"`
	RTTs     []time.Duration `plan:"rtts" min:"100us" max:"600ms"`
	Warm     int             `plan:"warm" min:"30" max:"1000"`

	LadderRTT  time.Duration   `plan:"ladder_rtt" min:"1ms" max:"600ms"`
	LadderLost int             `plan:"ladder_lost" min:"1" max:"63"`
	GapRTT     time.Duration   `plan:"gap_rtt" min:"1ms" max:"600ms"`
	Gaps       []time.Duration `plan:"gaps" min:"0s" max:"100ms"`
	TickRTT    time.Duration   `plan:"tick_rtt" min:"1ms" max:"600ms"`
	Ticks      []time.Duration `plan:"ticks" min:"1us" max:"500ms"`
	FirstSeed  int             `plan:"first_seed" min:"1" max:"1000000"`
	Seeds      int             `plan:"seeds" min:"1" max:"1000"`

	GVisorSegments []int           `plan:"gvisor_segments" min:"1" max:"10"`
	GVisorRTTs     []time.Duration `plan:"gvisor_rtts" min:"1ms" max:"1s"`
}

// Kind is the experiment of a cell.
type Kind string

const (
	kindMap    Kind = "map"    // one round trip and floor, all rules and numbers of lost segments
	kindAge    Kind = "age"    // segments that are apart
	kindTick   Kind = "tick"   // coarser ticks at a random phase
	kindLadder Kind = "ladder" // one case, with all transmissions
	kindGVisor Kind = "gvisor" // gVisor's own TCP
)

// Cell is the result of one setting.
type Cell struct {
	Kind  Kind          `json:"kind"`
	Floor string        `json:"floor,omitempty"` // on the timeout
	RTT   time.Duration `json:"rtt_ns"`
	Gap   time.Duration `json:"gap_ns,omitempty"`  // between the segments of a flight
	Tick  time.Duration `json:"tick_ns,omitempty"` // of expiry
	Seed  int           `json:"seed,omitempty"`    // of the phase of the tick
	Tails []Tail        `json:"tails"`
}

// Tail is one lost tail and its repair. Times count from the first transmission of the first lost
// segment.
type Tail struct {
	Rule           string        `json:"rule"`               // of the sender's timers
	Segments       int           `json:"segments,omitempty"` // of gVisor's responses
	Lost           int           `json:"lost"`
	RTO            time.Duration `json:"rto_ns,omitempty"`  // when the flight left
	Retransmission time.Duration `json:"retransmission_ns"` // the first one of the tail
	Complete       time.Duration `json:"complete_ns"`       // the ACK of the whole tail
	Age            time.Duration `json:"age_ns,omitempty"`  // the last ACK before the retransmission
	Sent           []Sent        `json:"sent,omitempty"`
}

// Sent is a transmission of a segment of the flight, from 1.
type Sent struct {
	At      time.Duration `json:"at_ns"` // since the flight left
	Segment int           `json:"segment"`
	Again   bool          `json:"again,omitempty"` // a retransmission
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E17", Name: "tailmap", Bed: "pair", Class: experiments.Exact, Files: files,
	Words: func() experiments.Words { return words },
	Check: func(p *Plan) error {
		for _, j := range append([]int{p.LadderLost}, p.Lost...) {
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
	Live:  []experiments.LivePart[Plan]{{Name: "kernel", Needs: testbed.NeedsRoot, Run: kernel}},
})

// The rules, as tables name them.
const (
	oneTimer   = "one timer"
	rtoRestart = "RTO restart"
	perSegment = "timer per segment"
	probe      = "probe"
	shipped    = "default"
	gvisor     = "gVisor"
	linux      = "Linux"
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
