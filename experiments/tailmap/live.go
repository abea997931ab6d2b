package tailmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/tail"
	"tcpwheel/wheel"
)

// needsRoot says why the kernel's TCP cannot be had here.
func needsRoot() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("the kernel's TCP wants Linux and root, for TUN devices in network namespaces")
	}
	return nil
}

// kernelTimes is how many tails the kernel loses in each setting: an odd number, for the median.
const kernelTimes = 9

// waits are when the kernel may send a lone segment again by the rule, counted from the last ACK before, or from its transmission: the probe of
// RFC 8985 §7.2, no later than the timer, over the round trip and the timeout that the kernel itself has, rounded up to jiffies and
// by the wheel that they expire in. From the earliest to the latest phase of these it is.
func waits(k tail.Kernel) (least, most time.Duration) {
	p := testbed.MustTimers("linux-jiffies").Policy
	p.Tick = k.Jiffy
	interval := min(2*k.SRTT+maxAckDelay, k.RTO)
	const period, step = 64, 16 // a jiffy's parts; jiffies
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

// kernel has the kernel's TCP lose a last segment at the round trips of gVisor's.
func kernel(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "kernel", Title: "The kernel's TCP of this machine: the last segment of a response is lost",
		Columns: []string{"round trip, ms", "segments", "SRTT of the kernel, ms", "its timeout, ms", "waited, ms", "rule from, ms", "to, ms", "within", "sent again, ms", "complete, ms"},
	}
	off, settings, within, tails, unasked := 0, 0, 0, 0, 0
	endLateness := lateness()
	for _, rtt := range p.GVisorRTTs {
		results, err := tail.Run(ctx, tail.Config{RTT: rtt, Count: kernelTimes, Segments: p.GVisorSegments, Senders: []string{tail.Linux}}, nil)
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
			// How far a wait is from the rule: below 0 if it is before the earliest instant, above if it is past the latest.
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
			table.Add(ms(rtt), r.Segments, ms(k.SRTT), ms(k.RTO), ms(k.Wait), ms(least), ms(most), fmt.Sprintf("%d of %d", keep, len(r.Kernels)), ms(r.RetransmitP50), ms(r.CompleteP50+rtt/2))
		}
	}
	median, most := endLateness()
	if settings == 0 {
		return nil, errors.New("this machine is too busy to be asked in time what its kernel waits for")
	}
	out.Tables = append(out.Tables, table)
	if unasked > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d settings are left out: this machine was too busy to be asked in time what its kernel waited for.", unasked))
	}
	out.Claim(experiments.Claim{
		Name: "kernel", Text: "the kernel sends a lone lost segment again by the rule of probe and timer, over its own round trip and timeout", Source: "RFC 8985 §7.2",
		Tag: experiments.Standard, Measured: experiments.MeasuredText("the median off in %d of %d settings; %d of %d tails within", off, settings, within, tails),
		Expected: experiments.Whether(off == 0 && tails > 0, "the median of each setting between the earliest and the latest instant that its jiffies and its wheel allow"),
		Otherwise: fmt.Sprintf("this machine was busy, or its kernel has another rule: who slept here for a millisecond meanwhile woke %s ms late in the median, and %s ms at most. Run it again "+
			"where that is next to nothing", experiments.Number(ms(median)), experiments.Number(ms(most))),
	})
	return out, nil
}
