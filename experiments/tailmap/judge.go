package tailmap

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/tcptimers"
)

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// lawGVisor returns when gVisor retransmits the last of a response. Its probe timer starts at the
// ACK of the other segments, or at the transmission if there are none. It allows for a delayed ACK
// if one segment is in flight.
func lawGVisor(rtt time.Duration, segments, lost int) time.Duration {
	switch {
	case lost > 1:
		return 3 * rtt
	case segments == 1:
		return 2*rtt + maxAckDelay
	}
	return 3*rtt + maxAckDelay
}

// score counts the tails for which a law does not hold.
type score struct {
	experiments.Tally
	worst time.Duration // the greatest distance from the law
}

// add counts a tail at a distance from the law. The law allows [0, less).
func (s *score) add(distance, less time.Duration) {
	s.Add(distance >= 0 && distance < less)
	if distance.Abs() > s.worst.Abs() {
		s.worst = distance
	}
}

func (s *score) measure() experiments.Measure {
	return s.Tally.Measure("tails off; the farthest by %v", s.worst)
}

// expects returns the band of a score, with the distance that the law allows.
func expects(text string) experiments.Band { return experiments.None().Saying("%s", text) }

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	claims, err := mapClaims(cells)
	if err != nil {
		return nil, err
	}
	out := &experiments.Outcome{
		Figures: figures(p, cells),
		Tables:  []experiments.Table{ladderTable(p, cells), gainTable(cells), tickTable(p, cells), gvisorTable(cells)},
		Notes: []string{"gVisor's schedulePTO intends to bound the probe by the retransmission timer, but checks " +
			"whether that timer runs before it is " +
			"started. So the probe leaves 2·SRTT + 200 ms after the last ACK even where the timeout of 200 ms " +
			"would have been earlier.",
			"Of several lost segments gVisor's probe repairs the last. Its SACK starts no recovery: the other " +
				"segments wait for the timeout, which counts " +
				"from the probe."},
	}
	for _, c := range slices.Concat(claims, ageClaims(cells), []experiments.Claim{regimes(cells), tickClaim(cells),
		gvisorClaim(cells)}) {
		out.Claim(c)
	}
	return out, nil
}

// mapClaims judges the first retransmission and the completion of all tails at one tick.
func mapClaims(cells []Cell) ([]experiments.Claim, error) {
	var first, rest, restBounded, probed, probedBounded, better score
	for _, c := range cells {
		if c.Kind != kindMap {
			continue
		}
		for _, t := range c.Tails {
			if t.Rule == shipped {
				soonest := min(find(c.Tails, perSegment, t.Lost).Retransmission, find(c.Tails, probe,
					t.Lost).Retransmission)
				better.add(max(t.Retransmission-soonest, 0), c.Tick)
				continue
			}
			if rto := timeout(c.Floor, c.RTT); t.RTO < rto || t.RTO > rto+time.Microsecond {
				return nil, fmt.Errorf("%v, %s: the timeout is %v, want %v", c.RTT, t.Rule, t.RTO, rto)
			}
			first.add(t.Retransmission-lawRetransmission(t.Rule, t.RTO, c.RTT, t.Lost), c.Tick)
			took, law, bounded := t.Complete-t.Retransmission, &rest, &restBounded
			if t.Rule == probe {
				law, bounded = &probed, &probedBounded
			}
			law.add(took-lawRest(&t, c.RTT), c.Tick)
			bounded.add(took-lawRestBounded(&t, c.RTT), c.Tick)
		}
	}
	const exact = "none: exact within a tick"
	holds := func(s score) bool { return s.Cases > 0 && s.Exceptions == 0 }
	return []experiments.Claim{
		{Name: "first-resend", Class: experiments.Law,
			Text:   "each rule retransmits the first lost segment when its RFC says",
			Source: "computed from RFC 6298 §5, RFC 7765 §4 and RFC 8985 §7.2", Tag: experiments.Computed,
			Published: "RTT+RTO; RTO (RTO restart: below 4 lost); RTT+2·SRTT, alone +200 ms, at most RTT+RTO",
			Measured:  first.measure(), Expected: expects("none: within a tick of 1 µs, never early"),
			Otherwise: "a rule of the engine is not the RFC's"},
		{Name: "complete", Class: experiments.Law,
			Text:      "after a timeout the tail takes a round trip for each doubling of a window of one segment",
			Published: "RTT·⌈log₂(lost+1)⌉", Source: "computed from slow start (RFC 5681 §3.1)",
			Tag:      experiments.Computed,
			Measured: rest.measure(), Expected: expects(exact).OrDiffersIf(holds(restBounded), "exact with ssthresh"),
			Otherwise: fmt.Sprintf("the expectation lets the window double without end. RFC 5681 §3.1 ends slow "+
				"start at half of the flight, so 7 "+
				"lost segments take one more round trip; with that bound %s", restBounded.measure())},
		{Name: "complete-probe", Class: experiments.Law,
			Text:      "after a probe a tail takes two round trips, and a lone segment one",
			Published: "2·RTT; 1·RTT", Source: "computed from RFC 8985 §7", Tag: experiments.Computed,
			Measured: probed.measure(), Expected: expects(exact).OrDiffersIf(holds(probedBounded),
				"exact with the rate of RFC 9937"),
			Otherwise: fmt.Sprintf("the expectation does not bound the rate of a recovery. RFC 9937 allows one "+
				"segment for the SACK of the probe, because little "+
				"else was delivered, and twice as many in each round trip; with that bound %s",
				probedBounded.measure())},
		{Name: "default", Class: experiments.Law, Text: "this stack's default is never later than a timer per " +
			"segment or a probe alone", Source: "design of the default policy",
			Tag: experiments.Computed, Measured: better.measure(),
			Expected:  expects("none: no tail repaired later than by both"),
			Otherwise: "the probe replaced a timer that would have expired earlier"},
	}, nil
}

// ageClaims judges flights whose segments are apart.
func ageClaims(cells []Cell) []experiments.Claim {
	var gain, none score
	for _, c := range cells {
		if c.Kind != kindAge {
			continue
		}
		for _, t := range c.Tails {
			one := find(c.Tails, oneTimer, t.Lost)
			switch {
			case t.Rule == perSegment, t.Rule == rtoRestart && t.Lost < tcptimers.RRThresh:
				gain.add(one.Retransmission-t.Retransmission-one.Age, 1)
			case t.Rule == rtoRestart:
				none.add(one.Retransmission-t.Retransmission, 1)
			}
		}
	}
	return []experiments.Claim{
		{Name: "age", Class: experiments.Law, Text: "a timer per segment, and RTO restart below 4 segments, gain " +
			"the age of the lost segment at the last ACK",
			Source: "computed from RFC 6298 §5 and RFC 7765 §4", Tag: experiments.Computed, Measured: gain.measure(),
			Expected:  expects("none: the age, to the nanosecond"),
			Otherwise: "the one timer does not count from the last ACK, or the others not from the transmission"},
		{Name: "no-gain", Class: experiments.Law, Text: "RTO restart gains nothing from 4 lost segments on",
			Source: "RFC 7765 §4", Tag: experiments.Standard,
			Measured: none.measure(), Expected: experiments.None(), Otherwise: "the threshold of RTO restart is not 4"},
	}
}

// tickClaim judges how late the rules are with coarser ticks.
func tickClaim(cells []Cell) experiments.Claim {
	var late, early score
	for _, c := range cells {
		if c.Kind != kindTick {
			continue
		}
		for _, t := range c.Tails {
			d := t.Retransmission - lawRetransmission(t.Rule, t.RTO, c.RTT, t.Lost)
			late.add(d, c.Tick)
			early.add(min(d, 0), 1)
		}
	}
	return experiments.Claim{Name: "ticks", Class: experiments.Law,
		Text: "a coarser tick makes every rule late by less than the tick, and never early", Source: "RFC 6298 §5",
		Tag:      experiments.Standard,
		Measured: late.measure(), Expected: expects("none: 0 to less than a tick"),
		Otherwise: fmt.Sprintf("early: %d of %d", early.Exceptions, early.Cases)}
}

func find(tails []Tail, rule string, lost int) Tail {
	i := slices.IndexFunc(tails, func(t Tail) bool { return t.Rule == rule && t.Lost == lost })
	return tails[i]
}

// regimes compares the order of probe and timer with the round trips at which it should change.
func regimes(cells []Cell) experiments.Claim {
	var wrong experiments.Tally
	for _, c := range cells {
		if c.Kind != kindMap {
			continue
		}
		for _, t := range c.Tails {
			if t.Rule == probe {
				timer := find(c.Tails, perSegment, t.Lost)
				wrong.Add(timer.Retransmission == t.Retransmission || probeFirst(c.Floor, c.RTT,
					t.Lost) == (t.Retransmission < timer.Retransmission))
			}
		}
	}
	return experiments.Claim{Name: "regimes", Class: experiments.Law,
		Text: "from two lost segments on the probe is earlier than a timer per segment below 100 ms; with a floor " +
			"of 1 s below 333 ms, and below 267 ms for a lone segment",
		Published: "100 ms; 333 ms; 267 ms; never", Source: "computed from RFC 6298 §2 and RFC 8985 §7.2",
		Tag:      experiments.Computed,
		Measured: wrong.Measure("on the other side"), Expected: experiments.None(),
		Otherwise: "the regimes change at other round trips"}
}

// probeFirst reports whether the probe should be earlier than a timer per segment.
func probeFirst(floor string, rtt time.Duration, lost int) bool {
	switch lone := lost == 1; {
	case floor == floorLinux:
		return !lone && rtt < 100*time.Millisecond
	case lone:
		return rtt < 267*time.Millisecond
	}
	return rtt < 333*time.Millisecond+333*time.Microsecond
}

// gvisorClaim compares gVisor's own TCP with its rule.
func gvisorClaim(cells []Cell) experiments.Claim {
	var s score
	for _, c := range cells {
		if c.Kind == kindGVisor {
			for _, t := range c.Tails {
				s.add(t.Retransmission-lawGVisor(c.RTT, t.Segments, t.Lost), time.Millisecond)
			}
		}
	}
	return experiments.Claim{Name: "gvisor", Class: experiments.Law,
		Text: "gVisor's own TCP probes for a lone lost segment 2·SRTT + 200 ms after the last ACK, and 2·SRTT for " +
			"several",
		Published: "2·SRTT + 200 ms; 2·SRTT", Source: "gVisor, pkg/tcpip/transport/tcp/rack.go, schedulePTO",
		Tag:      experiments.FromPrint,
		Measured: s.measure(), Expected: expects("none: within 1 ms"), Otherwise: "gVisor's TCP has another rule"}
}
