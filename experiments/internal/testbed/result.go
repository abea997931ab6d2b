package testbed

import (
	"context"
	"fmt"
	"time"
)

// Result is the result of a Spec. Times in JSON are nanoseconds.
type Result struct {
	// Times is the duration of each object after the warmup, by flow and then in order. It begins when
	// the object is written (Bulk, Tail, Stream, StopAndWait) or requested (Answers), or its connection
	// dialled (Web), and ends when its last byte arrives, or is acknowledged (StopAndWait). An object
	// unfinished at the limit has its age, which is less than its duration.
	Times      []time.Duration `json:"times_ns"`
	Unfinished int             `json:"unfinished,omitempty"`

	Bytes uint64        `json:"bytes"`   // of complete objects, warmup included
	Span  time.Duration `json:"span_ns"` // from the first start to the last end

	// Data segments, of all flows and objects.
	Sent          int `json:"sent"`
	Lost          int `json:"lost"`
	Retransmitted int `json:"retransmitted"`
	Spurious      int `json:"spurious"` // an earlier transmission of the same bytes was not lost

	// Waits is the times from a lost transmission to the next one of the same bytes; at most 500 of
	// them, evenly picked. Repaired is their number, and WaitSum their sum, before picking.
	Waits    []time.Duration `json:"waits_ns,omitempty"`
	Repaired int             `json:"repaired"`
	WaitSum  time.Duration   `json:"wait_sum_ns"`

	// Reported by the sender. GVisor counts no probes: its probes are the retransmissions without
	// another cause.
	Timeouts uint64 `json:"timeouts"`
	Probes   uint64 `json:"probes"`

	Wheel *Wheel `json:"wheel,omitempty"` // of the sender, Engine only
}

// Wheel is the operations on a sender's timing wheel.
type Wheel struct {
	Starts   uint64 `json:"starts"`
	Stops    uint64 `json:"stops"`
	Expiries uint64 `json:"expiries"`
	Visits   uint64 `json:"visits"` // of timer records, by all routines
	Wakeups  uint64 `json:"wakeups"`
}

// Goodput returns the bit/s of complete objects, 0 if there are none.
func (r *Result) Goodput() float64 {
	if r.Span <= 0 {
		return 0
	}
	return 8 * float64(r.Bytes) / r.Span.Seconds()
}

// Run runs a Spec. It costs about 5 µs for each segment of Engine, and ten times that for others.
// An error is that of Check or of the context, or a fault of the subject.
func Run(ctx context.Context, s *Spec) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	if s.Kind == Engine {
		return runEngine(ctx, s)
	}
	return runStacks(ctx, s)
}

// fault adds the subject to an error.
func (s *Spec) fault(err error) error { return fmt.Errorf("subject %s: %w", s.Kind, err) }
