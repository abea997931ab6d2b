package replay

import (
	"cmp"
	"errors"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Study runs connections under several policies, by all keys.
type Study struct {
	Choices []Choice
	Control string // of congestion; "" is newreno
}

// Result is what a study has found of a connection.
type Result struct {
	File           string
	ID             int
	Client, Server netip.AddrPort
	Model          string // the timers that stand for the captured ones
	SYNs           track.SYNTimeouts
	Script         *Script
	Outcomes       [][Keys]*Outcome // by choice
}

// Model returns the timers that explain a connection best: those of the end with the most losses, or Linux's if none do.
func Model(c *track.Conn) string {
	f := &c.Flows[0]
	if g := &c.Flows[1]; len(g.Episodes) > len(f.Episodes) {
		f = g
	}
	if f.Timers.Best != "" {
		return f.Timers.Best
	}
	return "linux"
}

// Run replays a connection.
func (st *Study) Run(file string, c *track.Conn, s *Script) (*Result, error) {
	client := &c.Flows[0]
	r := &Result{File: file, ID: c.ID, Client: client.Src, Server: client.Dst, Model: Model(c), SYNs: client.Timers.SYNs, Script: s}
	return r, st.RunAgain(r)
}

// RunAgain replays the script of a result, in place of what it has, on as many processors as there are.
func (st *Study) RunAgain(r *Result) error {
	r.Outcomes = make([][Keys]*Outcome, len(st.Choices))
	errs := make([]error, len(st.Choices)*Keys)
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i := range st.Choices {
		p, err := st.Choices[i].policy(r.Model, r.SYNs)
		if err != nil {
			all.Wait()
			return err
		}
		for k := range Keys {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				r.Outcomes[i][k], errs[i*Keys+k] = r.Script.Run(Options{Policy: p, Key: Key(k), Control: st.Control})
			})
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

// Wire runs the ends that had losses in open loops, under a choice. What an end cannot do is nil.
func (st *Study) Wire(r *Result, choice int) (ends [2]*WireOutcome, err error) {
	p, err := st.Choices[choice].policy(r.Model, r.SYNs)
	if err != nil {
		return ends, err
	}
	for _, l := range r.Script.Loss {
		if ends[l.Flow] != nil {
			continue
		}
		out, err := r.Script.Wire(l.Flow, Options{Policy: p, Control: st.Control})
		if err != nil {
			var refusal *Refusal
			if errors.As(err, &refusal) {
				continue
			}
			return ends, err
		}
		ends[l.Flow] = out
	}
	return ends, nil
}

// Refused reports whether the capture tells too little for a verdict on a choice: more than MostImputed of what it sent in the replay.
func (r *Result) Refused(choice int) bool {
	return r.Outcomes[choice][ByRange].Share() > MostImputed
}

// Counts reports whether a loss counts in comparisons of recovery times: it was needed, and repaired.
func (l *Loss) Counts() bool { return l.TRec > 0 && l.Verdict != track.Spurious }

// Recovery returns what became of a loss under a choice by a key, and whether it counts: the loss does, the octets were acknowledged
// before the horizon, and there is a verdict.
func (r *Result) Recovery(loss, choice int, key Key) (*Recovery, bool) {
	rec := &r.Outcomes[choice][key].Recoveries[loss]
	return rec, r.Script.Loss[loss].Counts() && rec.Sent && !rec.Beyond && !r.Refused(choice)
}

// Summary is how a policy has done over all losses that count.
type Summary struct {
	Policy string

	N                int
	Median, P95, P99 time.Duration // of the recovery times
	Stall            time.Duration // their sum, less a round trip each
	Needless         int           // retransmissions
	Rexmits          int

	// Saved is the captured recovery times less those of the replay, by each key, over the losses that count under it; and Of the captured
	// ones.
	Saved [Keys]time.Duration
	Of    [Keys]time.Duration

	Refused    int // connections without a verdict
	Beyond     int // losses beyond the horizon
	Imputed    int
	Deliveries int
}

// Share returns the part of the transmissions whose fate the captures do not tell.
func (s *Summary) Share() float64 { return float64(s.Imputed) / float64(max(s.Deliveries, 1)) }

// CapturedSummary returns what the captures have: its Policy is "", and nothing is saved.
func CapturedSummary(results []*Result) Summary {
	var s Summary
	var all []time.Duration
	for _, r := range results {
		for i := range r.Script.Loss {
			l := &r.Script.Loss[i]
			s.Needless += l.Needless
			s.Rexmits += l.Rexmits
			if l.Counts() {
				all = append(all, l.TRec)
				s.Stall += max(l.TRec-l.RTT, 0)
			}
		}
	}
	s.quantiles(all)
	return s
}

// Summarize returns how a choice has done.
func Summarize(results []*Result, choice int) Summary {
	var s Summary
	var all []time.Duration
	for _, r := range results {
		o := r.Outcomes[choice][ByRange]
		s.Policy = o.Policy
		s.Imputed += o.Imputed
		s.Deliveries += o.Deliveries
		if r.Refused(choice) {
			s.Refused++
			continue
		}
		s.Needless += o.Spurious
		s.Rexmits += o.Rexmits
		for i := range r.Script.Loss {
			l := &r.Script.Loss[i]
			for k := range s.Saved {
				rec, ok := r.Recovery(i, choice, Key(k))
				if !ok {
					if Key(k) == ByRange && l.Counts() && rec.Beyond {
						s.Beyond++
					}
					continue
				}
				s.Saved[k] += l.TRec - rec.TRec
				s.Of[k] += l.TRec
				if Key(k) == ByRange {
					all = append(all, rec.TRec)
					s.Stall += max(rec.TRec-l.RTT, 0)
				}
			}
		}
	}
	s.quantiles(all)
	return s
}

func (s *Summary) quantiles(all []time.Duration) {
	s.N = len(all)
	s.Median, s.P95, s.P99 = Quantile(all, 0.5), Quantile(all, 0.95), Quantile(all, 0.99)
}

// Quantile returns the least of all that at least a part q of them is not above; 0 of none. It sorts them.
func Quantile[T cmp.Ordered](all []T, q float64) T {
	if len(all) == 0 {
		var zero T
		return zero
	}
	slices.Sort(all)
	i := int(q*float64(len(all))+0.999999999) - 1
	return all[min(max(i, 0), len(all)-1)]
}

// Longest returns the losses with the longest captured recovery times, at most n, as pairs of a result and a loss.
func Longest(results []*Result, n int) [][2]int {
	var all [][2]int
	for i, r := range results {
		for k := range r.Script.Loss {
			all = append(all, [2]int{i, k})
		}
	}
	took := func(p [2]int) time.Duration { return results[p[0]].Script.Loss[p[1]].TRec }
	slices.SortStableFunc(all, func(a, b [2]int) int { return cmp.Compare(took(b), took(a)) })
	return all[:min(n, len(all))]
}

// Seconds returns the time of the capture that an instant of a script is, since first.
func (s *Script) Seconds(at, first wheel.Time) float64 {
	return s.Epoch.Add(time.Duration(at)).Sub(first).Seconds()
}
