//go:build !js

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/record"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// simBench are the flags of sim bench.
type simBench struct {
	flows    int
	rate     quantity.Rate
	rtt      time.Duration
	loss     float64
	duration time.Duration
	policy   string
	scheme   string
	control  string
	seed     uint64
	runs     int
	segments uint64
}

// simSeries is a result of sim bench for one way of arming retransmission timers.
type simSeries struct {
	Policy  string  `json:"policy"`
	Timers  string  `json:"timers" help:"per-segment, or restart: one for each connection"`
	Scheme  string  `json:"scheme"`
	Control string  `json:"control"`
	Flows   int     `json:"flows"`
	Rate    uint64  `json:"rate_bps"`
	RTT     int64   `json:"rtt_ns"`
	Loss    float64 `json:"loss"`
	Seed    uint64  `json:"seed"`
	Runs    int     `json:"runs"`

	VirtualSeconds  float64 `json:"virtual_s" help:"of one run: all runs are the same"`
	Segments        uint64  `json:"segments" help:"that arrived in one run"`
	Events          uint64  `json:"events" help:"arrivals and expiries"`
	Retransmissions uint64  `json:"retransmissions" head:"retransmitted"`
	Timeouts        uint64  `json:"timeouts"`
	Goodput         float64 `json:"goodput_bps" head:"bit/s"`

	// Other programs only ever add to the time of a slice.
	CPUSeconds           float64 `json:"cpu_s" head:"CPU s" help:"over the slices of a run, the least that each took in any run"`
	SegmentsPerCPUSecond float64 `json:"segments_per_cpu_s" head:"segments\nper CPU s"`

	// Only the series with a timer per segment has these.
	PerSegmentOverhead *float64 `json:"per_segment_overhead,omitempty" head:"overhead,\n%" cell:"%" help:"CPU time per segment over that with a timer per connection, less 1"`
	PerEventOverhead   *float64 `json:"per_event_overhead,omitempty" help:"the same per arrival and expiry"`
}

// perSegment and perEvent return the CPU time per segment, and per arrival or expiry.
func (s *simSeries) perSegment() float64 { return s.CPUSeconds / float64(max(s.Segments, 1)) }
func (s *simSeries) perEvent() float64   { return s.CPUSeconds / float64(max(s.Events, 1)) }

func newSimBench() *cobra.Command {
	var (
		b      simBench
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "time the TCP engine: simulated data segments per second of CPU",
		Long: "Bench runs bulk flows between two hosts over one bottleneck in virtual time.\n" +
			"It reports how many data segments one second of CPU time simulates: sender,\n" +
			"receiver, acknowledgements, links and timers together.\n\n" +
			"Each run is done twice, in alternating slices: with a retransmission timer for\n" +
			"each segment, and with one timer for each connection under the same policy.\n" +
			"Of each slice the least time of all runs counts. The overhead is the additional\n" +
			"CPU time per received data segment. Where the two retransmit differently, their\n" +
			"work is not equal: the last line says by how much, and gives the overhead per\n" +
			"arrival and expiry.",
		Example: "  tcpwheel sim bench --flows 10000 --rate 1e10 --loss 0.001 --runs 1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if b.rate == 0 {
				return usage(cmd, errors.New("rate none, want 1bit or more, such as 1Gbit"))
			}
			if b.segments < 1 || b.segments > 1e15 {
				return usage(cmd, fmt.Errorf("segments %d, want 1 to 1e15", b.segments))
			}
			if b.runs < 1 || b.runs > 1000 {
				return usage(cmd, fmt.Errorf("runs %d, want 1 to 1000", b.runs))
			}
			for _, rexmit := range timerModes {
				p := b.plan(rexmit)
				if err := p.Check(); err != nil {
					return usage(cmd, err)
				}
			}
			return b.run(cmd.Context(), cmd.OutOrStdout(), asJSON)
		},
	}
	f := cmd.Flags()
	f.IntVar(&b.flows, "flows", 1, "connections")
	rateFlag(f, &b.rate, "rate", "1Gbit", "rate of the bottleneck")
	durationFlag(f, &b.rtt, "rtt", "50ms", "round-trip time without queueing")
	probabilityFlag(f, &b.loss, "loss", "1%", "probability that a packet with data is lost")
	countFlag(f, &b.segments, "segments", "1e6", "data segments of a run, approximately")
	durationFlag(f, &b.duration, "duration", "24h", "limit of virtual time")
	f.StringVar(&b.policy, "policy", tcptimers.DefaultPolicy, "timer policy or profile, or NAME@TICK")
	f.StringVar(&b.scheme, "scheme", wheel.Default, "scheme of the engines' wheels")
	f.StringVar(&b.control, "control", "cubic", "congestion control")
	f.Uint64Var(&b.seed, "seed", 1, "seed of the random numbers")
	f.IntVar(&b.runs, "runs", 5, "runs; the least time of each slice counts")
	f.BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// timerModes are the compared modes: a timer per segment, and one timer.
var timerModes = [2]string{tcptimers.RexmitPerSegment.String(), tcptimers.RexmitRestart.String()}

// plan returns the scenario. The queue holds a bandwidth-delay product and a segment for each flow.
func (b *simBench) plan(rexmit string) host.FlowsConfig {
	bdp := uint64(float64(b.rate) / 8 * b.rtt.Seconds())
	link := sim.LinkConfig{
		Rate: uint64(b.rate), Delay: b.rtt / 2, Queue: sim.Limit{Bytes: min(bdp+uint64(max(b.flows, 0))*1500+15000, 1<<40)},
	}
	back := link
	if b.loss != 0 {
		link.Loss = sim.Losses{sim.Bernoulli{P: b.loss}}
	}
	return host.FlowsConfig{
		Seed: b.seed, Flows: b.flows, Stagger: min(b.rtt, b.duration), Duration: b.duration, Link: link, Return: &back,
		Policy: b.policy, Rexmit: rexmit, Scheme: b.scheme, Control: b.control,
	}
}

// simSlices is the number of slices of a run.
const simSlices = 20

// slice runs until that many segments have arrived.
func (b *simBench) slice(f *host.Flows, segments uint64) {
	step := max(b.rtt/4, time.Millisecond)
	for more := true; more && f.Segments() < segments; {
		more = f.Run(f.World.Net.Now().Add(step))
	}
}

func (b *simBench) run(ctx context.Context, w io.Writer, asJSON bool) error {
	var (
		result [2]host.Result
		least  [2][simSlices]time.Duration
	)
	for run := range b.runs {
		if err := b.once(ctx, run, &result, &least); err != nil {
			return err
		}
	}
	var all []simSeries
	for i, r := range result {
		s := simSeries{
			Policy: b.policy, Timers: timerModes[i], Scheme: b.scheme, Control: b.control, Flows: b.flows, Rate: uint64(b.rate),
			RTT: int64(b.rtt), Loss: b.loss, Seed: b.seed, Runs: b.runs,
			VirtualSeconds: r.Seconds, Segments: r.Segments, Events: r.Events, Retransmissions: r.Retransmissions,
			Timeouts: r.Timeouts, Goodput: r.Goodput,
		}
		for _, took := range least[i] {
			s.CPUSeconds += took.Seconds()
		}
		s.SegmentsPerCPUSecond = math.Round(float64(r.Segments) / max(s.CPUSeconds, 1e-9))
		all = append(all, s)
	}
	per, one := &all[0], &all[1]
	bySegment, byEvent := per.perSegment()/max(one.perSegment(), 1e-15)-1, per.perEvent()/max(one.perEvent(), 1e-15)-1
	per.PerSegmentOverhead, per.PerEventOverhead = &bySegment, &byEvent
	return writeSimSeries(w, all, asJSON)
}

// once runs both modes, slice by slice in turn, and keeps the least CPU time of each slice.
func (b *simBench) once(ctx context.Context, run int, result *[2]host.Result, least *[2][simSlices]time.Duration) (err error) {
	var flows [2]*host.Flows
	for i, rexmit := range timerModes {
		if flows[i], err = host.NewFlows(b.plan(rexmit)); err != nil {
			return err
		}
	}
	runtime.GC()
	for slice := range simSlices {
		if err := ctx.Err(); err != nil {
			return err
		}
		until := b.segments * uint64(slice+1) / simSlices
		for k := range flows {
			i := (k + slice + run) % 2 // each mode goes first equally often
			before := cpuTime()
			b.slice(flows[i], until)
			if took := cpuTime() - before; run == 0 || took < least[i][slice] {
				least[i][slice] = took
			}
		}
	}
	for i, f := range flows {
		if err := f.Err(); err != nil {
			return err
		}
		result[i] = f.Result()
	}
	return nil
}

var simLayout = record.NewLayout[simSeries]("%-11timers %8segments %13retransmissions %8timeouts %10.0goodput_bps %6.3cpu_s %9.0segments_per_cpu_s %9per_segment_overhead")

func writeSimSeries(w io.Writer, all []simSeries, asJSON bool) error {
	if asJSON {
		return writeRecords(w, all)
	}
	s := all[0]
	var b strings.Builder
	if len(all) == 2 && all[0].PerSegmentOverhead != nil {
		wrapText(&b, "", []string{fmt.Sprintf("A timer for each segment takes %+.1f %% CPU per segment: a second of CPU simulates\n%.3g "+
			"segments with it and %.3g with one timer for each connection.", 100**all[0].PerSegmentOverhead, all[0].SegmentsPerCPUSecond, all[1].SegmentsPerCPUSecond)})
	}
	fmt.Fprintf(&b, "# %s %s/%s, %s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, processor())
	wrapText(&b, "", []string{
		fmt.Sprintf("%s over %.4g bit/s and %s", quantity.Count(s.Flows, "flow"), float64(s.Rate), time.Duration(s.RTT)), fmt.Sprintf("%.4g%% loss", 100*s.Loss),
		fmt.Sprintf("%.4g s: policy %s", s.VirtualSeconds, s.Policy), "scheme " + s.Scheme, "control " + s.Control,
		fmt.Sprintf("seed %d", s.Seed), "least of " + quantity.Count(s.Runs, "run"),
	})
	b.WriteString(simLayout.Table(all))
	if len(all) == 2 && all[0].Retransmissions != all[1].Retransmissions {
		one := all[1]
		fmt.Fprintf(&b, "Their work differs by %+d retransmissions and %+d timeouts: per arrival and expiry the\noverhead is %+.1f%%.\n",
			int64(s.Retransmissions-one.Retransmissions), int64(s.Timeouts-one.Timeouts), 100**s.PerEventOverhead)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
