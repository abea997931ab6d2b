package tail

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Result is what came of one sender and one size of the response. Spans in JSON are nanoseconds.
type Result struct {
	Sender   string        `json:"sender"`
	Control  string        `json:"congestion_control"`
	Segments int           `json:"segments"`
	RTT      time.Duration `json:"rtt_ns"`
	Count    int           `json:"count"`
	Virtual  bool          `json:"virtual"`

	DelayAcks bool `json:"delay_acks"` // the client put off the ACKs of that response

	// From the first transmission of the segment that was lost to its next one.
	ResendP50 time.Duration `json:"resend_p50_ns"`
	ResendP95 time.Duration `json:"resend_p95_ns"`
	ResendRTT float64       `json:"resend_rtt"` // the median in round-trip times

	// From the first transmission of the response to the arrival of its last octet.
	CompleteP50 time.Duration `json:"complete_p50_ns"`
	CompleteP95 time.Duration `json:"complete_p95_ns"`

	Causes       // of what was sent again in the run with losses
	Spurious int `json:"spurious"` // segments that were sent again there, beyond those that were lost

	ControlSpurious int           `json:"control_spurious"` // segments that were sent again where nothing was lost
	ControlDelayP50 time.Duration `json:"control_ack_delay_p50_ns"`

	// Kernels are what Linux knew and did on connections with a loss, in no order: most of them, on a machine that is not busy. It is
	// nil of other senders.
	Kernels []Kernel `json:"-"`
}

// Kernel is what Linux's TCP knew when the last segment was all that it waited for, and what it did then.
type Kernel struct {
	SRTT, RTO time.Duration // tcpi_rtt and tcpi_rto of its TCP_INFO
	Jiffy     time.Duration // the tick of its timers

	// Wait is how long it waited: from the arrival of the last ACK of the others, or from the transmission if there were none, to the
	// retransmission.
	Wait time.Duration
}

// Causes are the retransmissions of a sender by cause.
type Causes struct {
	Timeouts        uint64 `json:"timeouts"`         // retransmission timers
	Probes          uint64 `json:"probes"`           // tail loss probes; gVisor counts none: its retransmissions without another cause
	FastRetransmits uint64 `json:"fast_retransmits"` // recovery by ACKs, in segments
}

// String tells the causes, the most frequent first.
func (c Causes) String() string {
	type cause struct {
		n    uint64
		name string
	}
	causes := []cause{{c.Timeouts, "RTO"}, {c.Probes, "probe"}, {c.FastRetransmits, "ACKs"}}
	causes = slices.DeleteFunc(causes, func(c cause) bool { return c.n == 0 })
	slices.SortStableFunc(causes, func(a, b cause) int { return int(b.n) - int(a.n) })
	if len(causes) == 1 {
		return causes[0].name
	}
	words := make([]string, len(causes))
	for i, c := range causes {
		words[i] = fmt.Sprintf("%d %s", c.n, c.name)
	}
	return strings.Join(words, ", ")
}

// fill computes the result of the flows of a run with losses, and of one without. kernels are what Linux knew, by the client's port.
func (r *Result) fill(loss, control *watch, kernels map[uint16]Kernel) error {
	var resends, completes, delays []time.Duration
	for _, f := range loss.flows {
		if !f.first.ok || !f.dropped.ok || !f.resent.ok || !f.complete.ok || f.lost != 1 {
			return fmt.Errorf("a connection of %s lost %d segments, want 1, or did not recover", r.Sender, f.lost)
		}
		resends = append(resends, f.resent.at.Sub(f.dropped.at))
		completes = append(completes, f.complete.at.Sub(f.first.at))
		r.Spurious += f.retransmitted - f.lost
	}
	for port, k := range kernels {
		f := loss.flows[port]
		if f == nil {
			return fmt.Errorf("a connection of %s was not seen", r.Sender)
		}
		since := f.dropped.at
		if f.lastAck.ok {
			since = f.lastAck.at
		}
		k.Wait = f.resent.at.Sub(since)
		r.Kernels = append(r.Kernels, k)
	}
	for _, f := range control.flows {
		r.ControlSpurious += f.retransmitted
		delays = append(delays, f.delays...)
	}
	if len(loss.flows) != r.Count || len(control.flows) != r.Count || len(delays) == 0 {
		return fmt.Errorf("%d and %d connections of %s were seen, want %d", len(loss.flows), len(control.flows), r.Sender, r.Count)
	}
	r.ResendP50, r.ResendP95 = quantiles(resends)
	r.CompleteP50, r.CompleteP95 = quantiles(completes)
	r.ControlDelayP50, _ = quantiles(delays)
	r.ResendRTT = float64(r.ResendP50) / float64(r.RTT)
	return nil
}

// quantiles returns the median, the lower one of two, and the 95th percentile.
func quantiles(d []time.Duration) (p50, p95 time.Duration) {
	slices.Sort(d)
	return d[(len(d)-1)/2], d[(len(d)*95+99)/100-1]
}

// WriteTable writes results, which are in the order of their size of the response, as a table for each.
func WriteTable(w io.Writer, results []Result) error {
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	for i, r := range results {
		if i == 0 || r.Segments != results[i-1].Segments {
			if i > 0 {
				fmt.Fprintln(tw)
			}
			what := "lone segment"
			if r.Segments > 1 {
				what = fmt.Sprintf("last of %d segments", r.Segments)
			}
			delay := ""
			if r.DelayAcks {
				delay = ", ACKs put off"
			}
			fmt.Fprintf(tw, "%s lost, round trip %v, %d times%s\n", what, r.RTT, r.Count, delay)
			fmt.Fprint(tw, "\tsent again\t\t\t\tcomplete\tin vain\tACK after\n")
			fmt.Fprint(tw, "sender\tp50\tp95\tRTT\tby\tp50\tloss/none\tp50\n")
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.1f\t%v\t%s\t%d/%d\t%s\n", r.Sender, ms(r.ResendP50), ms(r.ResendP95), r.ResendRTT, r.Causes,
			ms(r.CompleteP50), r.Spurious, r.ControlSpurious, ms(r.ControlDelayP50))
	}
	return tw.Flush()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond)) }
