package replay

import (
	"fmt"
	"iter"
	"net/netip"
	"time"

	"tcpwheel/pcaps/track"
)

// Effect is what a policy would have made of the losses, in words.
type Effect string

const (
	CannotTell   Effect = "cannot tell"
	Saves        Effect = "saves"
	Costs        Effect = "costs"
	NoDifference Effect = "no effect" // none that matters, see Summary.Matters
)

// String returns the verdict in words.
func (v Effect) String() string { return string(v) }

// Summary is how a policy does, over the losses that count under it: the ones that passed the gate,
// and that it repairs by fates that the capture shows.
type Summary struct {
	Policy string

	N                int
	Median, P95, P99 time.Duration // of the recovery times
	Waiting          time.Duration // their sum, less a round trip each

	// Saved is the control's recovery times less the policy's, loss by loss, by each key, and Of the
	// control's. Low and High bound Saved by range with 98 %, if HasInterval: also if the ticks of a
	// host had been at other instants, if fates followed another key, and if as many retransmissions
	// were lost in a row as packets were.
	Saved, Of   [Keys]time.Duration
	Low, High   time.Duration
	HasInterval bool

	// ControlError is how much the sum of the control's recovery times may be wrong, over the losses
	// that are compared by range.
	ControlError time.Duration

	Effect Effect
	Why    string // it cannot tell: what it lacks

	// What is left out of the ones that passed the gate, by range.
	NotRepaired, FilledIn, Early, Unknown int

	// Of whole connections.
	Retransmissions, Spurious int

	all  []time.Duration // the recovery times
	tick time.Duration   // the coarsest of the policy's timers
	rtt  time.Duration   // the longest round trip before a loss
	seen time.Duration   // Low, if no more were lost than by the keys
}

// GateSummary is how many losses there are, and how many of them count.
type GateSummary struct {
	Losses, Needed, Passed int
	Captured               time.Duration // the recovery times of the ones that are needed
	Gates                  [gates]int    // losses by why they do not count

	// The others, by the first reason that holds.
	Spurious, Doubtful, OnlyFIN, TooLarge, NotRepaired int
}

// Losses returns the losses of results: each result with the number of a loss.
func Losses(results []*Result) iter.Seq2[*Result, int] {
	return func(yield func(*Result, int) bool) {
		for _, r := range results {
			for i := range r.Captured.Losses {
				if !yield(r, i) {
					return
				}
			}
		}
	}
}

// SummarizeGate returns how many losses count.
func SummarizeGate(results []*Result) (g GateSummary) {
	for r, i := range Losses(results) {
		g.Losses++
		g.Gates[r.Gates[i]]++
		switch l := &r.Captured.Losses[i]; {
		case l.Needed():
			g.Needed++
			g.Captured += l.TRec
		case l.Spurious == track.Spurious || l.Acked:
			g.Spurious++
		case l.Doubtful:
			g.Doubtful++
		case l.OnlyFIN:
			g.OnlyFIN++
		case l.Kind == track.PMTU:
			g.TooLarge++
		default:
			g.NotRepaired++
		}
	}
	g.Passed = g.Gates[Passed]
	return g
}

// SummarizeCaptured returns what the captures have, of all losses that were needed and repaired.
func SummarizeCaptured(results []*Result) (s Summary) {
	for r, i := range Losses(results) {
		l := &r.Captured.Losses[i]
		s.Spurious += l.SpuriousCount
		s.Retransmissions += l.Total
		if l.Needed() {
			s.add(l.TRec, l.RTT)
		}
	}
	s.quantiles()
	return s
}

// SummarizeControl returns how the control does, over the losses that passed the gate.
func SummarizeControl(results []*Result) Summary {
	s := Summary{Policy: Control}
	for r, i := range Losses(results) {
		if r.Gates[i] == Passed {
			s.add(r.Control[i].TRec, r.Captured.Losses[i].RTT)
			s.ControlError += r.Doubts[i]
		}
	}
	s.quantiles()
	return s
}

// Summarize returns how each choice does. For each it draws 10,000 times as many numbers as there
// are losses, of a thousand at most, or captures.
func (st *Study) Summarize(results []*Result) []Summary {
	all := make([]Summary, len(st.Choices))
	for i := range all {
		all[i] = st.summarize(results, i)
	}
	return all
}

// summarize returns how the choice of that number does.
func (st *Study) summarize(results []*Result, choice int) Summary {
	s := Summary{Policy: st.Choices[choice].Text}
	saved := savings{waits: map[netip.Addr][]tickWait{}}
	for _, r := range results {
		if whole := r.Policies[choice].Whole; whole != nil {
			s.Spurious += whole.Spurious
			s.Retransmissions += whole.Retransmissions
		}
		s.addAll(r, choice, &saved)
	}
	s.quantiles()
	s.Low, s.seen, s.High, s.HasInterval = saved.interval()
	s.judge()
	return s
}

// addAll adds the losses of a connection, and to saved what each saves by range.
func (s *Summary) addAll(r *Result, choice int, saved *savings) {
	var conn []saving
	for i := range r.Captured.Losses {
		if r.Gates[i] != Passed {
			continue
		}
		control := r.Control[i].TRec
		for k := range s.Saved {
			if rec, ok := r.Recovery(i, choice, Key(k)); ok {
				s.Saved[k] += control - rec.TRec
				s.Of[k] += control
			}
		}
		switch rec, ok := r.Recovery(i, choice, ByRange); {
		case ok:
			s.add(rec.TRec, r.Captured.Losses[i].RTT)
			s.ControlError += r.Doubts[i]
			s.rtt = max(s.rtt, r.Captured.Losses[i].RTT)
			s.tick = max(s.tick, r.Policies[choice].timers.Tick)
			conn = append(conn, saved.add(r, i, choice, rec))
		case rec == nil:
			s.Unknown++
		case r.Captured.Losses[i].Early:
			s.Early++
		case !rec.Repaired:
			s.NotRepaired++
		default:
			s.FilledIn++
		}
	}
	if len(conn) == 0 {
		return
	}
	if n := len(saved.files); n > 0 && saved.file == r.File {
		saved.files[n-1] = append(saved.files[n-1], conn...)
	} else {
		saved.files, saved.file = append(saved.files, conn), r.File
	}
}

// add counts a recovery.
func (s *Summary) add(took, rtt time.Duration) {
	s.all = append(s.all, took)
	s.Waiting += max(took-rtt, 0)
}

func (s *Summary) quantiles() {
	s.N = len(s.all)
	s.Median, s.P95, s.P99 = Quantile(s.all, 0.5), Quantile(s.all, 0.95), Quantile(s.all, 0.99)
	s.all = nil
}

const (
	// negligible is how much of a loss's recovery time makes no difference, whatever its part.
	negligible = time.Millisecond

	// mattering is the part of the recovery times that makes a difference.
	mattering = 0.05

	// inexact is the part by which a replay may be wrong in sum: under other timers a loss meets
	// another window and other packets in flight. So a repair by ACKs may take a round trip more or
	// less: that nothing changes needs room for one.
	inexact = 0.03

	// mostOff is the part of the recovery times by which the control may be off in sum, where there are
	// fewer losses than enoughLosses. Off by more, it does not know when transmissions that were not
	// captured left: at the receiver a lone segment whose loss shows no hole looks like one that ACKs
	// repaired, and a few such losses look alike. Of ten seeds of TestFalseVerdicts this takes away 4
	// of 5 false answers.
	mostOff, enoughLosses = 0.3, 2 * LeastLosses
)

// A verdict needs mostEarly times as many losses as are left out because the capture began shortly
// before them.
const mostEarly = 4

// notShown is why nothing is known of repairs by other packets than the captured ones.
const notShown = "the capture does not show whether retransmissions at other times would arrive"

// Matters returns the least change of the control's recovery times that matters: a part of them, or
// a millisecond for each loss.
func (s *Summary) Matters() time.Duration {
	return max(time.Duration(mattering*float64(s.Of[ByRange])), time.Duration(s.N)*negligible)
}

// judge finds the verdict. A policy saves, or costs, if the interval of what it saves is above, or
// below, 0 by more than the control and the replay may be wrong by, and all keys agree on that. It
// makes no difference if the interval, what it saves by each key, and the control's error lie within
// what matters, less a round trip. Each loss has a bound of the control's error: the margin has
// half of their sum, as losses do not all err that much, and to one side.
func (s *Summary) judge() {
	saved, matters := s.Saved[ByRange], s.Matters()
	bound := matters - s.rtt
	same, agree := max(s.Low.Abs(), s.High.Abs(), s.ControlError) <= bound, true
	for k := range s.Saved {
		same = same && s.Saved[k].Abs() <= matters
		agree = agree && s.Of[k] > 0 && (s.Saved[k] > 0) == (saved > 0) && s.Saved[k] != 0
	}
	margin := s.ControlError/2 + time.Duration(inexact*float64(s.Of[ByRange]))
	s.Effect = CannotTell
	switch {
	case s.Unknown > 0 && s.N == 0:
		s.Why = "the captured timers are not known"
	case s.Early*mostEarly > s.N:
		s.Why = fmt.Sprintf("the capture began shortly before %d of %d losses: it does not show what timers had measured", s.Early, s.Early+s.N)
	case !s.HasInterval && s.N == 0 && s.NotRepaired+s.FilledIn == 0:
		s.Why = "no loss could be replayed"
	case !s.HasInterval && s.N == 0:
		s.Why = notShown
	case !s.HasInterval && s.N == 1:
		s.Why = fmt.Sprintf("one loss is too few for a verdict: want %d", LeastLosses)
	case !s.HasInterval:
		s.Why = fmt.Sprintf("%d losses are too few for a verdict: want %d", s.N, LeastLosses)
	case same && s.tick > matters:
		s.Why = fmt.Sprintf("its timers wait for ticks of %s: one that expires where none did here changes more than %s",
			track.SpanText(s.tick), track.SpanText(matters))
	case same:
		s.Effect = NoDifference
	case s.Low <= 0 && s.High >= 0:
		s.Why = fmt.Sprintf("its interval, %s to %s, includes 0", track.SpanText(s.Low), track.SpanText(s.High))
		switch {
		case s.seen > margin:
			s.Why += ", as the capture does not show how long the path lost retransmissions"
		case !agree:
			s.Why += ": " + notShown
		case s.ControlError > bound:
			s.Why += ": the replay of the captured timers may be off by " + track.SpanText(s.ControlError)
		default:
			s.Why += ": more losses would narrow it"
		}
	case !agree:
		s.Why = notShown
	case min(s.Low.Abs(), s.High.Abs()) <= margin:
		s.Why = fmt.Sprintf("its interval, %s to %s, is not beyond %s, by which the replay may be wrong",
			track.SpanText(s.Low), track.SpanText(s.High), track.SpanText(margin))
	case s.N < enoughLosses && s.ControlError > time.Duration(mostOff*float64(s.Of[ByRange])):
		s.Why = fmt.Sprintf("the replay of the captured timers may be off by %s of %s", track.SpanText(s.ControlError), track.SpanText(s.Of[ByRange]))
	case saved > 0:
		s.Effect = Saves
	default:
		s.Effect = Costs
	}
}
