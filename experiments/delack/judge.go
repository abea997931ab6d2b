package delack

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

// peerName names the receiver's delay of ACKs.
func peerName(p *Plan, delay time.Duration) string {
	if delay == 0 {
		return fmt.Sprintf("heartbeat of %v", p.Heartbeat)
	}
	return fmt.Sprintf("timer of %v", delay)
}

// lawPeriod returns the period of a sender that waits for each ACK.
func lawPeriod(p *Plan, c *Cell) time.Duration {
	if c.Delay > 0 {
		return c.RTT + c.Delay
	}
	return p.Heartbeat * ((c.RTT + p.Heartbeat - 1) / p.Heartbeat)
}

const law = "computed from the definition of the timers"

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{
		Tables: tables(p, cells), Figures: figures(p, cells),
		Notes: []string{"The engine has no rule for odd bursts. The rows of that rule are the longer timeout's for odd bursts, and those without a floor for even ones. The round trip is constant. " +
			"A lost segment changes what the receiver counts: of an even burst it delays the last ACK then, and the first retransmission is spurious."},
	}
	claims := slices.Concat(arrivalClaims(p, cells), []experiments.Claim{lockClaim(p, cells)}, ruleClaims(cells), remedyClaims(p, cells), oddClaims(p, cells))
	for _, c := range claims {
		c.Tag, c.Source = cmp.Or(c.Tag, experiments.Computed), cmp.Or(c.Source, law)
		out.Claim(c)
	}
	return out, nil
}

// of returns the cells of a kind.
func of(cells []Cell, k kind) []Cell {
	return experiments.Select(cells, func(c *Cell) bool { return c.Kind == k })
}

// arrivalClaims judges the delays of bursts at random instants.
func arrivalClaims(p *Plan, cells []Cell) (all []experiments.Claim) {
	beat := ms(p.Heartbeat)
	var even, fixed, beyond experiments.Tally
	uneven := 0
	var odd []Cell // odd bursts with the heartbeat
	for _, c := range of(cells, kindArrivals) {
		switch {
		case c.Burst%2 == 0:
			even.Add(c.Greatest <= 0)
		case c.Delay > 0:
			fixed.Add(c.Least >= ms(c.Delay) && c.Greatest < ms(c.Delay+testbed.Exact))
		default:
			odd = append(odd, c)
			beyond.Add(c.Least > 0 && c.Greatest <= beat)
			if c.KS <= 0.01 {
				uneven++
			}
		}
	}
	if len(odd) > 0 {
		const why = "the segments do not arrive at random"
		holds := beyond.Exceptions == 0 && float64(uneven) <= max(0.05*float64(len(odd)), 1)
		all = append(all, experiments.Claim{Name: "even", Class: experiments.Law, Text: "a heartbeat delays the ACKs of random segments by an even share of a beat", Published: fmt.Sprintf("(0, %v] ms", beat),
			Measured: experiments.MeasuredText("%d of %d samples differ at p ≤ 0.01, %d exceed a beat", uneven, len(odd), beyond.Exceptions),
			Expected: experiments.Whether(holds, "at most 5 %%, and none"), Otherwise: why + ", or the beat is not regular"},
			experiments.Claim{Name: "mean", Class: experiments.Law, Text: "half a beat in the mean", Published: fmt.Sprintf("%v ms", beat/2),
				Measured: experiments.MeasuredWithin(experiments.MeanOf(odd, func(c *Cell) float64 { return c.Mean }), "ms"),
				Basis:    "2 % of half a beat, set for this project",
				Expected: experiments.Within(0.5*beat, 0.02*beat, "ms").OrDiffers(experiments.Within(0.5*beat, 0.1*beat, "ms")), Otherwise: why},
			experiments.Claim{Name: "p99", Class: experiments.Law, Text: "99 % of a beat at the 99th percentile", Published: fmt.Sprintf("%v ms", experiments.Number(0.99*beat)),
				Measured: experiments.MeasuredWithin(experiments.MeanOf(odd, func(c *Cell) float64 { return c.P99 }), "ms"),
				Basis:    "a percentile either way",
				Expected: experiments.Between(0.98*beat, beat, "ms").OrDiffers(experiments.Between(0.95*beat, beat, "ms")), Otherwise: why})
	}
	if fixed.Cases > 0 {
		all = append(all, experiments.Claim{Name: "fixed", Class: experiments.Law, Text: "a timer per connection delays it by its interval", Published: listed(p.Delays),
			Measured: fixed.Measure("runs off"), Expected: experiments.None(), Otherwise: "something other than the timer sends the ACK"})
	}
	if even.Cases > 0 {
		all = append(all, experiments.Claim{Name: "pairs", Class: experiments.Law, Text: "the ACK of an even burst leaves at once", Published: "0", Source: "RFC 5681 §4.2: an ACK for at least every second full-sized segment",
			Measured: even.Measure("runs off"), Expected: experiments.None(), Otherwise: "the receiver counts otherwise"})
	}
	return all
}

// lockClaim judges a sender that waits for each ACK.
func lockClaim(p *Plan, cells []Cell) experiments.Claim {
	var off experiments.Tally
	for _, c := range of(cells, kindWait) {
		off.Add((c.Period - lawPeriod(p, &c)).Abs() <= testbed.Exact)
	}
	beat := ms(p.Heartbeat)
	return experiments.Claim{Name: "lock", Class: experiments.Law, Text: "a sender that waits for each ACK locks to the heartbeat; with a timer its period is RTT + delay", Published: fmt.Sprintf("%v ms·⌈RTT/%v ms⌉", beat, beat),
		Measured: off.Measure("runs off; %s", rates(p, cells)), Expected: experiments.None().Saying("none; 5.0, 4.98 and 24.4 segments/s at 1 ms"),
		Otherwise: "the next segment does not leave just after the beat"}
}

// ruleClaims judges which tails are retransmitted.
func ruleClaims(cells []Cell) (all []experiments.Claim) {
	var against, missed experiments.Tally
	above := 0
	for _, c := range cells {
		if c.Kind != kindGrid && c.Kind != kindRemedy {
			continue
		}
		for _, x := range c.Grid {
			against.Exceptions, against.Cases = against.Exceptions+x.Against, against.Cases+x.Tails
			switch {
			case c.Kind == kindRemedy || c.Second || c.Burst > 1 || c.Delay == 0:
			case x.Floor > c.Delay:
				above += x.Spurious
			case x.Floor < c.Delay:
				missed.Exceptions, missed.Cases = missed.Exceptions+x.Tails-x.Spurious, missed.Cases+x.Tails
			}
		}
	}
	all = append(all, experiments.Claim{Name: "rule", Class: experiments.Law, Text: "a tail has a spurious retransmission just if its timer expires before RTT + delay", Published: "RTO < RTT + delay",
		Measured: against.Measure("tails off"), Expected: experiments.None(), Otherwise: "another timer, or another ACK, is involved"})
	if missed.Cases > 0 {
		all = append(all, experiments.Claim{Name: "diagonal", Class: experiments.Law, Text: "with the floor on the variation, lone segments have spurious retransmissions below the diagonal, where the floor is less than the delay, and never above it",
			Measured:  experiments.MeasuredText("%d spurious above; %d of %d not spurious below", above, missed.Exceptions, missed.Cases),
			Expected:  experiments.Whether(above == 0 && missed.Exceptions == 0, "none"),
			Otherwise: "RTTVAR has not decayed, or the floor is another"})
	}
	return all
}

// remedyClaims judges a delay of a tick less than the floor.
func remedyClaims(p *Plan, cells []Cell) []experiments.Claim {
	var variation, timeout, restarted experiments.Tally // restarted: several segments under one timer
	for _, c := range of(cells, kindRemedy) {
		for _, x := range c.Grid {
			add := func(t *experiments.Tally) { t.Exceptions, t.Cases = t.Exceptions+x.Spurious, t.Cases+x.Tails }
			switch {
			case !c.Second:
				add(&variation)
			default:
				add(&timeout)
				if c.Burst > 1 && !x.Each {
					add(&restarted)
				}
			}
		}
	}
	const source = "Linux commit bbf80d7, and definition"
	return []experiments.Claim{
		{Name: "remedy", Class: experiments.Law, Text: "none is spurious where the peer delays by a tick less than the floor on the variation", Published: "0", Source: source,
			Measured: experiments.MeasuredText("%d of %d", variation.Exceptions, variation.Cases),
			Expected: experiments.Whether(variation.Exceptions == 0 && variation.Cases > 0, "none"), Otherwise: "the floor is not on the variation"},
		{Name: "remedy-timeout", Class: experiments.Law, Text: "none is spurious where the peer delays by a tick less than the floor on the timeout", Published: "0", Source: source,
			Measured: experiments.MeasuredText("%d of %d", timeout.Exceptions, timeout.Cases),
			Expected: experiments.Whether(timeout.Exceptions == 0, "none").OrDiffersIf(timeout.Exceptions < timeout.Cases, "not all"),
			Otherwise: fmt.Sprintf("a floor on the timeout, as in RFC 6298 §2 (2.4), includes the round trip of %v: the ACK arrives at RTT + floor - tick. The remedy works with Linux's floor, "+
				"or for round trips under a tick. With several segments in the tail under one timer, which the ACK of the pair restarts, %d of %d are spurious, and %d of %d of all others",
				p.GridRTT, restarted.Exceptions, restarted.Cases, timeout.Exceptions-restarted.Exceptions, timeout.Cases-restarted.Cases)},
	}
}

// listed returns delays as "200 and 40 ms".
func listed(delays []time.Duration) string {
	text := ""
	for i, d := range delays {
		switch {
		case i > 0 && i == len(delays)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += experiments.Number(ms(d))
	}
	return text + " ms"
}

// rates returns the segments per second at the shortest round trip, as text.
func rates(p *Plan, cells []Cell) string {
	text := ""
	for _, delay := range append([]time.Duration{0}, p.Delays...) {
		for _, c := range cells {
			if c.Kind == kindWait && c.Delay == delay && c.RTT == p.WaitRTTs[0] && c.Seed == 1 {
				if text != "" {
					text += ", "
				}
				text += experiments.Number(math.Round(1e5/c.Period.Seconds()) / 1e5)
			}
		}
	}
	return fmt.Sprintf("%s segments/s at %v", text, p.WaitRTTs[0])
}
