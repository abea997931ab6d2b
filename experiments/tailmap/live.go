package tailmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

// kernelTimes is the number of tails that the kernel loses in each setting: odd, for the median.
const kernelTimes = 9

// waits returns the earliest and the latest instant at which the rule lets the kernel retransmit a
// lone segment, counted from the last ACK before, or from its transmission. The rule is the probe
// of RFC 8985 §7.2, no later than the timer, from the kernel's own SRTT and RTO. It is rounded up
// to jiffies. The kernel's timer wheel adds up to a jiffy, from 63 jiffies on up to eight, from 504
// on up to 64, and so on.
func waits(k lone) (least, most time.Duration) {
	least = min(2*k.SRTT+maxAckDelay, k.RTO)
	least = (least + k.Jiffy - 1) / k.Jiffy * k.Jiffy
	step := k.Jiffy
	for least >= 63*step {
		step *= 8
	}
	return least, least + step
}

// beyond returns how far a wait is from the rule: below 0 if early, above 0 if late.
func beyond(k lone) time.Duration {
	least, most := waits(k)
	return min(k.Wait-least, 0) + max(k.Wait-most, 0)
}

// loseLasts loses a last segment so often, at once, and returns those of which the kernel was asked
// in time.
func loseLasts(ctx context.Context, rtt time.Duration, segments int) ([]lone, error) {
	var (
		mu  sync.Mutex
		all []lone
	)
	err := testbed.AtOnce(kernelTimes, kernelTimes, func(i int) error {
		time.Sleep(time.Duration(i) * 7 * time.Millisecond) // so that they do not wait for one another
		l, ok, err := loseLast(ctx, rtt, segments)
		mu.Lock()
		defer mu.Unlock()
		if ok {
			all = append(all, l)
		}
		return errors.Join(err, ctx.Err())
	})
	return all, err
}

// kernel measures the kernel's TCP, which loses a last segment at gVisor's round trips.
func kernel(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "kernel", Title: "The kernel's TCP of this machine: the last segment of a response is lost",
		Columns: []string{"round trip, ms", "segments", "kernel's SRTT, ms", "kernel's RTO, ms", "waited, ms",
			"rule from, ms", "to, ms", "within"},
	}
	off, settings, within, tails, unasked := 0, 0, 0, 0, 0
	endLateness := lateness()
	for _, rtt := range p.GVisorRTTs {
		for _, segments := range p.GVisorSegments {
			all, err := loseLasts(ctx, rtt, segments)
			if err != nil {
				endLateness()
				return nil, err
			}
			if len(all) <= kernelTimes/2 {
				unasked++
				continue
			}
			keep := 0
			for _, k := range all {
				if beyond(k) == 0 {
					keep++
				}
			}
			slices.SortFunc(all, func(a, b lone) int { return cmp.Compare(beyond(a), beyond(b)) })
			k := all[(len(all)-1)/2]
			settings, tails, within = settings+1, tails+len(all), within+keep
			if beyond(k) != 0 {
				off++
			}
			least, most := waits(k)
			table.Add(rtt, segments, k.SRTT, k.RTO, k.Wait, least, most, fmt.Sprintf("%d of %d", keep, len(all)))
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
			"where that is almost 0", experiments.Text(median), experiments.Text(most)),
	})
	return out, nil
}
