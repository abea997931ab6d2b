package truth

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
)

// Replays is how right replays of captures are. Replays add up.
type Replays struct {
	Sides    [Sides]ReplaySide
	Verdicts []Judged
}

// ReplaySide is about the captures made on one side of the losses.
type ReplaySide struct {
	Needed, Passed int            // losses, and the ones through the gate
	Gates          map[string]int // needed losses by why they do not count
	Missed         []Missed       // these losses

	Oracle   []float64 // by which part of the captured recovery time the oracle is off
	Policies []float64 // by which part of the true recovery time a policy is off

	conns []Part // of each connection, through the gate of needed
}

// Share returns the share of the needed losses that pass the gate.
func (s *ReplaySide) Share() Share { return shareOf(s.conns) }

// Missed is a needed loss that does not pass the gate.
type Missed struct {
	File     string        `json:"file"`
	Packet   int64         `json:"packet"` // its first retransmission
	Why      string        `json:"why"`
	Captured time.Duration `json:"captured_t_rec_ns"`
	Oracle   time.Duration `json:"oracle_t_rec_ns"` // 0: it does not repair it
}

// Judged is a verdict of a replay on a policy, and what the policy really saves: in the same
// connections, on the same path, with the same fates, under that policy.
type Judged struct {
	Trial    string `json:"trial"` // a capture
	Damage   string `json:"damage,omitempty"`
	Captured string `json:"captured"`
	Policy   string `json:"policy"`
	Side     Side   `json:"captured_at"`
	Verdict  string `json:"verdict"`
	Why      string `json:"why,omitempty"`
	Losses   int    `json:"losses"`   // that the verdict rests on
	Compared int    `json:"compared"` // of these, losses that the policy really has too

	// Saved is by the replay, and Low and High are its interval. Really is over the compared losses.
	Saved  time.Duration `json:"saved_ns"`
	Low    time.Duration `json:"low_ns"`
	High   time.Duration `json:"high_ns"`
	Really time.Duration `json:"really_ns"`

	Missing time.Duration `json:"missing_ns"` // what the replay saves or costs by the other losses

	// Noise is the sum of differences between two runs of the compared losses under the same timers,
	// the captured and the policy's. It does not depend on the replay. Late is by how much the
	// machine was late at most in these runs. Both are 0 in the simulator.
	Noise time.Duration `json:"noise_ns"`
	Late  time.Duration `json:"late_ns"`
}

// mostMissing is the part of a verdict, one in so many, that may rest on losses that the policy
// really lacks. Beyond that the truth is not known.
const mostMissing = 5

// decided reports whether the verdict is that the policy saves or costs.
func (j *Judged) decided() bool {
	return j.Verdict == replay.Saves.String() || j.Verdict == replay.Costs.String()
}

// comparable reports whether there is a verdict of saving or costing, on losses that the policy
// has.
func (j *Judged) comparable() bool {
	return j.decided() && (j.Losses-j.Compared)*mostMissing <= j.Losses && j.Missing*mostMissing <= j.Saved.Abs()
}

// Known reports whether there is a verdict of saving or costing, and the truth is known.
func (j *Judged) Known() bool { return j.comparable() && j.Noise <= j.Really.Abs() }

// TooNoisy reports whether the truth is not known only because its noise exceeds the effect: runs
// under the same timers differ by more than runs under others.
func (j *Judged) TooNoisy() bool { return j.comparable() && !j.Known() }

// False reports whether the truth has the other sign than the verdict.
func (j *Judged) False() bool {
	return j.Known() && (j.Verdict == replay.Saves.String() && j.Really < 0 || j.Verdict == replay.Costs.String() && j.Really > 0)
}

// Wrong counts the verdicts whose truth is known, and the false ones. The interval takes the
// verdicts on one capture together, as they are not independent.
func (r *Replays) Wrong() (wrong, known int, share Share) {
	parts := map[string]Part{}
	for i := range r.Verdicts {
		j := &r.Verdicts[i]
		if !j.Known() {
			continue
		}
		p := parts[j.Trial]
		p.All++
		if j.False() {
			p.Right++ // of the shares of false ones
		}
		parts[j.Trial] = p
	}
	var all []Part
	for _, p := range parts {
		all = append(all, p)
		wrong, known = wrong+p.Right, known+p.All
	}
	return wrong, known, shareOf(all)
}

// Add adds o.
func (r *Replays) Add(o *Replays) {
	for i := range r.Sides {
		s, t := &r.Sides[i], &o.Sides[i]
		s.Needed, s.Passed = s.Needed+t.Needed, s.Passed+t.Passed
		for why, n := range t.Gates {
			s.count(why, n)
		}
		s.Missed = append(s.Missed, t.Missed...)
		s.Oracle, s.Policies, s.conns = append(s.Oracle, t.Oracle...), append(s.Policies, t.Policies...), append(s.conns, t.conns...)
	}
	r.Verdicts = append(r.Verdicts, o.Verdicts...)
}

func (s *ReplaySide) count(why string, n int) {
	if s.Gates == nil {
		s.Gates = map[string]int{}
	}
	s.Gates[why] += n
}

// sideOf returns the side of a loss on which its connection was captured.
func sideOf(s *replay.CapturedConn, l *replay.Loss) Side {
	switch {
	case s.Ends[l.Flow].Half == 0:
		return SenderSide
	case s.Ends[1-l.Flow].Half == 0:
		return ReceiverSide
	}
	return OnTheWay
}

// oracle counts the losses of a replayed connection by the gate, and how far the oracle is off.
func (r *Replays) oracle(x *replay.Result) {
	var parts [Sides]Part
	for i := range x.Captured.Losses {
		l := &x.Captured.Losses[i]
		if !l.Needed() {
			continue
		}
		side := sideOf(x.Captured, l)
		s := &r.Sides[side]
		s.Needed++
		parts[side].All++
		if gate := x.Gates[i]; gate == replay.Passed {
			s.Passed++
			parts[side].Right++
		} else {
			s.count(gate.String(), 1)
			s.Missed = append(s.Missed, Missed{x.File, l.Packet, gate.String(), l.TRec, x.Oracle[i].TRec})
		}
		s.Oracle = append(s.Oracle, offBy(x.Oracle[i].TRec, l.TRec, x.Oracle[i].Repaired))
	}
	for side, p := range parts {
		if p.All > 0 {
			r.Sides[side].conns = append(r.Sides[side].conns, p)
		}
	}
}

// offBy returns by which part of the truth a recovery time is off, 1 if there is none.
func offBy(took, truth time.Duration, repaired bool) float64 {
	if !repaired || truth <= 0 {
		return 1
	}
	return float64((took - truth).Abs()) / float64(truth)
}

// AddCapture replays the connections of a capture whose truth is not known, as r names it: the
// oracle, and as a policy the timers that explain the captured ones, against the capture itself. A
// file that is cut short counts up to there.
func (r *Replays) AddCapture(in io.Reader, name string) error {
	study := studyOf(replay.Captured)
	var failed error
	rec := replay.NewRecorder(replay.Config{Done: func(c *track.Conn, s *replay.CapturedConn, _ error) {
		if s == nil || failed != nil {
			return
		}
		x, err := study.Run(name, c, s)
		if failed = err; failed != nil {
			return
		}
		r.oracle(x)
		for i := range s.Losses {
			if y, ok := x.Recovery(i, 0, replay.ByRange); ok {
				side := &r.Sides[sideOf(s, &s.Losses[i])]
				side.Policies = append(side.Policies, offBy(y.TRec, s.Losses[i].TRec, true))
			}
		}
	}})
	err := readCapture(in, name, rec.Add)
	rec.Close()
	if err != nil && !errors.Is(err, capture.ErrCutShort) {
		return err
	}
	return failed
}

// studyOf returns a study of policies.
func studyOf(policies ...string) *replay.Study {
	st := &replay.Study{}
	for _, text := range policies {
		c, err := replay.ParseChoice(text)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		st.Choices = append(st.Choices, c)
	}
	return st
}

// twins are the flows of one capture: the senders' as captured, and as they really are under each
// choice.
type twins struct {
	name     string
	captured string // policy
	study    *replay.Study
	flow     []flowRuns      // by result
	under    [][]flowRuns    // by choice and result
	late     []time.Duration // of the machine, by choice; nil is never

	damage string
	places []int64 // by result: where its captured place 0 is in the stream; nil is at 0
}

// flowRuns are two runs of a flow under the same timers. The replay and the truth use the first,
// and the second shows the noise. In the simulator they are one.
type flowRuns [2]*Flow

// recovery returns the recovery time of the bytes [start, end), and how far the second run's is
// off: by all of it if it has none.
func (r *flowRuns) recovery(start, end uint64) (took, noise time.Duration, ok bool) {
	took, ok = r[0].recovery(start, end)
	again, _ := r[1].recovery(start, end)
	return took, (took - again).Abs(), ok
}

// judge compares replays of the capture on a side with the truth.
func (t *twins) judge(r *Replays, side Side, results []*replay.Result) {
	for _, x := range results {
		r.oracle(x)
	}
	for choice, sum := range t.study.Summarize(results) {
		j := Judged{
			Trial: t.name, Damage: t.damage, Captured: t.captured, Policy: sum.Policy, Side: side, Verdict: sum.Effect.String(), Why: sum.Why, Losses: sum.N,
			Saved: sum.Saved[replay.ByRange], Low: sum.Low, High: sum.High,
		}
		for n, x := range results {
			for i := range x.Captured.Losses {
				y, ok := x.Recovery(i, choice, replay.ByRange)
				if !ok {
					continue
				}
				was, is, noise, ok := t.really(x, n, i, choice)
				if !ok {
					j.Missing += (x.Oracle[i].TRec - y.TRec).Abs()
					continue
				}
				j.Compared++
				j.Noise += noise
				j.Really += was - is
				r.Sides[side].Policies = append(r.Sides[side].Policies, offBy(y.TRec, is, true))
			}
		}
		if t.late != nil {
			j.Late = t.late[choice]
		}
		r.Verdicts = append(r.Verdicts, j)
	}
}

// really returns the true recovery times of a loss of the n-th result: captured, and under a
// choice, and the noise of both.
func (t *twins) really(x *replay.Result, n, loss, choice int) (was, is, noise time.Duration, ok bool) {
	l := &x.Captured.Losses[loss]
	from := x.Client
	if l.Flow == 1 {
		from = x.Server
	}
	f, g := &t.flow[n], &t.under[choice][n]
	if l.Try != 1 || f[0].Src.Addr() != from.Addr() {
		return 0, 0, 0, false
	}
	start, end := l.Start, l.End
	if t.places != nil {
		start, end = start+uint64(t.places[n]), end+uint64(t.places[n])
	}
	was, noise, known := f.recovery(start, end)
	is, more, ok := g.recovery(start, end)
	return was, is, noise + more, known && ok
}

// recovery returns how long after their first transmission the sender had the ACK of the bytes
// [start, end) of its stream, where the SYN is 0. ok is false if that transmission arrived, or no
// ACK came.
func (f *Flow) recovery(start, end uint64) (took time.Duration, ok bool) {
	if len(f.Sent) == 0 {
		return 0, false
	}
	first, last := f.Sent[0].Seq.Add(uint32(start)), f.Sent[0].Seq.Add(uint32(end))
	i := slices.IndexFunc(f.Sent, func(t Sent) bool { return t.Seq.AtOrBefore(first) && t.End.After(first) })
	if i < 0 || f.Sent[i].Arrived {
		return 0, false
	}
	for _, a := range f.reports {
		if a.una.AtOrAfter(last) {
			return a.at.Sub(f.Sent[i].At), true
		}
	}
	return 0, false
}

// resultOf replays the first connection in what feed records that is wanted. It returns nil if that
// has no loss or cannot be replayed.
func resultOf(study *replay.Study, name string, wanted func(*track.Conn) bool, feed func(*replay.Recorder) error) (x *replay.Result, err error) {
	rec := replay.NewRecorder(replay.Config{Done: func(c *track.Conn, s *replay.CapturedConn, _ error) {
		if s != nil && x == nil && err == nil && wanted(c) {
			x, err = study.Run(name, c, s)
		}
	}})
	fed := feed(rec)
	rec.Close()
	if err = errors.Join(fed, err); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return x, nil
}

func anyConn(*track.Conn) bool { return true }
