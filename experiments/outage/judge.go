package outage

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/figure"
	"tcpwheel/experiments/stat"
	"tcpwheel/tcptimers"
)

// tally counts flights that a rule does not hold for.
type tally struct{ n, off int }

func (t *tally) add(holds bool) {
	t.n++
	if !holds {
		t.off++
	}
}

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	var once, ssthresh, octets, waits, blind tally
	spare := time.Duration(math.MaxInt64)
	gained := map[bool]time.Duration{} // the least and the most, by false and true
	first := true
	for _, c := range cells {
		for _, x := range c.Cases {
			if x.Outage == 0 {
				once.add(x.Each.Timeouts == 1 && x.Each.Backoffs == 1)
			} else {
				blind.add(x.Each.Blind == x.Each.Timeouts-1)
			}
			ssthresh.add(x.Each.Ssthresh == x.One.Ssthresh)
			octets.add(x.Each.Octets <= x.One.Octets)
			waits.add(x.Each.Spare >= 0)
			spare = min(spare, x.Each.Spare)
			gain := x.One.First - x.Each.First
			if first || gain < gained[false] {
				gained[false] = gain
			}
			if first || gain > gained[true] {
				gained[true] = gain
			}
			first = false
		}
	}
	out := &experiments.Outcome{Tables: []experiments.Table{table(p, cells)}, Figures: figures(cells)}
	claim := func(name, text, source string, tag experiments.Tag, t tally, more, expected, why string) {
		out.Claim(experiments.Claim{
			Name: name, Text: text, Source: source, Tag: tag, Expected: expected, Verdict: experiments.Holds(t.n > 0 && t.off == 0),
			Measured: experiments.MeasuredText("%d of %d flights off%s", t.off, t.n, more),
		}, why)
	}
	claim("one-event", "the timers of a flight make one timeout and one backoff", "RFC 6298 §5 and RFC 5681 §3.1", experiments.Standard, once, "",
		"one of each", "the engine takes timers of one flight for events of their own")
	claim("ssthresh", "ssthresh is what one timer makes it", "RFC 5681 §3.1", experiments.Standard, ssthresh, "", "the same",
		"the window is cut for each of the timers")
	claim("octets", "no more octets leave in the first round trip after the timeout than with one timer", "computed from RFC 5681 §3.1",
		experiments.Computed, octets, "", "at most as many", "the window does not hold what timers ask for")
	claim("wait", "no segment is sent again within an RTO of its last transmission", "RFC 6298 §5", experiments.Standard, waits,
		fmt.Sprintf("; the least wait is the RTO and %v", spare), "the RTO at least", "a segment leaves on the timeout of another one")
	claim("blind", "into an outage that lasts, one segment leaves for each timeout", "RFC 6298 §5", experiments.Standard, blind, "",
		"one each", "the timers of a flight go on by themselves")
	out.Notes = append(out.Notes, fmt.Sprintf("The timer per segment is not only no worse: it sends its first segment up to %v before one timer, which the ACKs of the part "+
		"that arrived have restarted, and never after it (the least gain is %v).", gained[true], gained[false]))
	return out, nil
}

func table(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "flights", Title: "A lost flight under one timer and under a timer per segment, and what it would be if each timer were an event",
		Columns: []string{"flight", "outage, s", "flights", "timeouts, one", "per segment", "octets in 1 RTT, one", "per segment", "if each were an event", "and RTO then, s"},
	}
	for _, flight := range p.Flights {
		for _, outage := range p.Outages {
			n, one, each := 0, [2]int{}, [2]int{}
			lost, rto := 0, time.Duration(0)
			for _, c := range cells {
				for _, x := range c.Cases {
					if c.Flight == flight && x.Outage == outage {
						n++
						one[0], each[0] = max(one[0], x.One.Timeouts), max(each[0], x.Each.Timeouts)
						one[1], each[1] = max(one[1], x.One.Octets), max(each[1], x.Each.Octets)
						lost, rto = max(lost, c.Flight-c.Flight*c.Part/100), c.RTO
					}
				}
			}
			naive := min(rto.Seconds()*stat.Power(2, lost), p.Timers.Policy.Bounds.Max.Seconds())
			t.Add(flight, outage.Seconds(), n, one[0], each[0], one[1], each[1], lost*mss, naive)
		}
	}
	return t
}

func figures(cells []Cell) (all []figure.Figure) {
	for _, c := range cells {
		for _, x := range c.Cases {
			if len(x.Each.Again) == 0 {
				continue
			}
			steps := func(name string, again []Again) figure.Series {
				s := figure.Series{Name: name, Kind: figure.Steps}
				for i, a := range again {
					s.X, s.Y = append(s.X, float64(a.At)/1e6), append(s.Y, float64(i+1))
				}
				return s
			}
			var naive []Again
			for i, at := range starts(&c) {
				if i >= c.Flight*c.Part/100 {
					naive = append(naive, Again{At: at + c.RTO, Segment: i + 1})
				}
			}
			hazard := steps("if each timer were an event", naive)
			hazard.Dashed = true
			all = append(all, figure.Figure{
				Name: "after-timeout", Title: fmt.Sprintf("%d of %d segments are lost: what leaves again, and when", len(naive), c.Flight),
				X: figure.Axis{Label: "since the flight began, ms"}, Y: figure.Axis{Label: "segments sent again"},
				Series: []figure.Series{steps("timer per segment", x.Each.Again), steps("one timer", x.One.Again), hazard},
				Caption: fmt.Sprintf("Both send one segment and then double with each round trip. The timer per segment (%s) begins earlier by the age of the first lost "+
					"segment at the last ACK. Dashed is the hazard: every timer sending for itself.", tcptimers.RexmitPerSegment),
			})
		}
	}
	return all
}
