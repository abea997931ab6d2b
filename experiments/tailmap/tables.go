package tailmap

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

// ladderTable compares all rules at one round trip.
func ladderTable(p *Plan, cells []Cell) experiments.Table {
	rtt := p.LadderRTT
	if !slices.Contains(p.RTTs, rtt) {
		rtt = p.RTTs[0]
	}
	t := experiments.Table{
		Name: "ladder", Title: fmt.Sprintf("First retransmission and completion, from the first transmission of "+
			"the lost tail, at a round trip of %v", rtt),
		Columns: []string{"floor", "rule", "lost", "retransmitted, ms", "expected, ms", "complete, ms"},
	}
	for _, c := range cells {
		if c.Kind != kindMap || c.RTT != rtt {
			continue
		}
		for _, x := range c.Tails {
			if x.Lost != 1 && x.Lost != 2 && x.Lost != 3 && x.Lost != 4 {
				continue
			}
			var law any = "none"
			if x.Rule != shipped {
				law = ms(lawRetransmission(x.Rule, x.RTO, c.RTT, x.Lost))
			}
			t.Add(c.Floor, x.Rule, x.Lost, ms(x.Retransmission), law, ms(x.Complete))
		}
	}
	return t
}

// gainTable shows the gain of a timer per segment where segments are apart.
func gainTable(cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "gains", Title: "Segments that are apart, 200 ms on the variation: gain over one timer",
		Columns: []string{"apart, ms", "lost", "age at the last ACK, ms", "timer per segment, ms", "RTO restart, ms"},
	}
	for _, c := range cells {
		if c.Kind != kindAge || c.Floor != floorLinux {
			continue
		}
		for _, one := range c.Tails {
			if one.Rule != oneTimer || one.Lost != 1 && one.Lost != 3 && one.Lost != 4 {
				continue
			}
			each, restart := find(c.Tails, perSegment, one.Lost), find(c.Tails, rtoRestart, one.Lost)
			t.Add(ms(c.Gap), one.Lost, ms(one.Age), ms(one.Retransmission-each.Retransmission),
				ms(one.Retransmission-restart.Retransmission))
		}
	}
	return t
}

// tickTable shows how late the rules are with coarser ticks.
func tickTable(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "ticks", Title: "First retransmission minus the expected time, with coarser ticks of expiry at " +
			"random phases",
		Columns: []string{"tick, ms", "rule", "tails", "least, ms", "mean, ms", "greatest, ms"},
	}
	for _, tick := range p.Ticks {
		for _, rule := range rules {
			var late []float64
			for _, c := range cells {
				if c.Kind != kindTick || c.Tick != tick {
					continue
				}
				for _, x := range c.Tails {
					if x.Rule == rule {
						late = append(late, ms(x.Retransmission-lawRetransmission(rule, x.RTO, c.RTT, x.Lost)))
					}
				}
			}
			t.Add(ms(tick), rule, len(late), stat.Quantile(late, 0), stat.Mean(late), stat.Quantile(late, 1))
		}
	}
	return t
}

func gvisorTable(cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "gvisor", Title: "gVisor's own TCP in virtual time: the last segments of a response are lost",
		Columns: []string{"round trip, ms", "segments", "lost", "retransmitted, ms", "expected, ms", "complete, ms"},
	}
	for _, c := range cells {
		if c.Kind != kindGVisor {
			continue
		}
		for _, x := range c.Tails {
			if x.Lost > 4 {
				continue
			}
			t.Add(ms(c.RTT), x.Segments, x.Lost, ms(x.Retransmission), ms(lawGVisor(c.RTT, x.Segments, x.Lost)),
				ms(x.Complete))
		}
	}
	return t
}

// The classes of the maps of winners.
var classes = []string{"probe", "timer per segment and RTO restart", "timer per segment", "probe and timers alike"}

func winner(tails []Tail, lost int) (class int, at time.Duration) {
	each, restart, probed := find(tails, perSegment, lost), find(tails, rtoRestart, lost), find(tails, probe, lost)
	at = min(each.Retransmission, restart.Retransmission, probed.Retransmission)
	switch {
	case probed.Retransmission == at && each.Retransmission == at:
		return 3, at
	case probed.Retransmission == at:
		return 0, at
	case restart.Retransmission == at:
		return 1, at
	}
	return 2, at
}

func figures(p *Plan, cells []Cell) (all []figure.Figure) {
	for i, floor := range floors {
		m := &figure.Map{Classes: classes}
		for _, lost := range p.Lost {
			m.Rows = append(m.Rows, fmt.Sprint(lost))
		}
		m.Class, m.Text = make([][]int, len(p.Lost)), make([][]string, len(p.Lost))
		for _, c := range cells {
			if c.Kind != kindMap || c.Floor != floor {
				continue
			}
			m.Columns = append(m.Columns, experiments.Number(ms(c.RTT)))
			for row, lost := range p.Lost {
				class, at := winner(c.Tails, lost)
				m.Class[row] = append(m.Class[row], class)
				m.Text[row] = append(m.Text[row], experiments.Number(ms(at)))
			}
		}
		all = append(all, figure.Figure{
			Name:  []string{"winners-200ms", "winners-1s"}[i],
			Title: "The rule that retransmits a lost tail first, floor of " + floor,
			X:     figure.Axis{Label: "round trip, ms"}, Y: figure.Axis{Label: "segments lost at the end"}, Map: m,
			Caption: "The number in a cell is the time of the first retransmission, ms. For a lone lost segment " +
				"the timer per segment is first (with a floor of " +
				"1 s from 267 ms on), because the probe allows for a delayed ACK. For more segments the probe is " +
				"first while RTT + 2·SRTT is below the timeout.",
		})
	}
	for _, c := range cells {
		if c.Kind == kindLadder {
			all = append(all, ladderFigure(c))
		}
	}
	return all
}

// ladderFigure draws one case, segment by segment.
func ladderFigure(c Cell) figure.Figure {
	last := 0
	for _, x := range c.Tails[0].Sent {
		last = max(last, x.Segment)
	}
	f := figure.Figure{
		Name: "ladder", Title: fmt.Sprintf("The last %d segments of a flight are lost: retransmissions of each "+
			"rule over time", c.Tails[0].Lost),
		X: figure.Axis{Label: "time since the flight left, ms"}, Y: figure.Axis{Label: "segment", Lo: 0,
			Hi: float64(last) + 1.5},
		Marks: []figure.Mark{{Label: "ACKs of the others", At: ms(c.RTT), Vertical: true}},
		Caption: fmt.Sprintf("Round trip %v, floor of %s. All send the flight at 0. The probe retransmits the last "+
			"segment, and its SACK reveals the other losses. "+
			"A timer per segment retransmits the first lost segment one round trip before the one timer.", c.RTT,
			c.Floor),
	}
	for i, t := range c.Tails {
		s := figure.Series{Name: t.Rule, Kind: figure.Points, Group: i + 1, Marker: i + 1}
		for _, x := range t.Sent {
			if x.Again || i == 0 {
				// Retransmissions at the same instant are drawn a little apart.
				s.X, s.Y = append(s.X, ms(x.At)), append(s.Y, float64(x.Segment)+float64(0.15*float64(i-2)))
			}
		}
		f.Series = append(f.Series, s)
	}
	return f
}
