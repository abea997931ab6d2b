package replay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tcpwheel/pcaps/track"
)

// Validation is how near a replay under the captured timers comes to the capture, over the losses
// that were captured whole and at their sender.
type Validation struct {
	Policy string `json:"policy"`

	// The first transmissions, and those within 1 ms, in the open loop.
	First      int `json:"first_transmissions"`
	FirstRight int `json:"first_within_1ms"`

	// How many losses a timeout, a probe, RACK's timer for reordering, and an ACK detected. Right
	// are those whose D is as captured: within a jiffy or 2 %, within two jiffies, within two
	// jiffies, and within 1 ms.
	Timeouts      int `json:"timeouts"`
	TimeoutsRight int `json:"timeouts_right"`
	Probes        int `json:"probes"`
	ProbesRight   int `json:"probes_right"`
	Reorders      int `json:"reorders"`
	ReordersRight int `json:"reorders_right"`
	Fast          int `json:"acks"`
	FastRight     int `json:"acks_right"`

	// Recoveries is how many losses there are. Median and P95 are how far their recovery times are
	// off, as parts of the captured ones.
	Recoveries int     `json:"recoveries"`
	Median     float64 `json:"median_off"`
	P95        float64 `json:"p95_off"`

	Judged []Judged `json:"-"` // these losses
}

// Judged is a loss of a validation.
type Judged struct {
	ResultLoss

	// D is how long after the lost transmission the engine retransmitted in the open loop, if
	// Detected. Right says that this is within the band.
	D               time.Duration
	Detected, Right bool

	// TRec is the recovery time in the replay, if Repaired. Off is by which part of the captured
	// time it is off; 1 if not Repaired.
	TRec     time.Duration
	Repaired bool
	Off      float64

	Why Why // the replay is off, if it is Far
}

// Far reports whether the recovery time is off by more than 10 %.
func (j *Judged) Far() bool { return j.Off > mostP95 }

// Why is where a replay parts from the capture.
type Why string

const (
	// WhyTimer: an engine that hears what the captured sender heard detects the loss at another
	// time.
	WhyTimer Why = "timer"

	// WhyPath: such an engine detects it when the captured sender did, but the replay at another
	// time.
	WhyPath Why = "path"

	// WhyRepair: the replay detects it when the captured sender did, and repairs it at another
	// time.
	WhyRepair Why = "repair"
)

// The bands of a validation.
const (
	mostRight  = 0.95
	mostMedian = 0.05
	mostP95    = 0.10
	fastBand   = time.Millisecond
)

// Validate compares the captured losses with those under a choice: D in an open loop, where an
// engine hears what the captured sender heard; and the recovery time in the replay by range.
func (st *Study) Validate(results []*Result, choice int) (Validation, error) {
	v := Validation{Policy: st.Choices[choice].Text}
	for _, r := range results {
		if r.Policies[choice].Unknown {
			continue
		}
		wires, err := st.Wire(r, choice)
		if err != nil {
			return v, err
		}
		for _, w := range wires {
			if w != nil {
				v.First += w.First
				v.FirstRight += w.FirstRight
			}
		}
		for i := range r.Captured.Losses {
			if w := wires[r.Captured.Losses[i].Flow]; w != nil && r.Captured.judges(i) {
				v.judge(r, i, w, &r.Policies[choice].Recoveries[ByRange][i])
			}
		}
	}
	var off []float64
	for i := range v.Judged {
		off = append(off, v.Judged[i].Off)
	}
	v.Recoveries, v.Median, v.P95 = len(off), Quantile(off, 0.5), Quantile(off, 0.95)
	return v, nil
}

// judges reports whether a replay is judged by a loss: it was needed and repaired, its cause is
// known, and it was captured whole and at its sender.
func (s *CapturedConn) judges(loss int) bool {
	l := &s.Losses[loss]
	return l.Needed() && !l.Estimated && l.Kind != track.Unknown && l.Kind != track.Probe && s.Ends[l.Flow].Half == 0
}

// judge counts a loss of r, as the open loop of its sender detected it, and as the replay repaired
// it.
func (v *Validation) judge(r *Result, loss int, w *WireOutcome, rec *Recovery) {
	l := &r.Captured.Losses[loss]
	took, at, detected := w.Detected(l.Start, l.Try)
	d := (took - l.D).Abs()
	if l.Kind == track.Fast && !l.Timed {
		d = at.Sub(l.At).Abs() // the ACK that caused it arrived at the same instant
	}
	n, good, band := v.counters(l)
	right := detected && d <= band
	*n++
	*good += count(right)
	v.Judged = append(v.Judged, Judged{
		ResultLoss: ResultLoss{r, loss}, D: took, Detected: detected, Right: right, TRec: rec.TRec, Repaired: rec.Repaired, Off: offBy(l, rec),
		Why: whyFar(right, rec.D, l.D),
	})
}

// counters returns where losses like l are counted, all and what are right, and how near D
// has to be.
func (v *Validation) counters(l *Loss) (n, right *int, band time.Duration) {
	switch {
	case l.Kind == track.TLP:
		return &v.Probes, &v.ProbesRight, 2 * jiffy
	case l.Kind == track.Fast && l.Timed:
		return &v.Reorders, &v.ReordersRight, 2 * jiffy
	case l.Kind == track.Fast:
		return &v.Fast, &v.FastRight, fastBand
	}
	return &v.Timeouts, &v.TimeoutsRight, timeoutBand(l.D)
}

// offBy returns by which part of the captured time a recovery is off, in whole millionths; 1 if it
// did not happen.
func offBy(l *Loss, rec *Recovery) float64 {
	if !rec.Repaired {
		return 1
	}
	return math.Trunc(1e6*float64((rec.TRec-l.TRec).Abs())/float64(l.TRec)) / 1e6
}

// whyFar returns why a replay is off, where the open loop detected the loss as in the capture or
// not, and the replay after d.
func whyFar(right bool, d, captured time.Duration) Why {
	switch {
	case !right:
		return WhyTimer
	case (d - captured).Abs() > timeoutBand(captured):
		return WhyPath
	}
	return WhyRepair
}

// Far returns the losses whose recovery times are off by more than 10 %, the farthest first.
func (v *Validation) Far() (far []Judged) {
	for _, j := range v.Judged {
		if j.Far() {
			far = append(far, j)
		}
	}
	slices.SortStableFunc(far, func(a, b Judged) int { return cmp.Compare(b.Off, a.Off) })
	return far
}

// timeoutBand is how far a timeout may be off: a jiffy, or 2 %.
func timeoutBand(d time.Duration) time.Duration { return max(jiffy, d/50) }

// Passes reports whether the replay is near enough to be believed: at least 95 % of each kind are
// right, and recovery times are off by at most 5 % in the median, and by at most 10 % for 95 % of
// them.
func (v *Validation) Passes() bool {
	enough := func(right, n int) bool { return n == 0 || float64(right) >= mostRight*float64(n) }
	return v.Recoveries > 0 && enough(v.TimeoutsRight, v.Timeouts) && enough(v.ProbesRight, v.Probes) &&
		enough(v.ReordersRight, v.Reorders) && enough(v.FastRight, v.Fast) && v.Median <= mostMedian && v.P95 <= mostP95
}

// HoldOut returns every second result, to be run (RunAgain) with what the others show: how ends
// acknowledge, their first flights and their ticks. So no parameter is learnt from the connection
// that is measured. What remains of it is the CapturedConn: the path, the applications, and when
// windows and ACKs let more go.
func HoldOut(results []*Result) (half []*Result) {
	var learnt []*Result
	for i := 0; i < len(results); i += 2 {
		learnt = append(learnt, results[i])
	}
	known := hostTimers(learnt)
	for i := 1; i < len(results); i += 2 {
		s := *results[i].Captured
		for d := range s.Ends {
			e := &s.Ends[d]
			e.Timed = timedOf(results[i].addr(d), s.Epoch, known)
			e.ACKDelay, e.FirstFlight = habits(learnt, d)
		}
		x := *results[i]
		x.Captured, x.Policies = &s, nil
		half = append(half, &x)
	}
	return half
}

// habits returns how long the clients or the servers of results delay ACKs, and their first
// flights.
func habits(results []*Result, d int) (delay time.Duration, flight uint32) {
	var delays []time.Duration
	var flights []uint32
	for _, r := range results {
		e := &r.Captured.Ends[d]
		delays = append(delays, e.ACKDelay)
		if e.FirstFlight > 0 {
			flights = append(flights, e.FirstFlight)
		}
	}
	return Quantile(delays, 0.5), Quantile(flights, 0.5)
}
