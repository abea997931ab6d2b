package replay

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"tcpwheel/pcaps/track"
)

// Effect is what a policy would have made of the losses, in words.
type Effect string

const (
	CannotTell   Effect = "cannot tell"
	Saves        Effect = "saves"
	Costs        Effect = "costs"
	NoDifference Effect = "no effect"
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

	// Saved is the oracle's recovery times less the policy's, loss by loss, by each key, and Of the
	// oracle's. Low and High bound Saved by range with 99 %, if HasInterval.
	Saved, Of   [Keys]time.Duration
	Low, High   time.Duration
	HasInterval bool

	// OracleError is how far the oracle's recovery times may be off in sum, of the losses by range.
	OracleError time.Duration

	// TickError is how far Saved may be off by range, because the capture does not show when the ticks
	// of the policy's timers would have been: those of a host move together.
	TickError time.Duration

	// ChanceError is how much more the policy may cost, with 99 %: of the losses by range, the ones
	// that it repairs at times when nothing was captured may be lost again.
	ChanceError time.Duration

	Effect Effect
	Why    string // it cannot tell

	// What is left out of the ones that passed the gate, by range.
	NotRepaired, FilledIn, Early, Unknown int

	// Of whole connections.
	Retransmissions, Spurious int

	all    []time.Duration                // the recovery times
	waits  map[netip.Addr][]time.Duration // for ticks, by host
	again  float64                        // the mean and the variance of ChanceError, in seconds
	spread float64
}

// GateSummary is how many losses there are, and how many of them count.
type GateSummary struct {
	Losses, Needed, Passed int
	Captured               time.Duration // the recovery times of the ones that are needed
	Gates                  [gates]int    // losses by why they do not count

	// The others, by the first reason that holds.
	Spurious, OnlyFIN, TooLarge, NotRepaired int
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
		s.Retransmissions += l.Retransmissions
		if l.Needed() {
			s.add(l.TRec, l.RTT)
		}
	}
	s.quantiles()
	return s
}

// SummarizeOracle returns how the oracle does, over the losses that passed the gate.
func SummarizeOracle(results []*Result) Summary {
	s := Summary{Policy: Oracle}
	for r, i := range Losses(results) {
		if r.Gates[i] == Passed {
			s.add(r.Oracle[i].TRec, r.Captured.Losses[i].RTT)
			s.OracleError += r.Doubts[i]
		}
	}
	s.quantiles()
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
	s := Summary{Policy: st.Choices[choice].Text, waits: map[netip.Addr][]time.Duration{}}
	var saved [][]time.Duration // by range, of each connection
	rate := lossRate(results)
	for _, r := range results {
		if whole := r.Policies[choice].Whole; whole != nil {
			s.Spurious += whole.Spurious
			s.Retransmissions += whole.Retransmissions
		}
		if conn := s.addAll(r, choice, rate); len(conn) > 0 {
			saved = append(saved, conn)
		}
	}
	s.quantiles()
	fewest := st.LeastLosses()
	s.Low, s.High, s.HasInterval = interval(saved, fewest)
	tick := time.Duration(0)
	for _, r := range results {
		tick = max(tick, r.Policies[choice].timers.Tick)
	}
	for _, waits := range s.waits {
		s.TickError += tickSpan(waits, tick)
	}
	s.ChanceError = time.Duration((s.again + 2.58*math.Sqrt(s.spread)) * float64(time.Second))
	s.waits, s.again, s.spread = nil, 0, 0
	s.judge(fewest)
	return s
}

// addAll adds the losses of a connection, and returns what each saves by range.
func (s *Summary) addAll(r *Result, choice int, rate float64) (saved []time.Duration) {
	for i := range r.Captured.Losses {
		if r.Gates[i] != Passed {
			continue
		}
		oracle := r.Oracle[i].TRec
		for k := range s.Saved {
			if rec, ok := r.Recovery(i, choice, Key(k)); ok {
				s.Saved[k] += oracle - rec.TRec
				s.Of[k] += oracle
			}
		}
		switch rec, ok := r.Recovery(i, choice, ByRange); {
		case ok:
			s.add(rec.TRec, r.Captured.Losses[i].RTT)
			s.OracleError += r.Doubts[i]
			s.mayLoseAgain(rec, r.Captured.Paths[r.Captured.Losses[i].Flow].chanceAmong(rate))
			if wait, ok := r.tickWait(i, choice, rec); ok {
				host := r.addr(r.Captured.Losses[i].Flow)
				s.waits[host] = append(s.waits[host], wait)
			}
			saved = append(saved, oracle-rec.TRec)
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
	return saved
}

// lossRate returns the captured loss rate of all connections, by the rule of succession.
func lossRate(results []*Result) float64 {
	lost, all := 1, 2
	for _, r := range results {
		for d := range r.Captured.Paths {
			lost += r.Captured.Paths[d].Lost
			all += r.Captured.Paths[d].Transmissions
		}
	}
	return float64(lost) / float64(all)
}

// mayLoseAgain counts what a repair costs if it is lost by chance, and perhaps the ones after it.
// Each waits twice as long as the one before.
func (s *Summary) mayLoseAgain(rec *Recovery, chance float64) {
	if !rec.unseen {
		return
	}
	mean, square := 0.0, 0.0
	p, longer := 1-chance, 0.0
	for range mostAgain {
		p *= chance
		longer = 2*longer + 2*rec.waited.Seconds()
		mean += p * longer
		square += p * longer * longer
	}
	s.again += mean
	s.spread += square - mean*mean
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
	mostAgain    = 6      // losses in a row of one repair
	fewestLosses = 5      // without an interval below
	fewestConns  = 5      // below, losses are drawn for the interval, and not connections
	resamples    = 10_000 // draws for an interval
)

// interval returns the bounds of 99 % of the sum of what connections save: it draws connections
// again and again with replacement, as losses of one connection are not independent; or losses, if
// there are few connections.
func interval(conns [][]time.Duration, fewest int) (low, high time.Duration, ok bool) {
	var sums []time.Duration
	for _, c := range conns {
		if len(conns) < fewestConns {
			sums = append(sums, c...)
			continue
		}
		sum := time.Duration(0)
		for _, saved := range c {
			sum += saved
		}
		sums = append(sums, sum)
	}
	if len(sums) < fewest {
		return 0, 0, false
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

// A verdict needs mostEarly times as many losses as are left out because the capture began shortly
// before them.
const mostEarly = 4

// notShown is why nothing is known of repairs by other packets than the captured ones.
const notShown = "the capture does not show whether retransmissions at other times would arrive"

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
	margin := s.OracleError + s.TickError + time.Duration(negligible*float64(s.Of[ByRange]))
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
		s.Why = fmt.Sprintf("one loss is too few for a verdict: want %d", fewest)
	case !s.HasInterval:
		s.Why = fmt.Sprintf("%d losses are too few for a verdict: want %d", s.N, fewest)
	case same:
		s.Effect = NoDifference
	case s.Low <= 0 && s.High >= 0:
		s.Why = fmt.Sprintf("its interval, %s to %s, includes 0", track.SpanText(s.Low), track.SpanText(s.High))
	case !agree:
		s.Why = notShown
	case min(s.Low.Abs(), s.High.Abs()) <= margin:
		s.Why = fmt.Sprintf("its interval, %s to %s, is not beyond %s, by which the replay may be wrong or which makes no difference",
			track.SpanText(s.Low), track.SpanText(s.High), track.SpanText(margin))
	case saved > 0 && s.Low <= margin+s.ChanceError:
		s.Why = fmt.Sprintf("its interval, %s to %s, is not beyond %s, which it may lose where nothing was captured", track.SpanText(s.Low),
			track.SpanText(s.High), track.SpanText(margin+s.ChanceError))
	case saved > 0:
		s.Effect = Saves
	default:
		s.Effect = Costs
	}
}
