package testbed

import (
	"context"
	"fmt"
	"time"
)

// Result is what came of a Spec. Spans in JSON are nanoseconds.
type Result struct {
	// Times are how long each object took that counts, by flow and then in order: from when it was written (Bulk, Tail,
	// StopAndWait), asked for (Answers), or the connection dialled (Web), to the arrival of its last octet, or its ACK
	// (StopAndWait). What was unfinished at the limit has its age then, which is less than what it takes.
	Times      []time.Duration `json:"times"`
	Unfinished int             `json:"unfinished,omitempty"`

	Bytes uint64        `json:"octets"`  // of objects that arrived, those of warming up included
	Span  time.Duration `json:"span_ns"` // from the first start to the last end

	// Segments with data, all flows and objects together.
	Sent          int `json:"sent"`
	Lost          int `json:"lost"`
	Retransmitted int `json:"resent"`
	Spurious      int `json:"needless"` // of Resent: an earlier transmission of the same was not lost

	// Waits are how long after a transmission that was lost the next one of the same octets left; at most 500 of them,
	// evenly picked. Repaired is how many there were, and WaitSum the sum of all.
	Waits    []time.Duration `json:"waits,omitempty"`
	Repaired int             `json:"repaired"`
	WaitSum  time.Duration   `json:"wait_sum_ns"`

	// Told by the sender. GVisor counts no probes: they are what was sent again for no other reason.
	Timeouts uint64 `json:"timeouts"`
	Probes   uint64 `json:"probes"`

	Wheel *Wheel `json:"wheel,omitempty"` // of the sender, Engine only
}

// Wheel is what a sender has done to its timing wheel.
type Wheel struct {
	Starts   uint64 `json:"starts"`
	Stops    uint64 `json:"stops"`
	Expiries uint64 `json:"expiries"`
	Visits   uint64 `json:"visits"` // of timer records, by all routines
	Wakeups  uint64 `json:"wakeups"`
}

// Goodput returns the bits of objects that arrived in a second, and 0 if none have.
func (r *Result) Goodput() float64 {
	if r.Span <= 0 {
		return 0
	}
	return 8 * float64(r.Bytes) / r.Span.Seconds()
}

// Run runs a Spec. It costs about 5 µs for each segment of Engine, and ten times that for others. Its error is that of
// Check, of the context, or names what may never happen.
func Run(ctx context.Context, s *Spec) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	if s.Kind == Engine {
		return runEngine(ctx, s)
	}
	return runStacks(ctx, s)
}

// fault says where something went wrong.
func (s *Spec) fault(err error) error { return fmt.Errorf("subject %s: %w", s.Kind, err) }
