package incast

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

var words = experiments.Words{
	Question: "When many servers answer at once, what do the floor and the granularity of the timeout cost?",
	Found: "At a floor of 300 ms timeouts begin at {onset#} servers with SACK, which the paper's TCP has; above 10 was " +
		"published. SACK decides it most: {no-sack}. Receive window, buffer and carried-over congestion window do too. " +
		"There the floor leaves {collapse}.",
}

// The shares of queries with a timeout where timeouts begin, and where nearly all queries have one;
// the goodput, in % of one server's, below which it has collapsed; and gVisor's own floor.
const (
	begin     = 0.1
	nearlyAll = 0.9
	collapsed = 50
	noSACK    = "no SACK"
)

func seed(r *Row) int        { return r.Seed }
func servers(r *Row) int     { return r.Servers }
func ms(r *Row) float64      { return judge.Ms(r.Took) }
func queries(r *Row) float64 { return float64(r.Queries) }
func timed(r *Row) float64   { return float64(r.Timed) }

// each returns the mean time of a query in ms, and share that of queries with a timeout.
func each(rows []Row) float64  { return judge.Sum(rows, ms) / judge.Sum(rows, queries) }
func share(rows []Row) float64 { return judge.Sum(rows, timed) / judge.Sum(rows, queries) }

// overRows returns a measure with its interval over the rows, which are independent.
func overRows(rows []Row, of func([]Row) float64) stat.Interval {
	single := make([][]Row, len(rows))
	for i := range rows {
		single[i] = rows[i : i+1]
	}
	return judge.Jackknife(single, of)
}

// asking returns the rows of so many servers.
func asking(rows []Row, n int) []Row {
	return judge.Where(rows, func(r *Row) bool { return r.Servers == n })
}

// study is a plan with its rows.
type study struct {
	*Plan
	rows, classics []Row
	alone, most    int // servers
	enoughAt       int // the most servers up to EnoughServers
}

func newStudy(p *Plan, cells []Cell) *study {
	s := &study{Plan: p, rows: rows(p, cells), alone: p.Servers[0], most: p.Servers[len(p.Servers)-1]}
	s.classics = s.kind("classic")
	for _, n := range p.Servers {
		if n <= p.EnoughServers {
			s.enoughAt = n
		}
	}
	return s
}

func (s *study) kind(name string) []Row {
	return judge.Where(s.rows, func(r *Row) bool { return r.Kind == name })
}

// the returns the classic TCP with a floor and a delay of ACKs.
func (s *study) the(floor time.Duration, delack string) []Row {
	return judge.Where(s.classics, func(r *Row) bool { return r.Floor == floor && r.DelAck == delack })
}

// goodput returns that of a query that takes t ms, in Mbit/s; wire the time of all answers on the
// wire, in ms.
func (s *study) goodput(t float64) float64 { return 8 * float64(s.Bytes) / t / 1000 }
func (s *study) wire(n int) float64        { return 8000 * float64(n*s.response(n)) / float64(s.Rate) }

// reaches returns the least number of servers at which so many queries have a timeout, and twice
// the greatest number where they do nowhere.
func (s *study) reaches(rows []Row, level float64) float64 {
	for _, g := range judge.Along(rows, servers) {
		if share(g.Rows) >= level {
			return float64(g.Key)
		}
	}
	return float64(2 * s.most)
}

func (s *study) begins(rows []Row) float64 { return s.reaches(rows, begin) }
func (s *study) rises(rows []Row) float64  { return s.reaches(rows, nearlyAll) / s.begins(rows) }

func outcome(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	s := newStudy(p, cells)
	out := &experiments.Outcome{}
	out.Judge(s.onset()...)
	out.Judge(s.changed()...)
	out.Judge(s.fine()...)
	out.Judge(s.gvisor())
	out.Tables = append(out.Tables, s.variantsTable(), s.stacksTable(), s.causesTable(), s.toldTable())
	out.Figures = append(out.Figures, s.figure())
	return out, nil
}

func law(name, source, text string) experiments.Claim {
	return experiments.Claim{Name: name, Class: experiments.Law, Source: source, Tag: experiments.Computed, Text: text}
}

func (s *study) onset() []experiments.Claim {
	least := law("least-time", "Alizadeh et al., DCTCP, SIGCOMM 2010, Fig. 18",
		"a query without loss takes as long as its bytes on the wire")
	least.Published, least.Tag, least.Basis = "8 ms for 1 MB", experiments.FromPrint,
		"8 ms of payload, and 10 % for headers"
	least.Measured = experiments.MeasuredWithin(overRows(asking(s.the(s.coarse(), s.DelAck), s.alone), each), "ms")
	least.Expected = experiments.Between(s.wire(1), s.wire(1)*1.1, "ms")
	published := s.the(s.coarse(), s.DelAck)
	steepness := law("steepness", "the shape of Fig. 18 of Alizadeh et al., as remembered: no number of it was read",
		"from one query in ten with a timeout to nine in ten, the servers at most double")
	steepness.Basis = "set for this project"
	steepness.Measured = experiments.MeasuredWithin(judge.Drawn(published, seed, s.rises), "times")
	steepness.Expected = experiments.AtMost(2, "times")
	return []experiments.Claim{least, {
		Name: "onset", Class: experiments.OfOthers, Tag: experiments.FromPrint,
		Text: judge.Say("with SACK, timeouts begin above 10 servers at a floor of %v, delayed ACKs %v", s.coarse(),
			s.DelAck),
		Published: "above 10 servers", Source: "Alizadeh et al., DCTCP, SIGCOMM 2010, §4.2.1 and Fig. 18",
		Look: experiments.Look{Read: experiments.ReadPaper, At: "§4.2.1, and §4 for the TCP",
			Quote: "TCP begins to suffer timeouts when the number of servers exceeds 10 … a state-of-the-art TCP New Reno " +
				"(w/ SACK) implementation",
			Turns: "classic with -sack (25 servers), thinks=1s, receive_windows=17520, buffers=400 turn it; delack=off, " +
				"buffers=200 and services do not"},
		Measured: experiments.MeasuredWithin(judge.Drawn(published, seed, s.begins),
			"servers at which one query in ten has a timeout"),
		Expected: experiments.PrintedBound(experiments.Above(10, "servers").OrDiffers(experiments.Above(1, ""))),
	}, steepness}
}

// changed are the laws of what is changed one by one.
func (s *study) changed() []experiments.Claim {
	changes := judge.Where(s.kind("change"), func(r *Row) bool { return r.DelAck == s.DelAck })
	without, other, by := math.NaN(), 0.0, ""
	for _, g := range judge.Along(changes, func(r *Row) string { return r.Change }) {
		if at := s.begins(g.Rows); g.Key == noSACK {
			without = at
		} else if at > other {
			other, by = at, g.Key
		}
	}
	sack := law("no-sack", "found here, in the table of changes", judge.Say("no other change moves the onset farther up "+
		"than taking SACK away, with ACKs that wait %v", s.DelAck))
	sack.Measured = judge.Known("%v servers without SACK, at most %v with it, by the change \"%s\"", without, other, by)
	sack.Expected = experiments.Whether(without >= other, "the most servers of all changes")
	if without != without {
		sack.Unless = "the plan changes nothing one by one"
	}
	fits := judge.Where(s.rows, func(r *Row) bool {
		return r.Window > 0 && r.Servers <= s.Buffer/((r.Window+1447)/1448)
	})
	dropped := judge.Sum(fits, func(r *Row) int { return int(r.Dropped) })
	type setting struct {
		timers  string
		servers int
	}
	windows := law("windows-fit", "definition of a drop-tail queue",
		"nothing is lost as long as the receive windows of all servers fit into the port together")
	windows.Measured = judge.Said("%d packets dropped in %d queries of %d settings", dropped,
		judge.Sum(fits, func(r *Row) int { return r.Queries }),
		len(judge.By(fits, func(r *Row) setting { return setting{r.Timers, r.Servers} })))
	windows.Expected = experiments.Whether(dropped == 0 && len(fits) > 0, "none")
	if len(s.Windows) == 0 {
		windows.Unless = "the plan has no receive windows"
	}
	shorter := judge.Count(s.classics, func(r *Row) bool { return r.Timed > 0 && r.Least < r.Floor })
	late := int(judge.Sum(s.classics, timed))
	return []experiments.Claim{sack, windows, {
		Name: "timed-out", Class: experiments.Check, Source: "RFC 6298 §5", Tag: experiments.Standard,
		Text:     "a query with a timeout takes at least the floor",
		Measured: judge.Said("%d cells have a shorter one; %d queries with a timeout", shorter, late),
		Expected: experiments.Whether(shorter == 0 && late > 0, "none"),
	}}
}

// fine are the laws of finer floors.
func (s *study) fine() []experiments.Claim {
	type point struct {
		delack  string
		floor   time.Duration
		servers int
	}
	of := func(rows []Row, floor time.Duration) []Row {
		return judge.Where(rows, func(r *Row) bool { return r.Floor == floor })
	}
	ratio, at := math.NaN(), point{}
	past := judge.Where(s.classics, func(r *Row) bool { return r.Servers > 20 || r.Servers == s.most })
	for _, g := range judge.By(past, func(r *Row) point { return point{r.DelAck, 0, r.Servers} }) {
		if x := each(of(g.Rows, s.Fine)) / each(of(g.Rows, s.coarse())); !(x <= ratio) {
			ratio, at = x, g.Key
		}
	}
	worst := law("fine-ratio", "the distance of the curves in Fig. 18 of Alizadeh et al.", judge.Say("past 20 servers a "+
		"query at a floor of %v takes a fifth of the time at %v, or less", s.Fine, s.coarse()))
	worst.Basis = "set for this project, beforehand"
	worst.Measured = judge.Said("%v, worst, at %d servers, delayed ACKs %s", ratio, at.servers, at.delack).Judging(ratio)
	worst.Expected = experiments.AtMost(0.2, "").OrDiffers(experiments.AtMost(0.5, ""))

	coarse := s.the(s.coarse(), s.DelAck)
	alone := s.goodput(each(asking(coarse, s.alone)))
	left := 100 * s.goodput(each(asking(coarse, s.most))) / alone
	collapse := law("collapse",
		"computed for this project; what Vasudevan et al. printed is judged in their own setup, by study cmu",
		judge.Say("at a floor of %v goodput collapses, to what a query has that waits once and then sends", s.coarse()))
	collapse.Basis = "set for this project"
	collapse.Measured = judge.Said("%v %% left at %d servers, %v %% lost", left, s.most, 100-left).Judging(left)
	collapse.Expected = experiments.WithinPercent(100*s.wire(s.most)/(s.wire(s.most)+judge.Ms(s.coarse())), 10,
		"% left").OrDiffers(experiments.Below(collapsed, "%"))
	return []experiments.Claim{worst, collapse}
}

func (s *study) gvisor() experiments.Claim {
	of := func(floor time.Duration) []Row {
		return judge.Where(s.kind("gvisor"), func(r *Row) bool { return r.Floor == floor })
	}
	own, fine := of(gvisorFloor), of(s.Enough)
	alone := s.goodput(each(asking(fine, s.alone)))
	coarse, least := 100*(s.goodput(each(asking(own, s.most)))/alone), math.NaN()
	for _, g := range judge.Along(fine, servers) {
		if x := 100 * (s.goodput(each(g.Rows)) / alone); g.Key <= s.EnoughServers && !(x >= least) {
			least = x
		}
	}
	c := law("gvisor", "Vasudevan et al., SIGCOMM 2009, of other stacks: 1 ms, 16 servers", judge.Say("gVisor's own TCP "+
		"without RACK collapses at its floor of %v, and at one of %v not for up to %d servers", gvisorFloor, s.Enough,
		s.EnoughServers))
	c.Measured = judge.Known("%v %% of one server's goodput at %d servers; %v %%, worst, up to %d", coarse, s.most, least,
		s.EnoughServers)
	c.Expected = experiments.Whether(coarse < collapsed && least >= collapsed,
		"less than half of one server's; at least half").OrDiffers(
		experiments.Whether(coarse < collapsed || least >= collapsed, "one of the two"))
	if len(own) == 0 || len(fine) == 0 {
		c.Unless = judge.Say("gVisor's own TCP does not run with floors of %v and %v", gvisorFloor, s.Enough)
	}
	return c
}

// next returns the first number of servers from n on.
func (s *study) next(n int) int {
	for _, x := range s.Servers {
		if x >= n {
			return x
		}
	}
	return s.most
}

func (s *study) variantsTable() experiments.Table {
	t := experiments.Table{Name: "variants",
		Title: judge.Say("Where timeouts begin, and how fast they rise, if one thing is changed: floor %v", s.coarse()),
		Columns: []string{"changed", "ACKs wait", "servers at which one query in ten has a timeout", "95 % from", "to",
			"servers at nine in ten, relative", "goodput left at most servers, %"}}
	type change struct{ delack, what string }
	shown := judge.Where(s.rows, func(r *Row) bool {
		return r.Floor == s.coarse() && (r.Kind == "classic" || r.Kind == "change" || r.Kind == "service")
	})
	for _, g := range judge.By(shown, func(r *Row) change { return change{r.DelAck, r.Change} }) {
		in := judge.Drawn(g.Rows, seed, s.begins)
		t.Add(g.Key.what, g.Key.delack, in.Value, in.Lo, in.Hi, s.rises(g.Rows),
			100*each(asking(g.Rows, s.alone))/each(asking(g.Rows, s.most)))
	}
	return t
}

func (s *study) figure() figure.Figure {
	f := figure.Figure{
		Name: "incast-1-timeouts", Title: fmt.Sprintf("Incast, ACKs wait %s: queries with a timeout", s.DelAck),
		Caption: "The second panel of Fig. 18. Published for 300 ms and 10 ms: timeouts of TCP begin above 10 servers.",
		X:       figure.Axis{Label: "servers"}, Y: figure.Axis{Label: "share of queries with a timeout", Hi: 1},
		Marks: []figure.Mark{{Label: "10 servers", At: 10, Vertical: true}},
	}
	for _, floor := range s.Floors {
		f.Series = append(f.Series, judge.Curve(judge.Say("floor %v", floor), figure.Line, s.the(floor, s.DelAck),
			func(r *Row) float64 { return float64(r.Servers) },
			func(rows []Row) stat.Interval { return overRows(rows, share) }))
	}
	return f
}

func (s *study) stacksTable() experiments.Table {
	t := experiments.Table{Name: "stacks", Columns: []string{"timers"},
		Title: fmt.Sprintf("Mean time of a query, and the share of queries with a timeout, in %%: %d bytes in all", s.Bytes)}
	some := []int{s.alone, s.next(10), s.next(20), s.most}
	for _, n := range some {
		t.Columns = append(t.Columns, fmt.Sprintf("ms, n = %d", n), "timeouts, %")
	}
	shown := judge.Where(s.rows, func(r *Row) bool {
		return r.Kind == "classic" || r.Kind == "other" ||
			r.Kind == "gvisor"
	})
	for _, g := range judge.By(shown, func(r *Row) string { return r.Timers }) {
		row := []any{g.Key}
		for _, n := range some {
			row = append(row, each(asking(g.Rows, n)), 100*share(asking(g.Rows, n)))
		}
		t.Add(row...)
	}
	return t
}

func (s *study) causesTable() experiments.Table {
	t := experiments.Table{Name: "causes", Columns: append([]string{"ACKs wait", "servers", "the timer alone"},
		s.Repairs...), Title: judge.Say("Queries with a timeout where other means repair too, in %%, floor %v: a probe "+
		"(+tlp) detects lost tails, RACK lost retransmissions", s.coarse())}
	type point struct {
		delack  string
		servers int
	}
	shown := judge.Where(s.rows, func(r *Row) bool {
		return slices.Contains(s.Repaired, r.Servers) && (r.Kind == "classic" && r.Floor == s.coarse() || r.Kind == "repair")
	})
	for _, g := range judge.By(shown, func(r *Row) point { return point{r.DelAck, r.Servers} }) {
		row := []any{g.Key.delack, g.Key.servers}
		for _, repair := range append([]string{""}, s.Repairs...) {
			row = append(row, 100*share(judge.Where(g.Rows, func(r *Row) bool { return r.Repair == repair })))
		}
		t.Add(row...)
	}
	return t
}

func (s *study) toldTable() experiments.Table {
	t := experiments.Table{Name: "told", Columns: []string{"servers"}, Title: judge.Say("Mean time of a query where ACKs "+
		"wait %v, in ms: with timestamps and SACK, which reveal spurious timeouts, and without either", s.DelAck)}
	floors := judge.Keys(judge.By(s.kind("blind"), func(r *Row) time.Duration { return r.Floor }))
	for _, f := range floors {
		t.Columns = append(t.Columns, judge.Say("floor %v, with", f), judge.Say("floor %v, without", f))
	}
	shown := judge.Where(s.rows, func(r *Row) bool {
		return r.DelAck == s.DelAck && r.Servers >= s.enoughAt && (r.Kind == "classic" || r.Kind == "blind")
	})
	for _, g := range judge.Along(shown, servers) {
		row := []any{g.Key}
		for _, f := range floors {
			for _, kind := range []string{"classic", "blind"} {
				row = append(row, each(judge.Where(g.Rows, func(r *Row) bool { return r.Floor == f && r.Kind == kind })))
			}
		}
		t.Add(row...)
	}
	return t
}
