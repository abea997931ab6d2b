package replay

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tcpwheel/pcaps/track"
)

// Verdict is what a policy would have made of the losses.
type Verdict uint8

const (
	CannotTell Verdict = iota
	Saves
	Costs
	NoDifference

	verdicts
)

var verdictNames = [verdicts]string{"cannot tell", "saves", "costs", "no effect"}

// String returns the verdict in words.
func (v Verdict) String() string { return verdictNames[min(v, verdicts-1)] }

// MarshalText writes the verdict.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Summary is how a policy does, over the losses that count under it: the ones that passed the gate,
// and that it repairs by fates that the capture shows.
type Summary struct {
	Policy string

	N                int
	Median, P95, P99 time.Duration // of the recovery times
	Waiting          time.Duration // their sum, less a round trip each

	// Saved is the oracle's recovery times less the policy's, loss by loss, by each key, and Of the
	// oracle's. Low and High bound Saved by range with 99 %, if HasInterval.
	Saved, Of   [Keys]time.Duration
	Low, High   time.Duration
	HasInterval bool

	// OracleError is how far the oracle's recovery times may be off in sum, of the losses by range.
	OracleError time.Duration

	Verdict Verdict
	Why     string // it cannot tell

	// What is left out of the ones that passed the gate, by range.
	NotRepaired, FilledIn, Unknown int

	// Of whole connections.
	Retransmissions, Spurious int
}

// GateSummary is how many losses there are, and how many of them count.
type GateSummary struct {
	Losses, Needed, Passed int
	Captured               time.Duration // the recovery times of the ones that are needed
	Gates                  [gates]int    // losses by why they do not count
}

// SummarizeGate returns how many losses count.
func SummarizeGate(results []*Result) (g GateSummary) {
	for _, r := range results {
		for i := range r.Script.Losses {
			l := &r.Script.Losses[i]
			g.Losses++
			g.Gates[r.Gates[i]]++
			if l.Needed() {
				g.Needed++
				g.Captured += l.TRec
			}
		}
	}
	g.Passed = g.Gates[Passed]
	return g
}

// SummarizeCaptured returns what the captures have, of all losses that were needed and repaired.
func SummarizeCaptured(results []*Result) Summary {
	var s Summary
	var all []time.Duration
	for _, r := range results {
		for i := range r.Script.Losses {
			l := &r.Script.Losses[i]
			s.Spurious += l.SpuriousCount
			s.Retransmissions += l.Retransmissions
			if l.Needed() {
				all = append(all, l.TRec)
				s.Waiting += max(l.TRec-l.RTT, 0)
			}
		}
	}
	s.quantiles(all)
	return s
}

// SummarizeOracle returns how the oracle does, over the losses that passed the gate.
func SummarizeOracle(results []*Result) Summary {
	s := Summary{Policy: Oracle}
	var all []time.Duration
	for _, r := range results {
		for i := range r.Script.Losses {
			if r.Gates[i] != Passed {
				continue
			}
			l, rec := &r.Script.Losses[i], &r.Oracle[i]
			all = append(all, rec.TRec)
			s.Waiting += max(rec.TRec-l.RTT, 0)
			s.OracleError += r.Doubts[i]
		}
	}
	s.quantiles(all)
	return s
}

// SummarizeAll returns how each choice does.
func (st *Study) SummarizeAll(results []*Result) []Summary {
	all := make([]Summary, len(st.Choices))
	for i := range all {
		all[i] = st.Summarize(results, i)
	}
	return all
}

// Summarize returns how the choice of that number does. It draws 10,000 times as many numbers as
// there are connections.
func (st *Study) Summarize(results []*Result, choice int) Summary {
	s := Summary{Policy: st.Choices[choice].Text}
	var all []time.Duration
	var conns [][]saving
	for _, r := range results {
		var conn []saving
		p := &r.Policies[choice]
		if p.Whole != nil {
			s.Spurious += p.Whole.Spurious
			s.Retransmissions += p.Whole.Retransmissions
		}
		for i := range r.Script.Losses {
			if r.Gates[i] != Passed {
				continue
			}
			oracle := r.Oracle[i].TRec
			for k := range s.Saved {
				rec, ok := r.Recovery(i, choice, Key(k))
				if ok {
					s.Saved[k] += oracle - rec.TRec
					s.Of[k] += oracle
				}
				if Key(k) != ByRange {
					continue
				}
				switch l := &r.Script.Losses[i]; {
				case ok:
					all = append(all, rec.TRec)
					s.Waiting += max(rec.TRec-l.RTT, 0)
					s.OracleError += r.Doubts[i]
					conn = append(conn, saving{oracle - rec.TRec, oracle})
				case rec == nil:
					s.Unknown++
				case !rec.Repaired:
					s.NotRepaired++
				default:
					s.FilledIn++
				}
			}
		}
		if len(conn) > 0 {
			conns = append(conns, conn)
		}
	}
	s.quantiles(all)
	fewest := cmp.Or(st.Fewest, fewestLosses)
	s.Low, s.High, s.HasInterval = interval(conns, fewest)
	s.judge(fewest)
	return s
}

func (s *Summary) quantiles(all []time.Duration) {
	s.N = len(all)
	s.Median, s.P95, s.P99 = Quantile(all, 0.5), Quantile(all, 0.95), Quantile(all, 0.99)
}

// saving is what a policy saves of the oracle's recovery time of a loss.
type saving struct{ saved, of time.Duration }

const (
	fewestLosses = 5      // without an interval below
	fewestConns  = 5      // below, losses are drawn for the interval, and not connections
	resamples    = 10_000 // draws for an interval
)

// interval returns the bounds of 99 % of the sum of savings: it draws connections again and again
// with replacement, as losses of one connection are not independent; or losses, if there are few
// connections.
func interval(conns [][]saving, fewest int) (low, high time.Duration, ok bool) {
	units := conns
	if len(conns) < fewestConns {
		units = nil
		for _, c := range conns {
			for i := range c {
				units = append(units, c[i:i+1])
			}
		}
	}
	if len(units) < fewest {
		return 0, 0, false
	}
	sums := make([]time.Duration, len(units))
	for i, u := range units {
		for _, x := range u {
			sums[i] += x.saved
		}
	}
	drawn := draw(sums, resamples, rand.New(rand.NewPCG(1, 2))) // the same intervals each time
	slices.Sort(drawn)
	return drawn[resamples/200], drawn[resamples-1-resamples/200], true
}

// draw returns the sums of as many of sums, drawn with replacement.
func draw(sums []time.Duration, n int, rng *rand.Rand) []time.Duration {
	drawn := make([]time.Duration, n)
	for i := range drawn {
		for range sums {
			drawn[i] += sums[rng.IntN(len(sums))]
		}
	}
	return drawn
}

// negligible is the part of the oracle's recovery times that makes no difference.
const negligible = 0.01

// judge finds the verdict. A policy saves, or costs, if the interval of what it saves is above, or
// below, 0 by more than the oracle may be wrong by and than what makes no difference, and all keys
// agree on that.
func (s *Summary) judge(fewest int) {
	saved := s.Saved[ByRange]
	small := func(d, of time.Duration) bool { return math.Abs(float64(d)) <= negligible*float64(of) }
	same := small(s.Low, s.Of[ByRange]) && small(s.High, s.Of[ByRange])
	agree := true
	for k := range s.Saved {
		same = same && small(s.Saved[k], s.Of[k])
		agree = agree && s.Of[k] > 0 && (s.Saved[k] > 0) == (saved > 0) && s.Saved[k] != 0
	}
	margin := s.OracleError + time.Duration(negligible*float64(s.Of[ByRange]))
	switch {
	case s.Unknown > 0 && s.N == 0:
		s.Why = "the captured timers are not known"
	case !s.HasInterval:
		s.Why = fmt.Sprintf("%d losses count under it, too few for an interval: want %d", s.N, fewest)
		if s.N == 1 {
			s.Why = fmt.Sprintf("one loss counts under it, too few for an interval: want %d", fewest)
		}
	case same:
		s.Verdict = NoDifference
	case s.Low <= 0 && s.High >= 0:
		s.Why = fmt.Sprintf("its interval, %s to %s, includes 0", track.SpanText(s.Low), track.SpanText(s.High))
	case !agree:
		s.Why = "the capture does not show whether retransmissions at other times would arrive"
	case min(s.Low.Abs(), s.High.Abs()) <= margin:
		s.Why = fmt.Sprintf("its interval, %s to %s, is not beyond %s, by which the replay may be wrong or which makes no difference",
			track.SpanText(s.Low), track.SpanText(s.High), track.SpanText(margin))
	case saved > 0:
		s.Verdict = Saves
	default:
		s.Verdict = Costs
	}
}
