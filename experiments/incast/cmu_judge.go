package incast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
)

var cmuWords = experiments.Words{
	Question: "Do the three results of the CMU group on incast hold in its own simulation?",
	Found: "In the CMU group's own setup, of 4 MB, 64 packets and no SACK, a floor of 200 ms loses {collapse#} % of the " +
		"goodput (published: up to 90), one of 1 ms keeps {no-collapse#} % with 16 servers, and ACKs that wait 40 ms cost " +
		"{delack-cost#} % of it. With SACK and timestamps more servers lose more: {undone}.",
}

// group is the servers of the group's testbed, "1-48 storage servers" in a reader's notes of 2009.
const group = 48

// relative returns the goodput with n servers, in % of that of one.
func (s *study) relative(rows []Row, n int) float64 {
	return 100 * each(asking(rows, s.alone)) / each(asking(rows, n))
}

// othersAt returns the TCP with SACK and timestamps at a floor.
func (s *study) othersAt(floor time.Duration) []Row {
	prefix := fmt.Sprintf("rfc6298@exact control=newreno floor=%v delack=%s", floor, s.DelAck)
	return judge.Where(s.kind("other"), func(r *Row) bool { return strings.HasPrefix(r.Timers, prefix) })
}

func cmuOutcome(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	s := newStudy(p, cells)
	out := &experiments.Outcome{}
	out.Judge(s.cmuCollapse())
	out.Judge(s.cmuEnough()...)
	out.Judge(s.cmuUndone())
	out.Tables = append(out.Tables, s.cmuTable())
	out.Figures = append(out.Figures, s.cmuFigure())
	return out, nil
}

// cmuCollapse is a check: whatever the setup, a query that waits for the floor loses so much.
func (s *study) cmuCollapse() experiments.Claim {
	return experiments.Claim{
		Name: "collapse", Class: experiments.Check, Source: "Vasudevan et al., SIGCOMM 2009, abstract",
		Text: judge.Say("at a floor of %v incast loses up to 90 %% of the goodput", s.coarse()), Published: "up to 90 %",
		Tag: experiments.FromPrint,
		Measured: experiments.MeasuredWithin(judge.Resampled(s.the(s.coarse(), s.DelAck), seed, func(rows []Row) float64 {
			worst := 0.0
			for _, g := range judge.Along(rows, servers) {
				if g.Key <= group {
					worst = max(worst, each(g.Rows))
				}
			}
			return 100 - 100*each(asking(rows, s.alone))/worst
		}), fmt.Sprintf("%% lost, at the worst number of servers up to %d", group)),
		Expected:  experiments.Printed(90, "%").OrDiffers(experiments.Above(50, "%")),
		Otherwise: "the block decides how long a query without a timeout takes, and the port how often one has a timeout",
	}
}

func (s *study) cmuEnough() []experiments.Claim {
	const source = "Vasudevan et al., SIGCOMM 2009, as a summary quotes it"
	kept := experiments.Claim{
		Name: "no-collapse", Class: experiments.OfOthers, Source: source + "; not in the abstract",
		Text: judge.Say("a floor of %v avoids degradation for up to %d servers", s.Enough, s.EnoughServers),
		Tag:  experiments.FromPrint, Published: "1 ms, up to 16 servers",
		Basis: "no degradation, ± 10 %, the rule of all studies",
		Look: experiments.Look{Read: experiments.ReadSummary, At: "a summary that quotes the paper, on its testbed",
			Quote: "the real world results show the need to reduce the RTO to at least 1ms to avoid throughput degradation at " +
				"scales of up to 16 servers",
			Turns: "nothing of bytes=1024000 (95.7), buffer=100 (99.2), initial_window=1460 (99.4), service=1ms (94.0); 32 " +
				"servers do (86), as the sentence says"},
		Measured: experiments.MeasuredWithin(judge.Resampled(s.the(s.Enough, s.DelAck), seed, func(rows []Row) float64 {
			return s.relative(rows, s.enoughAt)
		}), fmt.Sprintf("%% of one server's goodput, at %d servers", s.enoughAt)),
		Expected:  experiments.AtLeast(90, "%").OrDiffers(experiments.AtLeast(50, "%")),
		Otherwise: "another cost than the wait remains at a fine floor",
	}
	at := asking(judge.Where(s.classics, func(r *Row) bool { return r.Floor == s.Enough }), s.enoughAt)
	waits := func(rows []Row, yes bool) []Row {
		return judge.Where(rows, func(r *Row) bool { return (r.DelAck == s.DelAck) == yes })
	}
	cost := experiments.Claim{
		Name: "delack-cost", Class: experiments.OfOthers, Source: source, Tag: experiments.FromPrint,
		Text: judge.Say("ACKs that wait %v cost little at a floor of %v and %d servers", s.DelAck, s.Enough,
			s.enoughAt),
		Published: "a small, though noticeable drop in throughput",
		Basis:     "ours: the paper's number was not read; more than nothing, and less than a tenth",
		Look: experiments.Look{Read: experiments.ReadSummary, At: "a summary that quotes the paper",
			Quote: "in the datacenter, delayed ACK causes only a small, though noticeable drop in throughput when the RTOmin " +
				"is set below the delayed ACK threshold",
			Turns: "nothing of bytes=1024000 (3.8), buffer=100 (0.8), initial_window=1460 (0.5), service=1ms (7.0); the setup " +
				"of study incast, with SACK, timestamps and 1 MB (31)"},
		Measured: experiments.MeasuredWithin(judge.Resampled(at, seed, func(rows []Row) float64 {
			return 100 - 100*each(waits(rows, false))/each(waits(rows, true))
		}), "% of the goodput"),
		Expected:  experiments.Between(0, 10, "%").OrDiffers(experiments.AtMost(25, "%")),
		Otherwise: "an ACK that waits longer than the floor makes the timeout spurious",
	}
	return []experiments.Claim{kept, cost}
}

func (s *study) cmuUndone() experiments.Claim {
	many := s.next(2 * s.EnoughServers)
	with, without := s.othersAt(s.Enough), s.the(s.Enough, s.DelAck)
	c := law("undone", "found here; ns-3, which undoes no timeout, has the same difference", judge.Say("the floor of %v "+
		"costs more at %d servers if SACK and timestamps find out about the timeouts that ACKs of %v make spurious",
		s.Enough, many, s.DelAck))
	c.Measured = judge.Known("%v %% of one server's goodput with SACK and timestamps at %d servers, %v %% without; %v "+
		"and %v %% at %d", s.relative(with, many), many, s.relative(without, many), s.relative(with, s.enoughAt),
		s.relative(without, s.enoughAt), s.enoughAt)
	c.Expected = experiments.Whether(s.relative(with, many) < s.relative(without, many), "less with them")
	c.Otherwise = "undoing a timeout leaves no loss unmarked"
	if len(with) == 0 {
		c.Unless = judge.Say("no TCP with SACK and timestamps has a floor of %v", s.Enough)
	}
	return c
}

func (s *study) cmuTable() experiments.Table {
	t := experiments.Table{Name: "goodput", Columns: []string{"timers"}, Title: fmt.Sprintf("Goodput in %% of one "+
		"server's, and queries with a timeout in %%, blocks of %d bytes", s.Bytes)}
	for _, n := range s.Servers[1:] {
		t.Columns = append(t.Columns, fmt.Sprintf("n = %d", n), "timeouts, %")
	}
	t.Columns = append(t.Columns, "dropped in a query, most servers")
	for _, g := range judge.By(s.rows, func(r *Row) string { return r.Timers }) {
		row := []any{g.Key}
		for _, n := range s.Servers[1:] {
			row = append(row, s.relative(g.Rows, n), 100*share(asking(g.Rows, n)))
		}
		last := asking(g.Rows, s.most)
		t.Add(append(row, judge.Sum(last, func(r *Row) float64 { return float64(r.Dropped) })/judge.Sum(last, queries))...)
	}
	return t
}

func (s *study) cmuFigure() figure.Figure {
	f := figure.Figure{
		Name: "goodput", Title: "Goodput by servers in the setup of the CMU group",
		Caption: "Published for a floor of 200 ms: up to 90 % lost. For 1 ms: no degradation for up to 16 servers.",
		X:       figure.Axis{Label: "servers", Log: true}, Y: figure.Axis{Label: "goodput, Mbit/s", Log: true},
		Marks: []figure.Mark{{Label: "16 servers", At: 16, Vertical: true}},
	}
	name := func(r *Row) string {
		if r.Kind == "classic" {
			return judge.Say("floor %v, ACKs wait %s", r.Floor, r.DelAck)
		}
		return r.Timers
	}
	for _, g := range judge.By(slices.Concat(s.classics, s.kind("other")), name) {
		f.Series = append(f.Series, judge.Curve(g.Key, figure.Line, g.Rows,
			func(r *Row) float64 { return float64(r.Servers) },
			func(rows []Row) float64 { return 8 * float64(s.Bytes) / each(rows) / 1000 }))
	}
	return f
}
