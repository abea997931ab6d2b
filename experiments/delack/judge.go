package delack

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/stat"
	"tcpwheel/experiments/internal/testbed"
)

// peerName is the receiver's way of delaying.
func peerName(p *Plan, delay time.Duration) string {
	if delay == 0 {
		return fmt.Sprintf("heartbeat of %v", p.Heartbeat)
	}
	return fmt.Sprintf("timer of %v", delay)
}

// lawPeriod is the period of a sender that waits for each ACK.
func lawPeriod(p *Plan, c *Cell) time.Duration {
	if c.Delay > 0 {
		return c.RTT + c.Delay
	}
	return p.Heartbeat * ((c.RTT + p.Heartbeat - 1) / p.Heartbeat)
}

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{Tables: tables(p, cells), Figures: figures(p, cells)}
	beat := ms(p.Heartbeat)
	var means, p99s []float64
	samples, uneven, beyond, fixed, fixedOff, even, evenOff := 0, 0, 0, 0, 0, 0, 0
	waits, waitsOff := 0, 0
	tails, against, above, below, belowMissed := 0, 0, 0, 0, 0
	var cures [2][2]int  // vain and all, by where the floor is
	var restarted [2]int // of those with the floor on the timeout, tails of several segments under one timer
	for i := range cells {
		c := &cells[i]
		switch c.Kind {
		case kindArrivals:
			switch {
			case c.Burst%2 == 0:
				if even++; c.Greatest > 0 {
					evenOff++
				}
			case c.Delay > 0:
				if fixed++; c.Least < ms(c.Delay) || c.Greatest >= ms(c.Delay+testbed.Exact) {
					fixedOff++
				}
			default:
				if samples++; c.KS <= 0.01 {
					uneven++
				}
				if c.Least <= 0 || c.Greatest > beat {
					beyond++
				}
				means, p99s = append(means, c.Mean), append(p99s, c.P99)
			}
		case kindWait:
			if waits++; (c.Period - lawPeriod(p, c)).Abs() > testbed.Exact {
				waitsOff++
			}
		case kindGrid:
			for _, x := range c.Grid {
				tails, against = tails+x.Tails, against+x.Against
				switch {
				case c.Second || c.Burst > 1 || c.Delay == 0:
				case x.Floor > c.Delay:
					above += x.Spurious
				case x.Floor < c.Delay:
					below, belowMissed = below+x.Tails, belowMissed+x.Tails-x.Spurious
				}
			}
		case kindRemedy:
			where := 0
			if c.Second {
				where = 1
			}
			for _, x := range c.Grid {
				tails, against = tails+x.Tails, against+x.Against
				cures[where][0], cures[where][1] = cures[where][0]+x.Spurious, cures[where][1]+x.Tails
				if c.Second && c.Burst > 1 && !x.Each {
					restarted[0], restarted[1] = restarted[0]+x.Spurious, restarted[1]+x.Tails
				}
			}
		}
	}
	const law = "computed from the definition of the timers"
	claim := func(name, text, published, source string, m experiments.Measure, expected string, v experiments.Verdict, why string) {
		out.Claim(experiments.Claim{Name: name, Text: text, Published: published, Source: source, Tag: experiments.Computed, Measured: m,
			Expected:  experiments.Decided(v, expected),
			Otherwise: why})
	}
	if samples > 0 { // of bursts of an odd size
		claim("even", "a heartbeat delays the ACKs of random segments by an even share of a beat", fmt.Sprintf("(0, %v] ms", beat), law,
			experiments.MeasuredText("%d of %d samples differ at p ≤ 0.01, %d go beyond a beat", uneven, samples, beyond),
			"5 % at most, and none", experiments.Holds(beyond == 0 && float64(uneven) <= max(0.05*float64(samples), 1)),
			"the segments do not come at random, or the beat is not one")
		mean, p99 := stat.BootstrapMean(means, 1), stat.BootstrapMean(p99s, 1)
		claim("mean", "half a beat in the mean", fmt.Sprintf("%v ms", beat/2), law, experiments.MeasuredWithin(mean, "ms"), "half a beat ± 4 %",
			experiments.Judged(mean.Value, 0.48*beat, 0.52*beat, 0.4*beat, 0.6*beat), "the segments do not come at random")
		claim("p99", "99 % of a beat at the 99th percentile", fmt.Sprintf("%v ms", experiments.Number(0.99*beat)), law, experiments.MeasuredWithin(p99, "ms"), "0.99 ± 0.01 of a beat",
			experiments.Judged(p99.Value, 0.98*beat, beat, 0.95*beat, beat), "the segments do not come at random")
	}
	if fixed > 0 {
		claim("fixed", "a timer of its own delays it by its interval", listed(p.Delays), law, experiments.MeasuredText("%d of %d runs off", fixedOff, fixed),
			"none", experiments.Holds(fixedOff == 0), "something else than the timer sends the ACK")
	}
	if even > 0 {
		claim("pairs", "the ACK of an even burst leaves at once", "0", "RFC 5681 §4.2: an ACK for at least every second full-sized segment",
			experiments.MeasuredText("%d of %d runs off", evenOff, even), "none", experiments.Holds(evenOff == 0), "the receiver counts otherwise")
	}
	claim("lock", "a sender that waits for each ACK locks to the heartbeat; with a timer its period is RTT + delay", fmt.Sprintf("%v ms·⌈RTT/%v ms⌉", beat, beat), law,
		experiments.MeasuredText("%d of %d runs off; %s", waitsOff, waits, rates(p, cells)), "none; 5.0, 4.98 and 24.4 segments/s at 1 ms",
		experiments.Holds(waits > 0 && waitsOff == 0), "the next segment does not leave right behind the beat")
	claim("rule", "a tail is sent again in vain just if its timer expires before RTT + delay", "RTO < RTT + delay", law,
		experiments.MeasuredText("%d of %d tails off", against, tails), "none", experiments.Holds(tails > 0 && against == 0),
		"another timer, or another ACK, has a part in it")
	if below > 0 {
		claim("diagonal", "with the floor on the variation, lone segments are sent again in vain below the diagonal, where the floor is less than the delay, and never above it",
			"", law, experiments.MeasuredText("%d in vain above; %d of %d not in vain below", above, belowMissed, below), "none",
			experiments.Holds(above == 0 && belowMissed == 0), "RTTVAR is not worn away, or the floor is not what it seems")
	}
	claim("remedy", "none is in vain where the peer delays by a tick less than the floor on the variation", "0", "Linux commit bbf80d7, and definition",
		experiments.MeasuredText("%d of %d", cures[0][0], cures[0][1]), "none", experiments.Holds(cures[0][0] == 0 && cures[0][1] > 0),
		"the floor is not on the variation")
	v := experiments.Differs
	switch cures[1][0] {
	case 0:
		v = experiments.Reproduced
	case cures[1][1]:
		v = experiments.NotReproduced
	}
	claim("remedy-timeout", "none is in vain where the peer delays by a tick less than the floor on the timeout", "0", "Linux commit bbf80d7, and definition",
		experiments.MeasuredText("%d of %d", cures[1][0], cures[1][1]), "none", v,
		fmt.Sprintf("a floor on the timeout, as RFC 6298 §2 (2.4) has it, holds the round trip of %v too: the ACK comes at RTT + floor - tick. The remedy is for Linux's floor, "+
			"or for round trips under a tick. Of tails of several segments under one timer, which the ACK of the pair restarts, %d of %d are in vain, of all others %d of %d",
			p.GridRTT, restarted[0], restarted[1], cures[1][0]-restarted[0], cures[1][1]-restarted[1]))
	out.Notes = append(out.Notes, "The rule of Psaras and Tsaoussidis, a longer timeout behind odd bursts in place of a floor, is not in the engine and was not tried.")
	return out, nil
}

// listed writes delays as in "200 and 40 ms".
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

// rates tells the segments per second at the shortest round trip.
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
