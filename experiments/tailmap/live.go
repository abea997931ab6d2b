package tailmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/tail"
	"tcpwheel/wheel"
)

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// kernelTimes is the number of tails that the kernel loses in each setting: odd, for the median.
const kernelTimes = 9

// waits returns the earliest and the latest instant at which the rule lets the kernel retransmit a
// lone segment, counted from the last ACK before, or from its transmission. The rule is the probe
// of RFC 8985 §7.2, no later than the timer, from the kernel's own SRTT and RTO. It is rounded up
// to jiffies and by the kernel's timer wheel, over all phases.
func waits(k tail.Kernel) (least, most time.Duration) {
	p := testbed.MustTimers("linux phase=jiffies").Policy
	p.Tick = k.Jiffy
	interval := min(2*k.SRTT+maxAckDelay, k.RTO)
	const period, step = 64, 16 // jiffies; parts of a jiffy
	for i := range period * step {
		start := wheel.Time(0).Add(k.Jiffy * time.Duration(i) / step)
		d := p.Deadline(start, interval).Sub(start)
		if i == 0 || d < least {
			least = d
		}
		most = max(most, d)
	}
	return least, most
}

// kernel measures the kernel's TCP, which loses a last segment at gVisor's round trips.
func kernel(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "kernel", Title: "The kernel's TCP of this machine: the last segment of a response is lost",
		Columns: []string{"round trip, ms", "segments", "kernel's SRTT, ms", "kernel's RTO, ms", "waited, ms",
			"rule from, ms", "to, ms", "within", "retransmitted, ms", "complete, ms"},
	}
	off, settings, within, tails, unasked := 0, 0, 0, 0, 0
	endLateness := lateness()
	for _, rtt := range p.GVisorRTTs {
		results, err := tail.Run(ctx, tail.Config{RTT: rtt, Count: kernelTimes, Segments: p.GVisorSegments,
			Senders: []string{tail.Linux}}, nil)
		if err != nil {
			endLateness()
			return nil, err
		}
		for _, r := range results {
			if len(r.Kernels) <= kernelTimes/2 {
				unasked++
				continue
			}
			keep := 0
			// beyond returns how far a wait is from the rule: below 0 if early, above 0 if late.
			beyond := func(k tail.Kernel) time.Duration {
				least, most := waits(k)
				return min(k.Wait-least, 0) + max(k.Wait-most, 0)
			}
			for _, k := range r.Kernels {
				if beyond(k) == 0 {
					keep++
				}
			}
			slices.SortFunc(r.Kernels, func(a, b tail.Kernel) int { return cmp.Compare(beyond(a), beyond(b)) })
			k := r.Kernels[(len(r.Kernels)-1)/2]
			settings, tails, within = settings+1, tails+len(r.Kernels), within+keep
			if beyond(k) != 0 {
				off++
			}
			least, most := waits(k)
			table.Add(ms(rtt), r.Segments, ms(k.SRTT), ms(k.RTO), ms(k.Wait), ms(least), ms(most),
				fmt.Sprintf("%d of %d", keep, len(r.Kernels)), ms(r.RetransmitP50), ms(r.CompleteP50+rtt/2))
		}
	}
	median, most := endLateness()
	if settings == 0 {
		return nil, errors.New("this machine is too busy: its kernel could not be asked in time for SRTT and RTO")
	}
	out.Tables = append(out.Tables, table)
	if unasked > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d settings are left out: this machine was too busy to ask its "+
			"kernel in time for SRTT and RTO.", unasked))
	}
	out.Claim(experiments.Claim{
		Name: "kernel", Class: experiments.Law, Text: "the kernel retransmits a lone lost segment by the rule of " +
			"probe and timer, with its own SRTT and RTO", Source: "RFC 8985 §7.2",
		Tag: experiments.Standard, Measured: experiments.MeasuredText("the median off in %d of %d settings; %d of "+
			"%d tails within", off, settings, within, tails),
		Expected: experiments.Whether(off == 0 && tails > 0,
			"the median of each setting is between the earliest and the latest instant that its jiffies and its "+
				"wheel allow"),
		Otherwise: fmt.Sprintf("this machine was busy, or its kernel has another rule: a goroutine that slept for "+
			"a millisecond woke %s ms late in the median, and at most %s ms late. Run it again "+
			"where that is almost 0", experiments.Number(ms(median)), experiments.Number(ms(most))),
	})
	return out, nil
}
