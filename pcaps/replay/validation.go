package replay

import (
	"cmp"
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

	Why Why // that is, if the replay is far from what was captured
}

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
	var off []time.Duration // in parts of a million
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
			l := &r.Script.Loss[i]
			rec := &o.Recoveries[i]
			if !l.Counts() || l.Estimated || l.Kind == track.Unknown || l.Kind == track.Probe {
				continue
			}
			w := wires[l.Flow]
			if w == nil || r.Script.Ends[l.Flow].Half > 0 {
				continue
			}
			took, at, right := w.Detected(l.Start, l.Try)
			d := (took - l.D).Abs()
			if l.Kind == track.Fast && !l.Timed {
				d = at.Sub(l.At).Abs() // the ACK that caused it came at the same instant
			}
			judged := Judged{Result: r, Loss: i, D: took, Detected: right, TRec: rec.TRec, Repaired: rec.Sent}
			count := func(n, good *int, band time.Duration) {
				*n++
				if right && d <= band {
					*good++
					judged.Right = true
				}
			}
			switch l.Kind {
			case track.RTO, track.SYN:
				count(&v.Timeouts, &v.TimeoutsRight, timeoutBand(l.D))
			case track.TLP:
				count(&v.Probes, &v.ProbesRight, 2*jiffy)
			case track.Fast:
				if l.Timed {
					count(&v.Reorders, &v.ReordersRight, 2*jiffy)
				} else {
					count(&v.Fast, &v.FastRight, fastBand)
				}
			}
			part := time.Duration(1e6) // not repaired at all
			if rec.Sent {
				part = time.Duration(1e6 * float64((rec.TRec - l.TRec).Abs()) / float64(l.TRec))
			}
			off = append(off, part)
			judged.Off = float64(part) / 1e6
			judged.Why = whyFar(judged.Right, rec.D, l.D)
			v.Judged = append(v.Judged, judged)
		}
	}
	v.Recoveries = len(off)
	v.Median, v.P95 = float64(Quantile(off, 0.5))/1e6, float64(Quantile(off, 0.95))/1e6
	return v, nil
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
		if j.Off > mostP95 {
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

// HoldOut returns the second half of the results, each second one, with scripts whose ends acknowledge as those of the first half mostly
// do, begin with their first flights, and have the ticks that their timers tell: no parameter was learnt from the connection that is then
// measured. What remains of it is the script: the path, the applications, and when windows and ACKs let more go.
func HoldOut(results []*Result) (half []*Script) {
	var acks [2]map[tcptimers.DelAckConfig]int
	var flights [2][]time.Duration
	for d := range acks {
		acks[d] = map[tcptimers.DelAckConfig]int{}
	}
	for i := 0; i < len(results); i += 2 {
		for d, e := range results[i].Script.Ends {
			acks[d][e.ACKs]++
			if e.Flight > 0 {
				flights[d] = append(flights[d], time.Duration(e.Flight))
			}
		}
	}
	var learnt []*Result
	for i := 0; i < len(results); i += 2 {
		learnt = append(learnt, results[i])
	}
	known := timers(learnt)
	for i := 1; i < len(results); i += 2 {
		s := *results[i].Script
		for d := range s.Ends {
			most := 0
			for _, c := range ackers { // in a fixed order
				if n := acks[d][c]; n > most {
					most, s.Ends[d].ACKs = n, c
				}
			}
			s.Ends[d].Timed = ticksOf(results[i].addr(d), s.Epoch, known)
			s.Ends[d].Flight = uint32(Quantile(slices.Clone(flights[d]), 0.5))
		}
		half = append(half, &s)
	}
	return half
}
