package tailmap

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/tcptimers"
)

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// lawGVisor is when gVisor sends the last of a response again: the probe counts from the ACK of the others, or from the transmission if
// there are none, and allows for a delayed ACK if one segment is in flight.
func lawGVisor(rtt time.Duration, segments, lost int) time.Duration {
	switch {
	case lost > 1:
		return 3 * rtt
	case segments == 1:
		return 2*rtt + maxAckDelay
	}
	return 3*rtt + maxAckDelay
}

// score counts tails that a law does not hold for.
type score struct {
	n, off int
	worst  time.Duration // the greatest distance
}

func (s *score) add(distance, least, less time.Duration) {
	s.n++
	if distance < least || distance >= less {
		s.off++
	}
	if distance.Abs() > s.worst.Abs() {
		s.worst = distance
	}
}

func (s *score) measure() experiments.Measure {
	return experiments.MeasuredText("%d of %d off; the farthest %v from it", s.off, s.n, s.worst)
}

func (s *score) verdict() experiments.Verdict { return experiments.Holds(s.n > 0 && s.off == 0) }

// within is the verdict on an expectation that leaves a bound out: it differs if it holds with the bound.
func within(expected, bounded score) experiments.Verdict {
	v := expected.verdict()
	if v != experiments.Reproduced && bounded.verdict() == experiments.Reproduced {
		v = experiments.Differs
	}
	return v
}

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	out.Figures = figures(p, cells)
	out.Tables = append(out.Tables, ladderTable(p, cells), gainTable(cells), tickTable(p, cells), gvisorTable(cells))

	var resend, rest, restBounded, probed, probedBounded, gain, none, late, early, better score
	for _, c := range cells {
		switch c.Kind {
		case kindMap:
			for _, t := range c.Tails {
				law := lawResend(t.Rule, t.RTO, c.RTT, t.Lost)
				if t.Rule == shipped {
					soonest := min(find(c.Tails, perSegment, t.Lost).Resend, find(c.Tails, probe, t.Lost).Resend)
					better.add(max(t.Resend-soonest, 0), 0, c.Tick)
					continue
				}
				if rto := timeout(c.Floor, c.RTT); t.RTO < rto || t.RTO > rto+time.Microsecond {
					return nil, fmt.Errorf("%v, %s: the timeout is %v, want %v", c.RTT, t.Rule, t.RTO, rto)
				}
				resend.add(t.Resend-law, 0, c.Tick)
				took := t.Complete - t.Resend
				expected, bounded := took-lawRest(&t, c.RTT), took-lawRestBounded(&t, c.RTT)
				if t.Rule == probe {
					probed.add(expected, 0, c.Tick)
					probedBounded.add(bounded, 0, c.Tick)
				} else {
					rest.add(expected, 0, c.Tick)
					restBounded.add(bounded, 0, c.Tick)
				}
			}
		case kindAge:
			for _, t := range c.Tails {
				one := find(c.Tails, oneTimer, t.Lost)
				switch {
				case t.Rule == perSegment, t.Rule == rtoRestart && t.Lost < tcptimers.RRThresh:
					gain.add(one.Resend-t.Resend-one.Age, 0, 1)
				case t.Rule == rtoRestart:
					none.add(one.Resend-t.Resend, 0, 1)
				}
			}
		case kindTick:
			for _, t := range c.Tails {
				d := t.Resend - lawResend(t.Rule, t.RTO, c.RTT, t.Lost)
				late.add(d, 0, c.Tick)
				early.add(min(d, 0), 0, 1)
			}
		}
	}
	const computed = "computed from RFC 6298 §5, RFC 7765 §4 and RFC 8985 §7.2"
	out.Claim(experiments.Claim{
		Name: "first-resend", Text: "each rule sends the first lost segment again when its RFC says", Source: computed, Tag: experiments.Computed,
		Published: "RTT+RTO; RTO (RTO restart: below 4 lost); RTT+2·SRTT, alone +200 ms, at most RTT+RTO",
		Measured:  resend.measure(), Expected: experiments.Decided(resend.verdict(), "within a tick of 1 µs, never before"),
		Otherwise: "a rule of the engine is not the RFC's",
	})
	out.Claim(experiments.Claim{
		Name: "age", Text: "a timer per segment, and RTO restart below 4 segments, gain the age of the lost segment at the last ACK",
		Source: "computed from RFC 6298 §5 and RFC 7765 §4", Tag: experiments.Computed, Measured: gain.measure(),
		Expected:  experiments.Decided(gain.verdict(), "the age, to the nanosecond"),
		Otherwise: "the one timer does not count from the last ACK, or the others not from the transmission",
	})
	out.Claim(experiments.Claim{
		Name: "no-gain", Text: "RTO restart gains nothing from 4 lost segments on", Source: "RFC 7765 §4", Tag: experiments.Standard,
		Measured: none.measure(), Expected: experiments.Decided(none.verdict(), "0"),
		Otherwise: "the threshold of RTO restart is not 4",
	})
	out.Claim(regimes(cells))
	out.Claim(experiments.Claim{
		Name: "complete", Text: "after a timeout the tail takes a round trip for each doubling of a window of one segment",
		Published: "RTT·⌈log₂(lost+1)⌉", Source: "computed from slow start (RFC 5681 §3.1)", Tag: experiments.Computed,
		Measured: rest.measure(), Expected: experiments.Decided(within(rest, restBounded), "exact"),
		Otherwise: fmt.Sprintf("the expectation lets the window double without end, and RFC 5681 §3.1 ends slow start at half of what was in flight, so that 7 "+
			"lost segments take a round trip more; with that bound %s", restBounded.measure()),
	})
	out.Claim(experiments.Claim{
		Name: "complete-probe", Text: "after a probe a tail takes two round trips, and a lone segment one",
		Published: "2·RTT; 1·RTT", Source: "computed from RFC 8985 §7", Tag: experiments.Computed,
		Measured: probed.measure(), Expected: experiments.Decided(within(probed, probedBounded), "exact"),
		Otherwise: fmt.Sprintf("the expectation has no bound on the rate of a recovery. RFC 9937 lets one segment go for the SACK of the probe, as little "+
			"else was delivered, and twice as many in each round trip; with that bound %s", probedBounded.measure()),
	})
	out.Claim(experiments.Claim{
		Name: "ticks", Text: "a coarser tick makes every rule late by less than the tick, and never early", Source: "RFC 6298 §5", Tag: experiments.Standard,
		Measured: late.measure(), Expected: experiments.Decided(late.verdict(), "0 to less than a tick"),
		Otherwise: fmt.Sprintf("early: %d of %d", early.off, early.n),
	})
	out.Claim(experiments.Claim{
		Name: "default", Text: "this stack's default is never later than a timer per segment or a probe alone", Source: "design of the default policy",
		Tag: experiments.Computed, Measured: better.measure(), Expected: experiments.Decided(better.verdict(), "no tail that it repairs later than both"),
		Otherwise: "the probe has taken the place of a timer that was due before",
	})
	out.Claim(gvisorClaim(cells))
	out.Notes = append(out.Notes, "gVisor's schedulePTO means to bound the probe by the retransmission timer, and asks whether that runs before it is "+
		"started: so the probe comes 2·SRTT + 200 ms after the last ACK even where the timeout of 200 ms would have come before.",
		"Of several lost segments gVisor's probe repairs the last. What its SACK tells begins no recovery: the others wait for the timeout, which counts "+
			"from the probe.")
	return out, nil
}

func find(tails []Tail, rule string, lost int) Tail {
	i := slices.IndexFunc(tails, func(t Tail) bool { return t.Rule == rule && t.Lost == lost })
	return tails[i]
}

// regimes compares who was first with where the rules cross.
func regimes(cells []Cell) experiments.Claim {
	wrong, n := 0, 0
	for _, c := range cells {
		if c.Kind != kindMap {
			continue
		}
		for _, t := range c.Tails {
			if t.Rule != probe {
				continue
			}
			n++
			var wins bool // the probe is first
			switch single := t.Lost == 1; {
			case c.Floor == floorLinux && single:
				wins = false
			case c.Floor == floorLinux:
				wins = c.RTT < 100*time.Millisecond
			case single:
				wins = c.RTT < 267*time.Millisecond
			default:
				wins = c.RTT < 333*time.Millisecond+333*time.Microsecond
			}
			if timer := find(c.Tails, perSegment, t.Lost); timer.Resend != t.Resend && wins != (t.Resend < timer.Resend) {
				wrong++
			}
		}
	}
	return experiments.Claim{
		Name: "regimes", Text: "the probe is before a timer per segment below 100 ms from two lost segments on; with a floor of 1 s below 333 ms, and below 267 ms alone",
		Published: "100 ms; 333 ms; 267 ms; never", Source: "computed from RFC 6298 §2 and RFC 8985 §7.2", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d of %d on the other side", wrong, n), Expected: experiments.Whether(wrong == 0 && n > 0, "none"),
		Otherwise: "the regimes change at other round trips",
	}
}

// gvisorClaim compares gVisor's own TCP with the rule that it follows.
func gvisorClaim(cells []Cell) experiments.Claim {
	var s score
	for _, c := range cells {
		if c.Kind == kindGVisor {
			for _, t := range c.Tails {
				s.add(t.Resend-lawGVisor(c.RTT, t.Segments, t.Lost), 0, time.Millisecond)
			}
		}
	}
	return experiments.Claim{
		Name: "gvisor", Text: "gVisor's own TCP probes for a lone lost segment 2·SRTT + 200 ms after the last ACK, and 2·SRTT for several",
		Published: "2·SRTT + 200 ms; 2·SRTT", Source: "gVisor, pkg/tcpip/transport/tcp/rack.go, schedulePTO", Tag: experiments.FromPrint,
		Measured: s.measure(), Expected: experiments.Decided(s.verdict(), "within 1 ms"),
		Otherwise: "gVisor's TCP has another rule",
	}
}
