// Package tailmap is study E17: who repairs a lost tail first.
package tailmap

import (
	"embed"
	"fmt"
	"time"

	"tcpwheel/experiments"
)

//go:embed README.md plan.yaml
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
	Seeds      int             `plan:"seeds" min:"1" max:"1000"`

	GVisorSegments []int           `plan:"gvisor_segments" min:"1" max:"10"`
	GVisorRTTs     []time.Duration `plan:"gvisor_rtts" min:"1ms" max:"1s"`
}

// Kind is what a cell has looked at.
type kind string

const (
	kindMap    kind = "map"    // one round trip and floor, all rules and numbers of lost segments
	kindAge    kind = "age"    // segments that are apart
	kindTick   kind = "tick"   // coarser ticks at a phase drawn by chance
	kindLadder kind = "ladder" // one case, with all that was sent
	kindGVisor kind = "gvisor" // gVisor's own TCP
)

// Cell is what was seen in one set-up.
type Cell struct {
	Kind  kind          `json:"kind"`
	Floor string        `json:"floor,omitempty"`
	RTT   time.Duration `json:"rtt"`
	Gap   time.Duration `json:"gap,omitempty"`
	Tick  time.Duration `json:"tick,omitempty"`
	Seed  int           `json:"seed,omitempty"`
	Tails []Tail        `json:"tails"`
}

// Tail is one lost tail and its repair. Times count from the first transmission of the first segment that was lost.
type Tail struct {
	Rule     string        `json:"rule"`
	Segments int           `json:"segments,omitempty"` // of gVisor's responses
	Lost     int           `json:"lost"`
	RTO      time.Duration `json:"rto,omitempty"` // when the flight left
	Resend   time.Duration `json:"resend"`        // its first retransmission, or that of another one of the tail
	Complete time.Duration `json:"complete"`      // the ACK of all
	Age      time.Duration `json:"age,omitempty"` // the last ACK before the retransmission
	Sent     []Sent        `json:"sent,omitempty"`
}

// Sent is a segment of the flight that was sent.
type Sent struct {
	At      time.Duration `json:"at"`
	Segment int           `json:"segment"` // from 1
	Again   bool          `json:"again,omitempty"`
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E17", Name: "tailmap", Class: experiments.Exact, Files: files,
	Question: "Who repairs a lost tail first: one timer, RTO restart, a timer per segment, or the probe?",
	Check: func(p *Plan) error {
		for _, j := range append([]int{p.LadderLost}, p.Lost...) {
			if j >= p.Segments {
				return fmt.Errorf("lost: %d of %d segments, want fewer", j, p.Segments)
			}
		}
		for _, gap := range p.Gaps {
			if time.Duration(p.Segments)*gap > p.GapRTT {
				return fmt.Errorf("gaps: %v, want at most %v: the flight is to leave within gap_rtt", gap, p.GapRTT/time.Duration(p.Segments))
			}
		}
		return nil
	},
	Cells: cells,
	Judge: judge,
	Live:  []experiments.LivePart[Plan]{{Name: "kernel", Needs: needsRoot, Run: kernel}},
})
