package track

import (
	"slices"
	"time"
)

// DelayedACKs are the ACKs of single segments that came noticeably later than they could have: Dst has waited for a second one, or for
// something to send.
type DelayedACKs struct {
	Count            int64
	Min, Median, Max time.Duration // of the delays

	// Timer is what they look like: "fixed" for one delay, "heartbeat" for a tick that all connections share, where they spread evenly
	// up to Max, "adaptive" for neither, "" if there are too few to tell.
	Timer string

	delays []time.Duration
	next   int
}

const (
	noticeable = 5 * time.Millisecond
	longest    = 600 * time.Millisecond // RFC 9293 §3.8.6.3 (MUST-40): less than 0.5 seconds
	maxDelays  = 128
)

// delay notes how much longer an ACK took than the fastest.
func (f *Flow) delay(a *ack, m *measured, rtt time.Duration) {
	if !m.advanced || m.tainted || m.segments != 1 || !a.pure || f.RTT.Samples < 2 {
		return
	}
	d := &f.Delayed
	late := rtt - f.RTT.Min
	if late < noticeable || late < f.RTT.Min/4 || late > longest {
		return
	}
	d.Count++
	if len(d.delays) < maxDelays {
		d.delays = append(d.delays, late)
	} else {
		d.delays[d.next] = late
		d.next = (d.next + 1) % maxDelays
	}
}

func (d *DelayedACKs) finish() {
	if len(d.delays) == 0 {
		return
	}
	slices.Sort(d.delays)
	n := len(d.delays)
	d.Min, d.Median, d.Max = d.delays[0], d.delays[n/2], d.delays[n-1]
	low, high := d.delays[n/10], d.delays[n-1-n/10]
	switch {
	case n < 5:
	case high-low <= max(d.Median/5, 5*time.Millisecond):
		d.Timer = "fixed"
	case d.Max <= 230*time.Millisecond && high > 140*time.Millisecond && low < 60*time.Millisecond && d.Median > 60*time.Millisecond:
		d.Timer = "heartbeat"
	default:
		d.Timer = "adaptive"
	}
	d.delays = nil
}
