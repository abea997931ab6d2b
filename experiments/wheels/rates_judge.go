package wheels

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
)

func judgeRates(p *ratesPlan, cells []ratesCell) (*experiments.Outcome, error) {
	single := experiments.Select(cells, func(c *ratesCell) bool { return c.Busy == 0 })
	busy := experiments.Select(cells, func(c *ratesCell) bool { return c.Busy > 0 })
	out := &experiments.Outcome{
		Tables:  []experiments.Table{flowTable(single), receiverTable(single), busyTable(p, busy)},
		Figures: []figure.Figure{operations(p, single), outstanding(p, single)},
	}
	for _, c := range slices.Concat(linkClaims(p, single), conservationClaims(cells), perSegmentClaims(p, single), ackClaims(single)) {
		out.Claim(c)
	}
	return out, nil
}

// name returns the policy of a cell's timers without its options.
func (c *ratesCell) name() string { return strings.Fields(c.Timers)[0] }

// perSecond returns counts as rates over the time that the cell was watched.
func perSecond[N uint64 | float64](c *ratesCell, counts ...N) (rates []any) {
	for _, n := range counts {
		rates = append(rates, float64(n)/c.Watched.Seconds())
	}
	return rates
}

func linkClaims(p *ratesPlan, single []ratesCell) []experiments.Claim {
	var slow experiments.Tally
	retransmissions := 0
	for _, c := range single {
		slow.Add(math.Abs(float64(c.Arrived)-float64(p.packets()*c.Watched.Seconds())) <= 1)
		retransmissions += int(c.Retransmissions)
	}
	return []experiments.Claim{{Name: "full-rate", Class: experiments.Law, Text: fmt.Sprintf("the link carries %s full packets a second", experiments.Number(math.Floor(p.packets()))),
		Source: "1538 bytes each, computed", Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%d of %d flows differ, %d retransmissions", slow.Exceptions, slow.Cases, retransmissions),
		Expected:  experiments.Whether(slow.Exceptions == 0 && retransmissions == 0, "each flow within one packet, no retransmission"),
		Otherwise: "the window does not fill the path, or something was lost"}}
}

func conservationClaims(cells []ratesCell) []experiments.Claim {
	unbalanced, disagree := 0, 0
	for _, c := range cells {
		for _, s := range c.Sides {
			for _, k := range s.Kinds {
				if uint64(k.Before)+k.Started != k.Stopped+k.Expired+uint64(k.After) {
					unbalanced++
				}
			}
			if a := s.all(); s.Starts != a.Started+a.Moved || s.Stops != a.Stopped || s.Expiries != a.Expired {
				disagree++
			}
		}
	}
	return []experiments.Claim{{Name: "conservation", Class: experiments.Check, Text: "timers that ran at first plus starts equal stops plus expiries plus timers that still run", Source: "definition, counted", Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%d kinds of timers do not balance; %d wheels count otherwise", unbalanced, disagree),
		Expected:  experiments.Whether(unbalanced == 0 && disagree == 0, "each kind on either side, exactly; and the wheel counts the same"),
		Otherwise: "a timer is lost, or counted twice"}}
}

// perSegmentClaims judges the flows with a timer per segment.
func perSegmentClaims(p *ratesPlan, single []ratesCell) []experiments.Claim {
	longest := slices.Max(p.RoundTrips)
	law := float64(p.packets() * longest.Seconds())
	var starts experiments.Tally
	var little experiments.Farthest
	expired, atLongest := uint64(0), -1.0
	for _, c := range single {
		if !c.Per {
			continue
		}
		rexmit := c.Sides[0].kind("rexmit")
		starts.Add(rexmit.Started == c.Sent && rexmit.Moved == 0)
		expired += rexmit.Expired
		little.Add(rexmit.Mean / float64(float64(rexmit.Started)/c.Watched.Seconds()*rexmit.Lived.Seconds()))
		if c.Trip == longest {
			atLongest = rexmit.Mean / law
		}
	}
	if starts.Cases == 0 {
		return nil
	}
	return []experiments.Claim{
		{Name: "per-segment", Class: experiments.Law, Text: "with a timer per segment each segment starts one, and an ACK stops it", Source: "definition, counted", Tag: experiments.Computed,
			Measured:  experiments.MeasuredText("%d of %d flows, %d expiries", starts.Cases-starts.Exceptions, starts.Cases, expired),
			Expected:  experiments.Whether(starts.Exceptions == 0 && expired == 0, "as many starts as segments in each, exactly; no expiry"),
			Otherwise: "a segment has no timer, or more than one"},
		{Name: "little", Class: experiments.Law, Text: "Little's law: the timers that run are the rate of starts times the mean time that each runs", Source: "J. D. C. Little, 1961, computed", Tag: experiments.Computed,
			Measured: experiments.Measured(little.Ratio, "of the law, farthest from 1"), Expected: experiments.Within(1, 0.005, ""), Basis: "the ends of the watch",
			Otherwise: "a timer runs for longer than was recorded"},
		{Name: "outstanding", Class: experiments.Law, Text: fmt.Sprintf("%s timers run at a round trip of %v", experiments.Number(math.Round(law)), longest), Source: "rate × round trip, computed", Tag: experiments.Computed,
			Measured: experiments.Measured(atLongest, "of it"), Expected: experiments.Within(1, 0.01, "").OrDiffers(experiments.Within(1, 0.1, "")), Basis: "set for this project",
			Otherwise: "a queue adds to the round trip"},
	}
}

// ackClaims judges what ACKs do to the one timer of a sender, and to the receiver's.
func ackClaims(single []ratesCell) (all []experiments.Claim) {
	var moves, delayed experiments.Tally
	share, acks := experiments.Farthest{Ratio: 1}, experiments.Farthest{Ratio: 1}
	for _, c := range single {
		if rexmit := c.Sides[0].kind("rexmit"); !c.Per {
			moves.Add(rexmit.Moved+rexmit.Started == c.AcksIn)
			share.Add(2 * float64(rexmit.Moved) / float64(c.Sent))
		}
		delack := c.Sides[1].kind("delack")
		delayed.Add(math.Abs(float64(delack.Started)-float64(c.AcksOut)) <= 1)
		acks.Add(2 * float64(delack.Started) / float64(c.Arrived))
	}
	near := experiments.Within(1, 0.01, "")
	if moves.Cases > 0 {
		all = append(all, experiments.Claim{Name: "one-timer", Class: experiments.Law, Text: "each ACK moves the one timer once, for half of the packets", Published: "restart the timer when an ACK acknowledges new data",
			Source: "RFC 6298 §5 (5.3)", Tag: experiments.Standard,
			Measured:  experiments.MeasuredText("%d of %d flows by each ACK; %s of half of the packets", moves.Cases-moves.Exceptions, moves.Cases, experiments.Number(share.Ratio)),
			Expected:  experiments.Whether(moves.Exceptions == 0 && near.Has(share.Ratio), "each flow; %v of half", near),
			Otherwise: "ACKs are thinned, or cover more or less than two segments"})
	}
	return append(all, experiments.Claim{Name: "delayed-ack", Class: experiments.Law, Text: "the receiver starts its delayed-ACK timer as often as it sends ACKs", Published: "an ACK for every second segment",
		Source: "RFC 5681 §4.2", Tag: experiments.Standard,
		Measured:  experiments.MeasuredText("%d of %d flows; %s of half of the packets", delayed.Cases-delayed.Exceptions, delayed.Cases, experiments.Number(acks.Ratio)),
		Expected:  experiments.Whether(delayed.Exceptions == 0 && near.Has(acks.Ratio), "each flow, except for one timer that still runs; %v of half", near),
		Otherwise: "the receiver does not acknowledge segments in pairs"})
}

func flowTable(single []ratesCell) experiments.Table {
	t := experiments.Table{Name: "rates", Title: "One flow at full rate: operations on the sender's timers, per second",
		Columns: []string{"timers", "round trip, ms", "packets", "ACKs", "starts", "moves", "stops", "expiries", "running, mean"}}
	for _, c := range single {
		all := c.Sides[0].all()
		t.Rows = append(t.Rows, slices.Concat([]any{c.name(), c.Trip.Seconds() * 1e3},
			perSecond(&c, c.Sent, c.AcksIn, all.Started, all.Moved, all.Stopped, all.Expired), []any{all.Mean}))
	}
	return t
}

func receiverTable(single []ratesCell) experiments.Table {
	t := experiments.Table{Name: "receiver", Title: "The delayed-ACK timer of the receiver, per second",
		Columns: []string{"timers", "round trip, ms", "packets", "ACKs", "starts", "stops", "expiries", "running, share of the time"}}
	for _, c := range single {
		delack := c.Sides[1].kind("delack")
		t.Rows = append(t.Rows, slices.Concat([]any{c.name(), c.Trip.Seconds() * 1e3},
			perSecond(&c, c.Arrived, c.AcksOut, delack.Started, delack.Stopped, delack.Expired), []any{delack.Mean}))
	}
	return t
}

func busyTable(p *ratesPlan, busy []ratesCell) experiments.Table {
	t := experiments.Table{Name: "busy", Title: fmt.Sprintf("%d connections that send both ways, with keepalive: one host, per second", p.Connections),
		Columns: []string{"timers", "packets in and out", "starts", "moves", "stops", "expiries", "running, mean", "running, most", "timers visited"}}
	for _, c := range busy {
		client := &c.Sides[0]
		all := client.all()
		t.Rows = append(t.Rows, slices.Concat([]any{c.name()}, perSecond(&c, c.Sent+c.AcksIn, all.Started, all.Moved, all.Stopped, all.Expired),
			[]any{all.Mean, client.Peak}, perSecond(&c, client.Looks)))
	}
	return t
}

func operations(p *ratesPlan, single []ratesCell) figure.Figure {
	bars := figure.Figure{
		Name: "operations", Title: fmt.Sprintf("Operations on the sender's timers at %s Mbit/s, round trip %v", experiments.Number(float64(p.Rate)/1e6), p.RoundTrips[0]),
		X: figure.Axis{Label: "timers"}, Y: figure.Axis{Label: "operations, thousands per second"},
		Series:  []figure.Series{{Name: "starts"}, {Name: "moves"}, {Name: "stops"}, {Name: "expiries"}},
		Caption: "With a timer per segment each packet starts one, and ACKs stop them. Each ACK moves a single timer. Hardly any expires.",
	}
	for _, c := range single {
		if c.Trip != p.RoundTrips[0] {
			continue
		}
		all := c.Sides[0].all()
		for i, v := range []uint64{all.Started, all.Moved, all.Stopped, all.Expired} {
			s := &bars.Series[i]
			s.Kind, s.Group = figure.Bars, i+1
			s.Add(float64(len(bars.X.Ticks)), float64(v)/c.Watched.Seconds()/1000)
		}
		bars.X.Ticks = append(bars.X.Ticks, c.name())
	}
	return bars
}

func outstanding(p *ratesPlan, single []ratesCell) figure.Figure {
	f := figure.Figure{
		Name: "outstanding", Title: "Timers that run at once",
		X: figure.Axis{Label: "round trip, ms", Log: true}, Y: figure.Axis{Label: "running timers of one sender, mean", Log: true},
		Caption: "Dashed: rate times round trip, Little's law.",
	}
	for i, g := range experiments.GroupBy(single, func(c *ratesCell) string { return c.Timers }) {
		s := figure.Series{Name: g.Items[0].name(), Kind: figure.Line, Group: i + 1}
		for _, c := range g.Items {
			s.Add(c.Trip.Seconds()*1e3, max(c.Sides[0].all().Mean, 1e-3))
		}
		f.Series = append(f.Series, s)
	}
	law := figure.Series{Name: "rate × round trip", Kind: figure.Line, Dashed: true}
	for _, t := range p.RoundTrips {
		law.Add(t.Seconds()*1e3, float64(p.packets()*t.Seconds()))
	}
	f.Series = append(f.Series, law)
	return f
}
