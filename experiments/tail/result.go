package tail

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/wheel/stat"
)

// Result is the result of one sender and one size of the response.
type Result struct {
	Sender   string        `json:"sender" help:"ours with its policy, gvisor or linux"`
	Control  string        `json:"congestion_control"`
	Segments int           `json:"segments" help:"of the response, whose last one was lost"`
	RTT      time.Duration `json:"rtt_ns"`
	Count    int           `json:"count" help:"connections"`
	Virtual  bool          `json:"virtual" help:"in virtual time"`

	DelayAcks bool `json:"delay_acks" help:"the client delayed the ACKs of that response"`

	RetransmitP50  time.Duration `json:"retransmit_p50_ns" head:"retrans.\np50" help:"after the lost transmission"`
	RetransmitP95  time.Duration `json:"retransmit_p95_ns" head:"p95"`
	RetransmitRTTs float64       `json:"retransmit_rtts" head:"RTTs" help:"the median in round-trip times"`

	CompleteP50 time.Duration `json:"complete_p50_ns" head:"complete\np50" help:"from first transmission to last arrival"`
	CompleteP95 time.Duration `json:"complete_p95_ns"`

	Causes       // of the retransmissions in the run with losses
	Spurious int `json:"spurious" help:"retransmitted segments in that run beyond the lost ones"`

	ControlSpurious int           `json:"control_spurious" help:"spurious in the run without losses"`
	ControlDelayP50 time.Duration `json:"control_ack_delay_p50_ns" head:"ACK after\np50" help:"of a lone segment there"`

	ByCause      string `json:"-" head:"by"`
	SpuriousBoth string `json:"-" head:"spurious\nloss/none" cell:"number"`

	// Waits are the times from loss to retransmission, in rising order.
	Waits []time.Duration `json:"-"`

	// Kernels are Linux's state on connections with a loss, in any order; nil for other senders. On a
	// busy machine some connections are missing.
	Kernels []Kernel `json:"-"`
}

// Kernel is the state of Linux's TCP while it waited for the last segment only, and how long it
// waited.
type Kernel struct {
	SRTT, RTO time.Duration // tcpi_rtt and tcpi_rto of TCP_INFO
	Jiffy     time.Duration // the tick of its timers

	// Wait is the time from the arrival of the last ACK of the other segments to the retransmission.
	// Without such an ACK it is the time from the transmission.
	Wait time.Duration
}

// Causes are the retransmissions of a sender by cause.
type Causes struct {
	Timeouts        uint64 `json:"timeouts" help:"retransmission timers"`
	Probes          uint64 `json:"probes" help:"tail loss probes; of gVisor the retransmissions without another cause"`
	FastRetransmits uint64 `json:"fast_retransmits" help:"recovery by ACKs, in segments"`
}

// String lists the causes, the most frequent first.
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

// fill computes the result from the flows of a run with losses and of a control run. kernels are
// Linux's states, by the client's port.
func (r *Result) fill(loss, control *watch, kernels map[uint16]Kernel) error {
	var retransmits, completes, delays []time.Duration
	for _, f := range loss.flows {
		if !f.first.ok || !f.dropped.ok || !f.resent.ok || !f.complete.ok || f.lost != 1 {
			return fmt.Errorf("a connection of %s lost %d segments, want 1, or did not recover", r.Sender, f.lost)
		}
		retransmits = append(retransmits, f.resent.at.Sub(f.dropped.at))
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
		return fmt.Errorf("%d and %d connections of %s were seen, want %d", len(loss.flows), len(control.flows),
			r.Sender, r.Count)
	}
	r.RetransmitP50, r.RetransmitP95 = quantiles(retransmits)
	r.Waits = retransmits
	r.CompleteP50, r.CompleteP95 = quantiles(completes)
	r.ControlDelayP50, _ = quantiles(delays)
	r.RetransmitRTTs = float64(r.RetransmitP50) / float64(r.RTT)
	return nil
}

// quantiles returns the median and the 95th percentile, as in package stat.
func quantiles(d []time.Duration) (p50, p95 time.Duration) {
	slices.Sort(d)
	return d[stat.Rank(len(d), 0.5)], d[stat.Rank(len(d), 0.95)]
}

// layout is the table of a size of the response.
var layout = record.NewLayout[Result]("%-*sender %8retransmit_p50_ns %8retransmit_p95_ns %5.1retransmit_rtts  " +
	"%-*ByCause %8complete_p50_ns %9SpuriousBoth %9control_ack_delay_p50_ns")

// WriteTable writes a table for each size of the response. The results must be sorted by size.
func WriteTable(w io.Writer, results []Result) error {
	for len(results) > 0 {
		same := slices.IndexFunc(results, func(r Result) bool { return r.Segments != results[0].Segments })
		if same < 0 {
			same = len(results)
		}
		text := results[0].what() + "\n" + layout.Table(forPeople(results[:same]))
		if results = results[same:]; len(results) > 0 {
			text += "\n"
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

// forPeople returns results with the texts that only tables have.
func forPeople(results []Result) []Result {
	results = slices.Clone(results)
	for i := range results {
		r := &results[i]
		r.ByCause, r.SpuriousBoth = r.Causes.String(), fmt.Sprintf("%d/%d", r.Spurious, r.ControlSpurious)
	}
	return results
}

// what says what was lost, and how often.
func (r *Result) what() string {
	what, delay := "lone segment", ""
	if r.Segments > 1 {
		what = fmt.Sprintf("last of %d segments", r.Segments)
	}
	if r.DelayAcks {
		delay = ", delayed ACKs"
	}
	return fmt.Sprintf("%s lost, RTT %v, %d times%s", what, r.RTT, r.Count, delay)
}
