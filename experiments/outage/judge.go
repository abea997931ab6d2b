package outage

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/stat"
)

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{Tables: []experiments.Table{table(p, cells)}, Figures: figures(cells)}
	claims(cells, out)
	least, most := time.Duration(math.MaxInt64), time.Duration(math.MinInt64)
	for _, c := range cells {
		for _, x := range c.Cases {
			gain := x.One.First - x.Each.First
			least, most = min(least, gain), max(most, gain)
		}
	}
	out.Notes = append(out.Notes, fmt.Sprintf("A timer per segment is never later than one timer. It sends its "+
		"first retransmission up to %v earlier: ACKs of the "+
		"part that arrived restart the one timer. The least gain is %v.", most, least))
	return out, nil
}

func claims(cells []Cell, out *experiments.Outcome) {
	var once, ssthresh, bytes, waits, blind experiments.Tally
	spare := time.Duration(math.MaxInt64)
	for _, c := range cells {
		for _, x := range c.Cases {
			if x.Outage == 0 {
				once.Add(x.Each.Timeouts == 1 && x.Each.Backoffs == 1)
			} else {
				blind.Add(x.Each.Blind == x.Each.Timeouts-1)
			}
			ssthresh.Add(x.Each.Ssthresh == x.One.Ssthresh)
			bytes.Add(x.Each.Bytes <= x.One.Bytes)
			waits.Add(x.Each.Spare >= 0)
			spare = min(spare, x.Each.Spare)
		}
	}
	for _, c := range []experiments.Claim{
		{
			Name: "one-event", Class: experiments.Law,
			Text:   "the timers of a flight make one timeout and one backoff",
			Source: "RFC 6298 §5 and RFC 5681 §3.1", Tag: experiments.Standard,
			Measured:  once.Measure("flights have more"),
			Otherwise: "the engine takes the timers of one flight for separate events",
		}, {
			Name: "ssthresh", Class: experiments.Law, Text: "ssthresh is the same as with one timer",
			Source: "RFC 5681 §3.1", Tag: experiments.Standard,
			Measured:  ssthresh.Measure("flights have another"),
			Otherwise: "each timer cuts the window",
		}, {
			Name: "bytes", Class: experiments.Law,
			Text:   "no more bytes leave in the first round trip after the timeout than with one timer",
			Source: "computed from RFC 5681 §3.1", Tag: experiments.Computed,
			Measured:  bytes.Measure("flights send more"),
			Otherwise: "the window does not hold the segments back whose timers expire",
		}, {
			Name: "wait", Class: experiments.Law, Text: "no segment is retransmitted within an RTO of its last " +
				"transmission", Source: "RFC 6298 §5", Tag: experiments.Standard,
			Measured:  waits.Measure("flights are earlier; the least wait is the RTO and %v", spare),
			Otherwise: "a segment leaves on the timeout of another one",
		}, {
			Name: "blind", Class: experiments.Law, Text: "during an outage, one segment leaves for each timeout",
			Source: "RFC 6298 §5", Tag: experiments.Standard,
			Measured:  blind.Measure("flights send more"),
			Otherwise: "the timers of a flight continue independently",
		},
	} {
		c.Expected = experiments.None()
		out.Claim(c)
	}
}

func table(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "flights", Title: "A lost flight under one timer, under a timer per segment, and if each timer were " +
			"an event",
		Columns: []string{"flight", "outage, s", "flights", "timeouts, one", "per segment", "bytes in 1 RTT, one",
			"per segment", "if each were an event", "RTO then, s"},
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
						one[1], each[1] = max(one[1], x.One.Bytes), max(each[1], x.Each.Bytes)
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
			if len(x.Each.Retransmissions) == 0 {
				continue
			}
			steps := func(name string, again []Retransmission) figure.Series {
				s := figure.Series{Name: name, Kind: figure.Steps}
				for i, a := range again {
					s.Add(float64(a.At)/1e6, float64(i+1))
				}
				return s
			}
			var naive []Retransmission
			for i, at := range starts(&c) {
				if i >= c.Flight*c.Part/100 {
					naive = append(naive, Retransmission{At: at + c.RTO, Segment: i + 1})
				}
			}
			hazard := steps("if each timer were an event", naive)
			hazard.Dashed = true
			all = append(all, figure.Figure{
				Name: "after-timeout", Title: fmt.Sprintf("%d of %d segments are lost: retransmissions over time",
					len(naive), c.Flight),
				X: figure.Axis{Label: "since the flight began, ms"}, Y: figure.Axis{Label: "segments retransmitted"},
				Series: []figure.Series{steps("timer per segment", x.Each.Retransmissions), steps("one timer",
					x.One.Retransmissions), hazard},
				Caption: fmt.Sprintf("Both send one segment and then double with each round trip. The timer per "+
					"segment (%s) begins earlier, by the age of the first lost "+
					"segment at the last ACK. Dashed is the hazard: every timer sends separately.",
					tcptimers.RexmitPerSegment),
			})
		}
	}
	return all
}
