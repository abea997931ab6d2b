package replay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
)

// Validation is how near a replay under the timers that a capture was made with comes to it, over the losses that count.
type Validation struct {
	Policy string

	// How many losses there are that a timeout, a probe, RACK's timer for reordering, and an ACK detected, and for how many of them D is as
	// captured: within a jiffy or 2 %, within two jiffies, within two, and within 1 ms.
	Timeouts, TimeoutsRight int
	Probes, ProbesRight     int
	Reorders, ReordersRight int
	Fast, FastRight         int

	First, FirstRight int // first transmissions, and those within 1 ms, in the open loop

	// Recoveries is how many were repaired in both, and Median and P95 by how much of the captured time the recovery times are off.
	Recoveries  int
	Median, P95 float64

	Judged []Judged `json:"-"` // these losses
}

// Judged is a loss of a validation.
type Judged struct {
	Result *Result
	Loss   int

	// D is how long the engine took to send it again in the open loop, if Detected, and Right is whether that is within the band.
	D               time.Duration
	Detected, Right bool

	// TRec is how long the recovery took in the replay, if Repaired, and Off by how much of the captured time that is off, or 1.
	TRec     time.Duration
	Repaired bool
	Off      float64

	Why Why // that is, if the replay is Far from what was captured
}

// Far reports whether the recovery time is off by more than 10 %.
func (j *Judged) Far() bool { return j.Off > mostP95 }

// Why is where a replay parts from what was captured.
type Why uint8

const (
	// WhyTimer: the loss is detected at another time even by an engine that hears what the captured sender heard.
	WhyTimer Why = iota

	// WhyPath: such an engine detects it when the captured sender did, and in the replay it is detected at another time.
	WhyPath

	// WhyRepair: it is detected when it was, and repaired at another time.
	WhyRepair

	whys
)

var whyNames = [whys]string{"timer", "path", "repair"}

// String returns "timer", "path" or "repair".
func (w Why) String() string { return whyNames[min(w, whys-1)] }

// The bands of a validation.
const (
	mostRight  = 0.95
	mostMedian = 0.05
	mostP95    = 0.10
	fastBand   = time.Millisecond
	jiffy      = 4 * time.Millisecond // HZ 250
)

// Validate compares the captured losses with those under a choice: when they were detected, by an engine in an open loop, which hears what
// the captured sender heard; and how long the recovery took, in the replay by range. Only what was captured at its sender counts.
func (st *Study) Validate(results []*Result, choice int) (Validation, error) {
	var v Validation
	for _, r := range results {
		o := r.Outcomes[choice][ByRange]
		v.Policy = o.Policy
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
		for i := range r.Script.Loss {
			if w := wires[r.Script.Loss[i].Flow]; w != nil && r.Script.judges(i) {
				v.judge(r, i, w, &o.Recoveries[i])
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

// judges reports whether a replay is judged by a loss: it counts, its cause is known, and it was captured whole and at its sender.
func (s *Script) judges(loss int) bool {
	l := &s.Loss[loss]
	return l.Counts() && !l.Estimated && l.Kind != track.Unknown && l.Kind != track.Probe && s.Ends[l.Flow].Half == 0
}

// judge counts a loss of r, as the open loop of its sender detected it, and as it was repaired in the replay.
func (v *Validation) judge(r *Result, loss int, w *WireOutcome, rec *Recovery) {
	l := &r.Script.Loss[loss]
	took, at, detected := w.Detected(l.Start, l.Try)
	d := (took - l.D).Abs()
	if l.Kind == track.Fast && !l.Timed {
		d = at.Sub(l.At).Abs() // the ACK that caused it came at the same instant
	}
	n, good, band := v.counters(l)
	right := detected && d <= band
	*n++
	if right {
		*good++
	}
	v.Judged = append(v.Judged, Judged{
		Result: r, Loss: loss, D: took, Detected: detected, Right: right, TRec: rec.TRec, Repaired: rec.Sent, Off: offBy(l, rec),
		Why: whyFar(right, rec.D, l.D),
	})
}

// counters returns where losses like l are counted, all and those that are right, and within how much D has to be.
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

// offBy returns by how much of the captured time a recovery is off, in whole millionths of it, or 1 if the loss was not repaired at all.
func offBy(l *Loss, rec *Recovery) float64 {
	if !rec.Sent {
		return 1
	}
	return math.Trunc(1e6*float64((rec.TRec-l.TRec).Abs())/float64(l.TRec)) / 1e6
}

// whyFar returns why a replay is far from what was captured, where the loss was detected in the open loop as in the capture or not, and after
// d in the replay.
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

// timeoutBand is by how much a timeout may be off: a jiffy, or 2 %.
func timeoutBand(d time.Duration) time.Duration { return max(jiffy, d/50) }

// Passes reports whether the replay is as near as it has to be for its figures to be believed: at least 95 % of each kind are right, and
// the recovery times are off by 5 % at most in the median, and by 10 % for 95 % of them.
func (v *Validation) Passes() bool {
	enough := func(right, n int) bool { return n == 0 || float64(right) >= mostRight*float64(n) }
	return v.Recoveries > 0 && enough(v.TimeoutsRight, v.Timeouts) && enough(v.ProbesRight, v.Probes) && enough(v.ReordersRight, v.Reorders) &&
		enough(v.FastRight, v.Fast) &&
		v.Median <= mostMedian && v.P95 <= mostP95
}

// HoldOut returns the second half of the results, each second one, to be run (RunAgain) with scripts whose ends acknowledge as those of the
// first half mostly do, begin with their first flights, and have the ticks that their timers tell: no parameter was learnt from the
// connection that is then measured. What remains of it is the script: the path, the applications, and when windows and ACKs let more go.
func HoldOut(results []*Result) (half []*Result) {
	var learnt []*Result
	for i := 0; i < len(results); i += 2 {
		learnt = append(learnt, results[i])
	}
	known := timers(learnt)
	acks, flights := habits(learnt)
	for i := 1; i < len(results); i += 2 {
		s := *results[i].Script
		for d := range s.Ends {
			e := &s.Ends[d]
			most := 0
			for _, c := range ackers { // in a fixed order
				if n := acks[d][c]; n > most {
					most, e.ACKs = n, c
				}
			}
			e.Timed = ticksOf(results[i].addr(d), s.Epoch, known)
			e.Flight = Quantile(slices.Clone(flights[d]), 0.5)
		}
		x := *results[i]
		x.Script, x.Outcomes = &s, nil
		half = append(half, &x)
	}
	return half
}

// habits returns how the clients and the servers of results acknowledge, and how often each way, and their first flights, as far as known.
func habits(results []*Result) (acks [2]map[tcptimers.DelAckConfig]int, flights [2][]uint32) {
	for d := range acks {
		acks[d] = map[tcptimers.DelAckConfig]int{}
		for _, r := range results {
			e := &r.Script.Ends[d]
			acks[d][e.ACKs]++
			if e.Flight > 0 {
				flights[d] = append(flights[d], e.Flight)
			}
		}
	}
	return acks, flights
}
