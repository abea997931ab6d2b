package incast

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

// The bands, from what was published.
const (
	leastFloor, mostFloor = 8.0, 8.8 // ms: what a query takes that meets no loss
	firstOnset, lastOnset = 8, 16    // servers at which timeouts begin: above 10 in the paper
	onsetShare            = 0.1      // of queries: what counts as the beginning
	fineRatio             = 0.2      // of the mean time past 20 servers, of the fine floor to the coarse one
	collapse              = 0.5      // of the goodput of one server
	fineEnough            = time.Millisecond
	fineServers           = 16    // for which a floor of fineEnough is said to suffice
	smallLoss, largeLoss  = 1, 25 // % of the goodput: what is small, though noticeable
)

// group is all cells of a TCP and a number of servers.
type group struct {
	cells    []Cell
	mean     stat.Interval // ms
	share    stat.Interval // of queries with a timeout
	least    time.Duration // of the queries with a timeout; 0 without any
	queries  int
	timed    int
	timeouts uint64
	spurious uint64
	rexmits  uint64
	dropped  uint64
}

type key struct {
	timers  string
	servers int
}

func groups(cells []Cell) map[key]*group {
	all := map[key]*group{}
	for _, c := range cells {
		k := key{c.Timers, c.Servers}
		g := all[k]
		if g == nil {
			g = &group{}
			all[k] = g
		}
		g.cells = append(g.cells, c)
		g.queries, g.timed = g.queries+c.Queries, g.timed+c.Timed
		g.timeouts, g.spurious, g.rexmits, g.dropped = g.timeouts+c.Timeouts, g.spurious+c.Spurious, g.rexmits+c.Rexmits, g.dropped+c.Dropped
		if c.Timed > 0 && (g.least == 0 || c.Least < g.least) {
			g.least = c.Least
		}
	}
	for _, g := range all {
		g.mean = bySeed(g.cells, func(c Cell) float64 { return float64(c.Took) / 1e6 })
		g.share = bySeed(g.cells, func(c Cell) float64 { return float64(c.Timed) })
	}
	return all
}

// bySeed is a sum over the number of queries, with its interval by seeds.
func bySeed(cells []Cell, of func(Cell) float64) stat.Interval {
	seeds := make([][]Cell, len(cells))
	for i := range cells {
		seeds[i] = cells[i : i+1]
	}
	return stat.Bootstrap(seeds, 1, func(all []Cell) float64 {
		sum, n := 0.0, 0
		for _, c := range all {
			sum, n = sum+of(c), n+c.Queries
		}
		return sum / float64(n)
	})
}

// goodput is that of a query of mean time, in Mbit/s.
func (p *Plan) goodput(ms float64) float64 { return 8 * float64(p.Octets) / ms / 1e3 }

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	all := groups(cells)
	out := &experiments.Outcome{}
	p.tables(out, all)
	p.figures(out, all)
	p.claims(out, all)
	out.Notes = append(out.Notes,
		"The tick of expiry alone makes a timer late by up to a tick: a floor of 10 ms on a tick of 500 ms is over after 10 to 510 ms. It is the clock, "+
			"by G in RTO = SRTT + max(G, 4·RTTVAR), that adds a tick to that.",
		"The testbed of the paper ran another stack on real hosts, whose receive windows, interrupts and delays between the hosts are not known: "+
			"its curves are compared by where they begin and by their ratio, not point by point. DCTCP itself is not part of this project, and none of its figures is claimed.",
		"A timeout whose segment had arrived counts as one too. With ACKs that wait longer than the floor, a server whose answer ends with an "+
			"odd segment retransmits it in vain: see the duplicates reported.")
	return out, nil
}

func (p *Plan) tables(out *experiments.Outcome, all map[key]*group) {
	data := experiments.Table{
		Name: "queries", Title: "Queries by TCP and number of servers", Data: true,
		Columns: []string{"timers", "servers", "queries", "mean, ms", "95 % from", "to", "with a timeout", "timeouts", "sent again", "duplicates reported", "dropped at the port"},
	}
	shown := experiments.Table{
		Name: "stacks", Title: fmt.Sprintf("Mean time of a query, and the share of queries with a timeout, in %%: %d octets in all", p.Octets),
		Columns: []string{"timers"},
	}
	var at []int
	for _, n := range []int{p.Servers[0], 10, 20, p.Servers[len(p.Servers)-1]} {
		i, _ := slices.BinarySearch(p.Servers, n)
		if n := p.Servers[min(i, len(p.Servers)-1)]; !slices.Contains(at, n) {
			at = append(at, n)
			shown.Columns = append(shown.Columns, fmt.Sprintf("ms, n = %d", n), "timeouts, %")
		}
	}
	ticks := experiments.Table{
		Name: "ticks", Title: fmt.Sprintf("A floor of %v on coarser ticks", p.Fine),
		Columns: []string{"tick of", "tick, ms", "servers", "mean, ms", "95 % from", "to", "with a timeout, %", "shortest of these, ms", "goodput, Mbit/s"},
	}
	for _, s := range p.subjects() {
		for _, n := range s.servers {
			g := all[key{s.text, n}]
			var told any = int(g.spurious)
			if s.gvisor != nil {
				told = "" // it does not count them
			}
			data.Add(s.text, n, g.queries, g.mean.Value, g.mean.Lo, g.mean.Hi, g.timed, int(g.timeouts), int(g.rexmits), told, int(g.dropped))
		}
		if len(s.servers) < len(p.Servers) || s.varied {
			continue
		}
		row := []any{s.text}
		for _, n := range at {
			g := all[key{s.text, n}]
			row = append(row, g.mean.Value, 100*g.share.Value)
		}
		shown.Add(row...)
	}
	for _, clock := range []bool{false, true} {
		what := "expiry alone"
		if clock {
			what = "clock and expiry"
		}
		for _, tick := range p.Ticks {
			for _, n := range p.Ticked {
				g := all[key{p.ticked(tick, clock), n}]
				ticks.Add(what, float64(tick)/1e6, n, g.mean.Value, g.mean.Lo, g.mean.Hi, 100*g.share.Value, float64(g.least)/1e6, p.goodput(g.mean.Value))
			}
		}
	}
	bound := experiments.Table{
		Name: "bound", Title: "Goodput of a query that waits for one timeout and then sends all, and what queries reached, Mbit/s",
		Columns: []string{"floor, ms", "ACKs wait", "wait, then send", "all queries, most servers", "best of those with a timeout"},
	}
	for _, delack := range p.DelAcks {
		for _, floor := range p.Floors {
			most := p.Servers[len(p.Servers)-1]
			g := all[key{p.timers(floor, delack), most}]
			best := 0.0
			if g.least > 0 {
				best = p.goodput(float64(g.least) / 1e6)
			}
			bound.Add(float64(floor)/1e6, delack, p.bound(floor), p.goodput(g.mean.Value), best)
		}
	}
	out.Tables = append(out.Tables, shown, p.begins(all), p.causes(all), p.told(all), ticks, bound, data)
}

// begins is the table of where timeouts begin.
func (p *Plan) begins(all map[key]*group) experiments.Table {
	t := experiments.Table{
		Name: "windows", Title: fmt.Sprintf("Where timeouts begin, by what the client offers and what the port holds, floor %v", p.coarse()),
		Columns: []string{"window, octets", "port, packets", "ACKs wait", "servers whose windows the port holds", "servers at which one query in ten has a timeout"},
	}
	const own = "1 MiB and more"
	for _, delack := range p.DelAcks {
		for _, window := range p.Windows {
			t.Add(window, p.Buffer, delack, p.fit(window), p.onset(all, p.windowed(window, delack)))
		}
		t.Add(own, p.Buffer, delack, 0, p.onset(all, p.timers(p.coarse(), delack)))
		for _, buffer := range p.Buffers {
			t.Add(own, buffer, delack, 0, p.onset(all, p.buffered(buffer, delack)))
		}
	}
	return t
}

// causes is the table of what else would have repaired what had a timeout.
func (p *Plan) causes(all map[key]*group) experiments.Table {
	t := experiments.Table{
		Name: "causes", Title: fmt.Sprintf("Queries with a timeout where others repair too, in %%, floor %v: a probe (+tlp) finds lost tails, RACK retransmissions that are lost again", p.coarse()),
		Columns: append([]string{"ACKs wait", "servers", "the timer alone"}, p.Repairs...),
	}
	for _, delack := range p.DelAcks {
		for _, n := range p.Repaired {
			row := []any{delack, n, 100 * all[key{p.timers(p.coarse(), delack), n}].share.Value}
			for _, repair := range p.Repairs {
				row = append(row, 100*all[key{p.repaired(repair, delack), n}].share.Value)
			}
			t.Add(row...)
		}
	}
	return t
}

// told is the table of what it costs to be told of timeouts in vain.
func (p *Plan) told(all map[key]*group) experiments.Table {
	t := experiments.Table{
		Name: "told", Title: fmt.Sprintf("Mean time of a query where ACKs wait %s, in ms: with timestamps and SACK, which tell of timeouts in vain, and without either", p.DelAcks[0]),
		Columns: []string{"servers"},
	}
	for _, floor := range p.blindFloors() {
		t.Columns = append(t.Columns, fmt.Sprintf("floor %v, with", floor), fmt.Sprintf("floor %v, without", floor))
	}
	for _, n := range p.most() {
		row := []any{n}
		for _, floor := range p.blindFloors() {
			row = append(row, all[key{p.timers(floor, p.DelAcks[0]), n}].mean.Value, all[key{p.blind(floor), n}].mean.Value)
		}
		t.Add(row...)
	}
	return t
}

// bound is the goodput of a query that takes as long as its octets and one floor, in Mbit/s. One that sends meanwhile is better.
func (p *Plan) bound(floor time.Duration) float64 {
	return p.goodput(8e3*float64(p.Octets)/float64(p.Rate) + float64(floor)/1e6)
}

// curve is a series over the numbers of servers.
func (p *Plan) curve(all map[key]*group, name, timers string, of func(*group) stat.Interval) figure.Series {
	s := figure.Series{Name: name, Kind: figure.Line}
	for _, n := range p.Servers {
		in := of(all[key{timers, n}])
		s.X, s.Y = append(s.X, float64(n)), append(s.Y, in.Value)
		s.Lo, s.Hi = append(s.Lo, in.Lo), append(s.Hi, in.Hi)
	}
	return s
}

func (p *Plan) figures(out *experiments.Outcome, all map[key]*group) {
	type line struct{ name, timers string }
	panels := func(name, title string, lines []line, caption string) {
		time := figure.Figure{
			Name: name + "-time", Title: title + ": mean time of a query",
			X: figure.Axis{Label: "servers"}, Y: figure.Axis{Label: "mean time of a query, ms", Log: true},
			Marks:   []figure.Mark{{Label: "8 ms, the least", At: 8e3 * float64(p.Octets) / float64(p.Rate)}, {Label: "10 servers", At: 10, Vertical: true}},
			Caption: caption,
		}
		share := figure.Figure{
			Name: name + "-timeouts", Title: title + ": queries with a timeout",
			X: figure.Axis{Label: "servers"}, Y: figure.Axis{Label: "share of queries with a timeout", Lo: 0, Hi: 1},
			Marks:   []figure.Mark{{Label: "10 servers", At: 10, Vertical: true}},
			Caption: "The second panel of Fig. 18. Published for 300 ms and 10 ms: timeouts of TCP begin above 10 servers.",
		}
		for _, l := range lines {
			time.Series = append(time.Series, p.curve(all, l.name, l.timers, func(g *group) stat.Interval { return g.mean }))
			share.Series = append(share.Series, p.curve(all, l.name, l.timers, func(g *group) stat.Interval { return g.share }))
		}
		out.Figures = append(out.Figures, time, share)
	}
	for i, delack := range p.DelAcks {
		var lines []line
		for _, floor := range p.Floors {
			lines = append(lines, line{fmt.Sprintf("floor %v", floor), p.timers(floor, delack)})
		}
		how := "ACKs wait " + delack
		if delack == "off" {
			how = "no ACK waits"
		}
		panels(fmt.Sprintf("incast-%d", i+1), "Incast, "+how, lines,
			"Fig. 18 of the DCTCP paper has TCP with a floor of 300 ms and of 10 ms. Look at the distance of the curves past 20 servers.")
	}
	if len(p.Others) > 0 {
		lines := []line{{"2010, floor " + p.coarse().String(), p.timers(p.coarse(), p.DelAcks[0])}}
		for _, o := range p.Others {
			lines = append(lines, line{o.Text, o.Text})
		}
		for _, g := range p.gvisors() {
			lines = append(lines, line{g.String(), g.String()})
		}
		panels("incast-stacks", "Incast today", lines, "RACK and TLP repair most of what was left to the timer, but not where too few packets get through to be acknowledged.")
	}
	if len(p.Windows) > 0 {
		lines := []line{{"the engine's own", p.timers(p.coarse(), p.DelAcks[0])}}
		for _, window := range p.Windows {
			lines = append(lines, line{fmt.Sprintf("%d octets", window), p.windowed(window, p.DelAcks[0])})
		}
		panels("incast-windows", fmt.Sprintf("Incast by receive window, floor %v", p.coarse()), lines,
			"As long as the windows of all servers fit into the port, nothing is lost, whatever the timers are. Where they begin not to fit, timeouts begin.")
	}
	f := figure.Figure{
		Name: "incast-ticks", Title: fmt.Sprintf("A floor of %v is worth as much as its tick", p.Fine),
		X: figure.Axis{Label: "tick, ms", Log: true}, Y: figure.Axis{Label: "mean time of a query with a timeout, at least, ms", Log: true},
		Caption: "The shortest query with a timeout, at each tick. Where the tick is coarser than the floor, the tick rules: the law is max(floor, tick).",
	}
	for _, clock := range []bool{false, true} {
		s := figure.Series{Name: "tick of expiry alone", Kind: figure.Line}
		if clock {
			s.Name = "tick of clock and expiry"
		}
		for _, tick := range p.Ticks {
			if least := p.leastTimed(all, p.ticked(tick, clock), p.Ticked); least > 0 {
				s.X, s.Y = append(s.X, float64(tick)/1e6), append(s.Y, float64(least)/1e6)
			}
		}
		if len(s.X) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	if len(f.Series) > 0 {
		f.Y.Label = "shortest query with a timeout, ms"
		out.Figures = append(out.Figures, f)
	}
}

// leastTimed is the shortest query with a timeout; 0 without any.
func (p *Plan) leastTimed(all map[key]*group, timers string, servers []int) (least time.Duration) {
	for _, n := range servers {
		if g := all[key{timers, n}]; g.timed > 0 && (least == 0 || g.least < least) {
			least = g.least
		}
	}
	return least
}

// onset is the least number of servers at which so many queries have a timeout; 0 is none.
func (p *Plan) onset(all map[key]*group, timers string) int {
	for _, n := range p.Servers {
		if all[key{timers, n}].share.Value >= onsetShare {
			return n
		}
	}
	return 0
}

func (p *Plan) claims(out *experiments.Outcome, all map[key]*group) {
	const paper = "Alizadeh et al., DCTCP, SIGCOMM 2010, Fig. 18"
	coarse, one, most := p.coarse(), p.Servers[0], p.Servers[len(p.Servers)-1]
	first := p.timers(coarse, p.DelAcks[0])
	alone := all[key{first, one}].mean
	out.Claim(experiments.Claim{
		Name: "least-time", Text: "a query that meets no loss takes as long as its octets on the wire", Published: "8 ms", Source: paper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredWithin(alone, "ms").Judging(alone.Value), Expected: experiments.Between(leastFloor, mostFloor, "").Saying("8.0 to 8.8 ms with headers"),

		Otherwise: "one server alone loses packets, or waits",
	})
	for _, delack := range p.DelAcks {
		n := p.onset(all, p.timers(coarse, delack))
		verdict := experiments.NotReproduced
		if n > 0 {
			verdict = experiments.Judged(float64(n), firstOnset, lastOnset, 2, float64(most))
		}
		out.Claim(experiments.Claim{
			Name: "onset-" + delack, Text: fmt.Sprintf("timeouts begin above 10 servers at a floor of %v, delayed ACKs %s", coarse, delack),
			Published: "above 10 servers", Source: paper, Tag: experiments.FromPrint,
			Measured: experiments.Measured(float64(n), "servers"), Expected: experiments.Decided(verdict, fmt.Sprintf("one query in ten has a timeout first at %d to %d servers", firstOnset, lastOnset)),

			Otherwise: p.onsetWhy(all, delack),
		})
	}
	p.claimWindows(out, all)
	p.claimFloors(out, all)
	for _, delack := range p.DelAcks {
		worst, at := p.worstRatio(all, p.timers(p.Fine, delack), p.timers(coarse, delack), 0)
		out.Claim(experiments.Claim{
			Name: "fine-ratio-" + delack, Text: fmt.Sprintf("past 20 servers a query takes a fifth of the time, or less, at %v of that at %v, delayed ACKs %s", p.Fine, coarse, delack),
			Source: "band set beforehand for the distance of the curves in Fig. 18 of Alizadeh et al.", Tag: experiments.Computed, Measured: experiments.MeasuredText("%s, worst, at %d servers", experiments.Number(worst), at).Judging(worst),
			Expected:  experiments.Between(0, fineRatio, "").OrDiffers(experiments.Between(0, 0.5, "")).Saying("at most 0.2"),
			Otherwise: p.ratioWhy(all, delack, alone.Value),
		})
	}
	full := p.goodput(alone.Value)
	lost := p.goodput(all[key{first, most}].mean.Value) / full
	out.Claim(experiments.Claim{
		Name: "collapse", Text: fmt.Sprintf("at a floor of %v, goodput collapses", coarse), Published: "up to 90 % lost",
		Source: "Vasudevan et al., SIGCOMM 2009, abstract", Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s %% lost at %d servers", experiments.Number(100*(1-lost)), most), Expected: experiments.Whether(lost < collapse, "more than half of one server's"),

		Otherwise: "the collapse is gone",
	})
	for _, delack := range p.DelAcks {
		least, floorAt, serversAt := math.Inf(1), time.Duration(0), 0
		for _, floor := range p.Floors {
			for _, n := range p.Servers {
				if got := p.goodput(all[key{p.timers(floor, delack), n}].mean.Value) / full; floor <= fineEnough && n <= fineServers && got < least {
					least, floorAt, serversAt = got, floor, n
				}
			}
		}
		if floorAt == 0 {
			continue
		}
		out.Claim(experiments.Claim{
			Name: "no-collapse-" + delack, Text: fmt.Sprintf("a floor of 1 ms or less avoids the collapse for up to 16 servers, delayed ACKs %s", delack),
			Published: "1 ms, 16 servers", Source: "Vasudevan et al., SIGCOMM 2009, abstract", Tag: experiments.FromPrint,
			Measured:  experiments.MeasuredText("%s %% of one server's goodput, worst, at %v and %d servers", experiments.Number(100*least), floorAt, serversAt),
			Expected:  experiments.Whether(least >= collapse, "at least half of one server's"),
			Otherwise: p.collapseWhy(all, delack, floorAt, full),
		})
	}
	p.claimDelAck(out, all)
	p.claimTicks(out, all)
	p.claimGVisor(out, all)
}

// collapseWhy says why a floor that is fine enough does not avoid the collapse; full is the goodput of one server.
func (p *Plan) collapseWhy(all map[key]*group, delack string, floor time.Duration, full float64) string {
	if delack != p.DelAcks[0] || delack == "off" {
		return "what is lost at a fine floor is not the wait"
	}
	n := p.upTo(fineServers)
	return delackWhy + fmt.Sprintf("Without timestamps and SACK, and so without being told, it is %s %% at %d servers",
		experiments.Number(100*p.goodput(all[key{p.blind(floor), n}].mean.Value)/full), n)
}

const delackWhy = "an ACK that waits longer than the floor makes the timer expire in vain; by timestamps or DSACK the sender takes that back, " +
	"the marks of what was really lost behind it too, which waits for the next timeout then. "

// worstRatio is the greatest ratio of mean times past 20 servers, of one TCP to another, less a time that both take.
func (p *Plan) worstRatio(all map[key]*group, fine, coarse string, less float64) (worst float64, at int) {
	for _, n := range p.Servers {
		if n <= 20 && n != p.Servers[len(p.Servers)-1] {
			continue
		}
		ratio := (all[key{fine, n}].mean.Value - less) / (all[key{coarse, n}].mean.Value - less)
		if ratio > worst {
			worst, at = ratio, n
		}
	}
	return worst, at
}

// claimDelAck claims that the delayed ACK costs little where it waits longer than the floor.
func (p *Plan) claimDelAck(out *experiments.Outcome, all map[key]*group) {
	if len(p.DelAcks) < 2 || !slices.Contains(p.Floors, fineEnough) {
		return
	}
	n := p.upTo(fineServers)
	with, without := all[key{p.timers(fineEnough, p.DelAcks[0]), n}].mean.Value, all[key{p.timers(fineEnough, p.DelAcks[1]), n}].mean.Value
	cost := 100 * (1 - without/with)
	blind := 100 * (1 - without/all[key{p.blind(fineEnough), n}].mean.Value)
	out.Claim(experiments.Claim{
		Name: "delack-cost", Text: fmt.Sprintf("ACKs that wait %s cost little at a floor of %v", p.DelAcks[0], fineEnough), Published: "small, though noticeable",
		Source: "Vasudevan et al., SIGCOMM 2009, summary", Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s %% of the goodput at %d servers", experiments.Number(cost), n).Judging(cost), Expected: experiments.Between(smallLoss, largeLoss, "").OrDiffers(experiments.Between(0, 75, "")).Saying("1 to 25 %% of the goodput"),

		Otherwise: delackWhy + fmt.Sprintf("Without timestamps and SACK, and so without being told, they cost %s %%", experiments.Number(blind)),
	})
}

// onsetWhy says why timeouts begin elsewhere.
func (p *Plan) onsetWhy(all map[key]*group, delack string) string {
	why := "at fewer servers too the port drops what no duplicate ACK can tell: tails of answers, and retransmissions, whose loss RFC 6675 does not see"
	if len(p.Repairs) > 0 && len(p.Repaired) > 0 {
		share := func(text string) string {
			timed, queries := 0, 0
			for _, n := range p.Repaired {
				g := all[key{text, n}]
				timed, queries = timed+g.timed, queries+g.queries
			}
			return experiments.Number(100 * float64(timed) / float64(queries))
		}
		why += fmt.Sprintf(". From %d to %d servers %s %% of the queries have a timeout", p.Repaired[0], p.Repaired[len(p.Repaired)-1], share(p.timers(p.coarse(), delack)))
		for _, repair := range p.Repairs {
			why += fmt.Sprintf(", with %s %s %%", repair, share(p.repaired(repair, delack)))
		}
	}
	for _, window := range p.Windows {
		why += fmt.Sprintf("; where the client offers %d octets, timeouts begin at %s", window, atServers(p.onset(all, p.windowed(window, delack))))
	}
	for _, buffer := range p.Buffers {
		why += fmt.Sprintf("; where the port holds %d packets, as one may that shares the memory of the switch, at %s", buffer, atServers(p.onset(all, p.buffered(buffer, delack))))
	}
	return why + "; what the paper's client offered is not known"
}

// atServers says at how many servers timeouts begin.
func atServers(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("%d servers", n)
}

// ratioWhy says why the fine floor is not worth as much; alone is what a query takes that loses nothing, in ms.
func (p *Plan) ratioWhy(all map[key]*group, delack string, alone float64) string {
	if delack == p.DelAcks[0] && delack != "off" {
		worst, at := p.worstRatio(all, p.blind(p.Fine), p.blind(p.coarse()), 0)
		return delackWhy + fmt.Sprintf("Without timestamps and SACK, and so without being told, it is %s, worst, at %d servers", experiments.Number(worst), at)
	}
	worst, at := p.worstRatio(all, p.timers(p.Fine, delack), p.timers(p.coarse(), delack), alone)
	return fmt.Sprintf("a mean is that of queries without a timeout too, and what the octets take on the wire is in both. Of the time beyond that, it is %s, worst, at %d servers",
		experiments.Number(worst), at)
}

// fit is how many servers' windows the port holds all at once, each in packets of 1500 octets.
func (p *Plan) fit(window int) int {
	const mss = 1448
	return p.Buffer / ((window + mss - 1) / mss)
}

// claimWindows claims that nothing is lost as long as all windows fit into the port.
func (p *Plan) claimWindows(out *experiments.Outcome, all map[key]*group) {
	if len(p.Windows) == 0 {
		return
	}
	fit, dropped, settings := 0, uint64(0), 0
	for _, window := range p.Windows {
		for _, delack := range p.DelAcks {
			for _, n := range p.Servers {
				if n <= p.fit(window) {
					g := all[key{p.windowed(window, delack), n}]
					fit, dropped, settings = fit+g.queries, dropped+g.dropped, settings+1
				}
			}
		}
	}
	out.Claim(experiments.Claim{
		Name: "windows-fit", Text: "nothing is lost as long as the receive windows of all servers fit into the port together", Source: "definition of a drop-tail queue", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d packets dropped in %d queries of %d settings", dropped, fit, settings), Expected: experiments.Whether(dropped == 0 && fit > 0, "none"),

		Otherwise: "servers send beyond the window",
	})
}

// claimFloors claims that no query with a timeout is shorter than the floor.
func (p *Plan) claimFloors(out *experiments.Outcome, all map[key]*group) {
	timed, short := 0, 0
	for _, delack := range p.DelAcks {
		for _, floor := range p.Floors {
			for _, n := range p.Servers {
				for _, c := range all[key{p.timers(floor, delack), n}].cells {
					timed += c.Timed
					if c.Timed > 0 && c.Least < floor {
						short++
					}
				}
			}
		}
	}
	out.Claim(experiments.Claim{
		Name: "timed-out", Text: "a query with a timeout takes the floor, at least", Source: "RFC 6298 §5", Tag: experiments.Standard,
		Measured: experiments.MeasuredText("%d cells have a shorter one; %d queries with a timeout", short, timed), Expected: experiments.Whether(short == 0 && timed > 0, "none"),

		Otherwise: "a segment of the query before it timed out, which was not acknowledged yet",
	})
}

// claimTicks claims that the tick rules where it is coarser than the floor.
func (p *Plan) claimTicks(out *experiments.Outcome, all map[key]*group) {
	for _, tick := range p.Ticks {
		if tick <= p.Fine {
			continue
		}
		text := p.ticked(tick, true)
		least, timed := p.leastTimed(all, text, p.Ticked), 0
		for _, n := range p.Ticked {
			timed += all[key{text, n}].timed
		}
		out.Claim(experiments.Claim{
			Name: fmt.Sprintf("tick-%dms", tick.Milliseconds()), Text: fmt.Sprintf("a floor of %v on a clock and a tick of %v behaves as one of %v or more", p.Fine, tick, tick),
			Source: "RFC 6298 §2: RTO = SRTT + max(G, K·RTTVAR)", Tag: experiments.Standard,
			Measured: experiments.MeasuredText("shortest of %d queries with a timeout: %v", timed, least.Round(10*time.Microsecond)), Expected: experiments.Whether(timed > 0 && least >= tick, "at least %v", tick),

			Otherwise: "G does not count in the timeout",
		})
	}
}
