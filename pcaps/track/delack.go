package track

import (
	"slices"
	"time"

	"tcpwheel/internal/record"
)

// DelayedACKs summarises the ACKs of single segments that came later than Dst could have sent them:
// Dst waited for a second segment, or for data to send.
type DelayedACKs struct {
	Count  int64         `json:"count" help:"ACKs of src's data that waited"`
	Min    time.Duration // of their waits
	Median time.Duration `json:"median_s" help:"of their waits"`
	Max    time.Duration `json:"max_s"`

	// Timer names the pattern: "fixed" for one delay, "heartbeat" for a tick shared by all
	// connections, so that delays spread evenly up to Max, "adaptive" for neither, "" for too few
	// delays.
	Timer string `json:"timer,omitempty" help:"fixed, heartbeat or adaptive"`

	delays []time.Duration

	// ACKs without data of a segment that was alone in flight, and the longest of their delays.
	lone    int
	longest time.Duration
}

// MarshalJSON returns the record.
func (d DelayedACKs) MarshalJSON() ([]byte, error) { return record.Marshal(d) }

// neverLonger reports whether Dst has acknowledged enough lone segments to show that it delays no
// ACK for longer.
func (d *DelayedACKs) neverLonger(than time.Duration) bool {
	return d.lone >= leastLone && d.longest <= than
}

// maxDelays is the number of delays kept, the last ones.
const maxDelays = 128

// delay records how much longer than the fastest a pure ACK of one segment took.
func (f hearing) delay(m *ackRTT, rtt time.Duration) {
	if !m.advanced || m.tainted || m.syn || f.RTT.Samples < 2 {
		return
	}
	d := &f.Delayed
	late := rtt - f.RTT.Min
	if f.board.len() == 0 {
		d.lone++
		d.longest = max(d.longest, late)
	}
	if late < minAckDelay || late < f.RTT.Min/4 || late > maxAckDelay {
		return
	}
	d.Count++
	if len(d.delays) < maxDelays {
		d.delays = append(d.delays, late)
	} else {
		d.delays[(d.Count-1)%maxDelays] = late // the oldest one's place
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
	case high-low <= max(d.Median/5, fixedAckSpread):
		d.Timer = "fixed"
	case d.Max <= heartbeatMost && high > heartbeatHigh && low < heartbeatLow && d.Median > heartbeatLow:
		d.Timer = "heartbeat"
	default:
		d.Timer = "adaptive"
	}
	d.delays = nil
}
