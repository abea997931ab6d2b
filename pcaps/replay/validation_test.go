package replay

import (
	"math"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/samples"
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
}

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
	var off []float64
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
				l := &r.Captured.Losses[i]
				v.judge(l, w)
				off = append(off, offBy(l, &r.Policies[choice].Recoveries[ByRange][i]))
			}
		}
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

// judge counts a loss, as the open loop of its sender detected it.
func (v *Validation) judge(l *Loss, w *WireOutcome) {
	took, at, detected := w.Detected(l.Start, l.Try)
	d := (took - l.D).Abs()
	if l.Kind == track.Fast && !l.Timed {
		d = at.Sub(l.Again).Abs() // the ACK that caused it arrived at the same instant
	}
	n, good, band := v.counters(l)
	*n++
	*good += count(detected && d <= band)
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

// ShareTicks gives each host that was captured there, by its address, the ticks that all results
// together show. What has run already is to run again.
func ShareTicks(results []*Result) {
	known := hostTimers(results)
	for _, r := range results {
		for d := range r.Captured.Ends {
			r.Captured.Ends[d].Timed = timedOf(r.addr(d), r.Captured.Epoch, known)
		}
	}
}

// TestValidationOfSamples replays the captures that two kernels made at their senders: under the
// kernels' timers they are as captured, also with what other connections show, and under timers
// that differ they are not. Connections of a capture share their ticks.
func TestValidationOfSamples(t *testing.T) {
	for _, c := range []struct {
		policy  string
		holdOut bool
		passes  bool
	}{{"linux-jiffies", false, true}, {"linux-jiffies", true, true}, {"gvisor", false, false}, {"bsd", false, false}} {
		st := &Study{Choices: choices(t, c.policy), Congestion: "cubic"}
		var all []*Result
		for _, s := range samples.List() {
			f, err := samples.Open(s.Name + "/a.pcapng.gz")
			if err != nil {
				t.Fatal(err)
			}
			in, err := capture.NewReader(f, s.Name)
			if err != nil {
				t.Fatal(err)
			}
			rec := NewRecorder(Config{Done: func(conn *track.Conn, made *CapturedConn, err error) {
				if made == nil || err != nil {
					return // no loss, or refused
				}
				if r, err := st.Run(s.Name, conn, made); err == nil {
					all = append(all, r)
				}
			}})
			for p, err := in.Next(); err == nil; p, err = in.Next() {
				rec.Add(p)
			}
			rec.Close()
			f.Close()
		}
		half := HoldOut(all)
		ShareTicks(all)
		if c.holdOut {
			all = half
		}
		for _, r := range all {
			if err := st.RunAgain(r); err != nil {
				t.Fatal(err)
			}
		}
		v, err := st.Validate(all, 0)
		if err != nil || v.Passes() != c.passes || v.Recoveries < 5 {
			t.Errorf("%s, held out %v: passes %v, want %v: %+v, %v", c.policy, c.holdOut, v.Passes(), c.passes, v, err)
		}
	}
}
