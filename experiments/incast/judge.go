package incast

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/wheel/stat"
)

// The bands, from the published figures.
const (
	onsetShare           = 0.1 // of queries with a timeout: where timeouts begin
	fineRatio            = 0.2 // of mean times past 20 servers, fine floor to coarse floor
	collapse             = 0.5 // of the goodput of one server
	fineEnough           = time.Millisecond
	fineServers          = 16    // up to which a floor of fineEnough avoids the collapse
	smallLoss, largeLoss = 1, 25 // % of the goodput: "small, though noticeable"
)

const (
	dctcp     = "Alizadeh et al., DCTCP, SIGCOMM 2010, Fig. 18"
	vasudevan = "Vasudevan et al., SIGCOMM 2009, abstract"
)

// group is all cells of a TCP and a number of servers.
type group struct {
	cells           []Cell
	mean            stat.Interval // time of a query, ms
	share           stat.Interval // of queries with a timeout
	least           time.Duration // of the queries with a timeout; 0 without any
	queries         int
	timed           int
	timeouts        uint64
	spurious        uint64
	retransmissions uint64
	dropped         uint64
}

type key struct {
	timers  string
	servers int
}

// results are the groups of a run.
type results struct {
	*Plan
	groups map[key]*group
}

func newResults(p *Plan, cells []Cell) *results {
	r := &results{p, map[key]*group{}}
	for _, of := range experiments.GroupBy(cells, func(c *Cell) key { return key{c.Timers, c.Servers} }) {
		g := &group{cells: of.Items}
		for _, c := range of.Items {
			g.queries, g.timed, g.timeouts = g.queries+c.Queries, g.timed+c.Timed, g.timeouts+c.Timeouts
			g.spurious, g.retransmissions, g.dropped = g.spurious+c.Spurious, g.retransmissions+c.Retransmissions, g.dropped+c.Dropped
			if c.Timed > 0 && (g.least == 0 || c.Least < g.least) {
				g.least = c.Least
			}
		}
		g.mean = perQuery(g.cells, func(c *Cell) float64 { return float64(c.Took) / 1e6 })
		g.share = perQuery(g.cells, func(c *Cell) float64 { return float64(c.Timed) })
		r.groups[of.Key] = g
	}
	return r
}

// perQuery returns a sum divided by the number of queries, with its interval over seeds.
func perQuery(cells []Cell, of func(*Cell) float64) stat.Interval {
	bySeed := experiments.SamplesBySeed(cells, func(c *Cell) int { return c.Seed }, func(c *Cell) []Cell { return []Cell{*c} })
	return stat.Bootstrap(bySeed, 1, func(all []Cell) float64 {
		sum, n := 0.0, 0
		for i := range all {
			sum, n = sum+of(&all[i]), n+all[i].Queries
		}
		return sum / float64(n)
	})
}

func (r *results) at(timers string, servers int) *group { return r.groups[key{timers, servers}] }

// mean returns the mean time of a query, in ms.
func (r *results) mean(timers string, servers int) float64 { return r.at(timers, servers).mean.Value }

// wire returns the time of the payload of all answers of n servers on the wire, in ms.
func (p *Plan) wire(n int) float64 { return 8e3 * float64(n*p.response(n)) / float64(p.Rate) }

// goodput returns the goodput of a query that takes so many ms, in Mbit/s.
func (p *Plan) goodput(ms float64) float64 { return 8 * float64(p.Bytes) / ms / 1e3 }

// last is the greatest number of servers.
func (p *Plan) last() int { return p.Servers[len(p.Servers)-1] }

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	r := newResults(p, cells)
	out := &experiments.Outcome{Notes: []string{
		"The tick of expiry alone makes a timer late by up to a tick: a floor of 10 ms on a tick of 500 ms takes 10 to 510 ms. The clock adds a tick to that, " +
			"by G in RTO = SRTT + max(G, 4·RTTVAR).",
		"The testbed of the paper ran another stack on real hosts, whose receive windows, interrupts and delays between hosts are not known. So " +
			"the curves are compared by their begin and their ratio, not point by point. DCTCP itself is not part of this project, and none of its figures is claimed.",
		"Spurious timeouts count too. With ACKs that wait longer than the floor, a server whose answer ends with an " +
			"odd segment retransmits it without need: see the duplicates reported.",
	}}
	r.tables(out)
	r.figures(out)
	r.onsetClaims(out)
	r.windowClaim(out)
	r.floorClaim(out)
	r.ratioClaims(out)
	r.collapseClaims(out)
	r.delackClaim(out)
	r.tickClaims(out)
	r.gvisorClaim(out)
	return out, nil
}

// onsetClaims judges the time of a query without loss, and where timeouts begin.
func (r *results) onsetClaims(out *experiments.Outcome) {
	out.Claim(experiments.Claim{Name: "least-time", Class: experiments.Law, Text: "a query without loss takes as long as its bytes on the wire", Published: "8 ms for 1 MB", Source: dctcp, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredWithin(r.at(r.timers(r.coarse(), r.DelAcks[0]), r.Servers[0]).mean, "ms"), Basis: "8 ms of payload, and 10 % for headers",
		Expected: experiments.Between(r.wire(1), r.wire(1)*1.1, "ms"), Otherwise: "one server alone loses packets, or waits"})
	delack := r.DelAcks[0]
	coarse := r.timers(r.coarse(), delack)
	begin, rise := r.reaching(coarse, onsetShare), r.rise(coarse)
	out.Claim(experiments.Claim{Name: "onset", Class: experiments.OfOthers, Text: fmt.Sprintf("timeouts begin above 10 servers at a floor of %v, delayed ACKs %s", r.coarse(), delack),
		Published: "above 10 servers", Source: dctcp, Tag: experiments.FromPrint, Measured: experiments.MeasuredWithin(begin, "servers at which one query in ten has a timeout"),
		Expected: experiments.PrintedBound(experiments.Above(10, "servers")).OrDiffers(experiments.Above(1, "")), Otherwise: onsetWhy})
	out.Claim(experiments.Claim{Name: "steepness", Class: experiments.Law, Text: "from one query in ten with a timeout to nine in ten, the servers at most double",
		Source: "the shape of Fig. 18 of Alizadeh et al., as remembered: no number of it was read", Tag: experiments.Computed,
		Measured: experiments.MeasuredWithin(rise, "times"), Expected: experiments.AtMost(2, "times"), Basis: "set for this project",
		Otherwise: "some servers send their answers apart even when many are asked"})
}

// reaching returns the least number of servers at which a share of the queries has a timeout, with
// its interval over seeds. It is twice the greatest number of servers where none does.
func (r *results) reaching(timers string, share float64) stat.Interval {
	return stat.Bootstrap(r.cellsBySeed(timers), 1, func(all []Cell) float64 { return r.reached(all, share) })
}

// rise returns the ratio of the servers at which nine queries in ten have a timeout to those at
// which one in ten has.
func (r *results) rise(timers string) stat.Interval {
	return stat.Bootstrap(r.cellsBySeed(timers), 1, func(all []Cell) float64 { return r.reached(all, 1-onsetShare) / r.reached(all, onsetShare) })
}

func (r *results) cellsBySeed(timers string) [][]Cell {
	var all []Cell
	for _, n := range r.Servers {
		all = append(all, r.at(timers, n).cells...)
	}
	return experiments.SamplesBySeed(all, func(c *Cell) int { return c.Seed }, func(c *Cell) []Cell { return []Cell{*c} })
}

func (r *results) reached(all []Cell, share float64) float64 {
	timed, queries := map[int]int{}, map[int]int{}
	for _, c := range all {
		timed[c.Servers], queries[c.Servers] = timed[c.Servers]+c.Timed, queries[c.Servers]+c.Queries
	}
	for _, n := range r.Servers {
		if queries[n] > 0 && float64(timed[n])/float64(queries[n]) >= share {
			return float64(n)
		}
	}
	return float64(2 * r.last())
}

// onsetWhy explains where timeouts begin.
const onsetWhy = "with fewer servers too, the port drops packets whose loss no duplicate ACK shows: tails of answers, and retransmissions, whose loss RFC 6675 does not detect. " +
	"The tables show what probes and RACK repair, and where timeouts begin if the receive window, the buffer, the connections or the service times are others: those of the paper are not known"

// fit returns the number of servers whose windows the port holds at once, in packets of 1500 bytes.
func (p *Plan) fit(window int) int {
	const mss = 1448
	return p.Buffer / ((window + mss - 1) / mss)
}

// windowClaim: no loss as long as all windows fit into the port.
func (r *results) windowClaim(out *experiments.Outcome) {
	if len(r.Windows) == 0 {
		return
	}
	fit, dropped, settings := 0, uint64(0), 0
	for _, window := range r.Windows {
		for _, delack := range r.DelAcks {
			for _, n := range r.Servers {
				if n <= r.fit(window) {
					g := r.at(r.with(windowOf(window), r.coarse(), delack), n)
					fit, dropped, settings = fit+g.queries, dropped+g.dropped, settings+1
				}
			}
		}
	}
	out.Claim(experiments.Claim{Name: "windows-fit", Class: experiments.Law, Text: "nothing is lost as long as the receive windows of all servers fit into the port together", Source: "definition of a drop-tail queue", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d packets dropped in %d queries of %d settings", dropped, fit, settings),
		Expected: experiments.Whether(dropped == 0 && fit > 0, "none"), Otherwise: "servers send beyond the window"})
}

// floorClaim: no query with a timeout is shorter than the floor.
func (r *results) floorClaim(out *experiments.Outcome) {
	timed, short := 0, 0
	for _, delack := range r.DelAcks {
		for _, floor := range r.Floors {
			for _, n := range r.Servers {
				for _, c := range r.at(r.timers(floor, delack), n).cells {
					timed += c.Timed
					if c.Timed > 0 && c.Least < floor {
						short++
					}
				}
			}
		}
	}
	out.Claim(experiments.Claim{Name: "timed-out", Class: experiments.Check, Text: "a query with a timeout takes at least the floor", Source: "RFC 6298 §5", Tag: experiments.Standard,
		Measured: experiments.MeasuredText("%d cells have a shorter one; %d queries with a timeout", short, timed),
		Expected: experiments.Whether(short == 0 && timed > 0, "none"), Otherwise: "an unacknowledged segment of the query before timed out"})
}

// spuriousWhy explains the price of ACKs that wait longer than the floor.
const spuriousWhy = "an ACK that waits longer than the floor makes the timeout spurious. The sender finds out by timestamps or DSACK, and undoes the timeout. " +
	"It then also clears the marks of segments that were really lost, which wait for the next timeout. A table shows senders without timestamps and SACK, which do not find out"

// worstRatio returns the greatest ratio of mean times past 20 servers, of one TCP to another.
func (r *results) worstRatio(fine, coarse string) (worst float64, at int) {
	for _, n := range r.Servers {
		if n <= 20 && n != r.last() {
			continue
		}
		if ratio := r.mean(fine, n) / r.mean(coarse, n); ratio > worst {
			worst, at = ratio, n
		}
	}
	return worst, at
}

// ratioClaims compares the fine floor with the coarse one.
func (r *results) ratioClaims(out *experiments.Outcome) {
	worst, at, worstDelack := 0.0, 0, ""
	for _, delack := range r.DelAcks {
		if w, n := r.worstRatio(r.timers(r.Fine, delack), r.timers(r.coarse(), delack)); w > worst {
			worst, at, worstDelack = w, n, delack
		}
	}
	out.Claim(experiments.Claim{Name: "fine-ratio", Class: experiments.Law, Text: fmt.Sprintf("past 20 servers a query at a floor of %v takes a fifth of the time at %v, or less", r.Fine, r.coarse()),
		Source: "the distance of the curves in Fig. 18 of Alizadeh et al.", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s, worst, at %d servers, delayed ACKs %s", experiments.Number(worst), at, worstDelack).Judging(worst),
		Expected: experiments.AtMost(fineRatio, "").OrDiffers(experiments.AtMost(0.5, "")), Basis: "set for this project, beforehand",
		Otherwise: "the means include queries without a timeout, and the time of the bytes on the wire; and " + spuriousWhy})
}

// collapseClaims judges the goodput of many servers relative to that of one.
func (r *results) collapseClaims(out *experiments.Outcome) {
	coarse := r.timers(r.coarse(), r.DelAcks[0])
	full := r.goodput(r.mean(coarse, r.Servers[0]))
	left := 100 * r.goodput(r.mean(coarse, r.last())) / full
	out.Claim(experiments.Claim{Name: "collapse", Class: experiments.OfOthers, Text: fmt.Sprintf("at a floor of %v, goodput collapses, and a tenth of one server's is left", r.coarse()), Published: "up to 90 % lost", Source: vasudevan, Tag: experiments.FromPrint,
		Measured:  experiments.MeasuredText("%s %% left at %d servers, %s %% lost", experiments.Number(left), r.last(), experiments.Number(100-left)).Judging(left),
		Expected:  experiments.Printed(10, "% left").OrDiffers(experiments.Below(100*collapse, "%")),
		Otherwise: "one timeout of 300 ms for 8 ms of data leaves 2.6 %: the paper's loss is that of its own floor, block and rate, which the abstract does not give"})
	least, floorAt, serversAt, delackAt := math.Inf(1), time.Duration(0), 0, ""
	for _, delack := range r.DelAcks {
		for _, floor := range r.Floors {
			for _, n := range r.Servers {
				if got := r.goodput(r.mean(r.timers(floor, delack), n)) / full; floor <= fineEnough && n <= fineServers && got < least {
					least, floorAt, serversAt, delackAt = got, floor, n, delack
				}
			}
		}
	}
	if floorAt == 0 {
		return
	}
	out.Claim(experiments.Claim{Name: "no-collapse", Class: experiments.OfOthers, Text: fmt.Sprintf("a floor of 1 ms or less avoids degradation for up to %d servers", fineServers),
		Published: "1 ms avoids throughput degradation at up to 16 servers", Source: vasudevan, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s %% of one server's goodput, worst, at %v and %d servers, delayed ACKs %s", experiments.Number(100*least), floorAt, serversAt, delackAt).Judging(100 * least),
		Expected: experiments.AtLeast(90, "% of one server's").OrDiffers(experiments.AtLeast(100*collapse, "%")), Basis: "no degradation, ± 10 %, the rule of all studies",
		Otherwise: "another cost than the wait remains at a fine floor; and " + spuriousWhy})
}

// delackClaim: a delayed ACK costs little where it waits longer than the floor.
func (r *results) delackClaim(out *experiments.Outcome) {
	if len(r.DelAcks) < 2 || !slices.Contains(r.Floors, fineEnough) {
		return
	}
	n := r.upTo(fineServers)
	without := r.mean(r.timers(fineEnough, r.DelAcks[1]), n)
	cost := 100 * (1 - without/r.mean(r.timers(fineEnough, r.DelAcks[0]), n))
	out.Claim(experiments.Claim{Name: "delack-cost", Class: experiments.OfOthers, Text: fmt.Sprintf("ACKs that wait %s cost little at a floor of %v", r.DelAcks[0], fineEnough), Published: "small, though noticeable",
		Source: "Vasudevan et al., SIGCOMM 2009, summary", Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s %% of the goodput at %d servers", experiments.Number(cost), n).Judging(cost),
		Expected: experiments.Between(smallLoss, largeLoss, "% of the goodput").OrDiffers(experiments.Between(0, 75, "%")), Basis: "ours: the summary gives no number",
		Otherwise: spuriousWhy})
}

// leastTimed returns the shortest query with a timeout; 0 without any.
func (r *results) leastTimed(timers string) (least time.Duration, timed int) {
	for _, n := range r.Ticked {
		g := r.at(timers, n)
		timed += g.timed
		if g.timed > 0 && (least == 0 || g.least < least) {
			least = g.least
		}
	}
	return least, timed
}

// tickClaims: the tick decides where it is coarser than the floor.
func (r *results) tickClaims(out *experiments.Outcome) {
	for _, tick := range r.Ticks {
		if tick <= r.Fine {
			continue
		}
		least, timed := r.leastTimed(r.ticked(tick, true))
		out.Claim(experiments.Claim{Name: fmt.Sprintf("tick-%dms", tick.Milliseconds()), Class: experiments.Law, Text: fmt.Sprintf("a floor of %v on a clock and a tick of %v acts like a floor of %v or more", r.Fine, tick, tick),
			Source: "RFC 6298 §2: RTO = SRTT + max(G, K·RTTVAR)", Tag: experiments.Standard,
			Measured: experiments.MeasuredText("shortest of %d queries with a timeout: %v", timed, least.Round(10*time.Microsecond)),
			Expected: experiments.Whether(timed > 0 && least >= tick, "at least %v", tick), Otherwise: "G does not count in the timeout"})
	}
}

// gvisorClaim: floors do to gVisor's own TCP, without RACK and probes, what they do to the classic
// one.
func (r *results) gvisorClaim(out *experiments.Outcome) {
	if !slices.Contains(r.GVisorFloors, gvisorFloor) || !slices.Contains(r.GVisorFloors, fineEnough) {
		return
	}
	full := r.goodput(r.mean(gvisor{fineEnough}.String(), r.Servers[0]))
	share := func(g gvisor, n int) float64 { return r.goodput(r.mean(g.String(), n)) / full }
	fine := math.Inf(1)
	for _, n := range r.Servers {
		if n <= fineServers {
			fine = min(fine, share(gvisor{fineEnough}, n))
		}
	}
	coarse := share(gvisor{gvisorFloor}, r.last())
	out.Claim(experiments.Claim{Name: "gvisor", Class: experiments.Law, Text: fmt.Sprintf("gVisor's own TCP without RACK collapses at its floor of %v, and at one of %v not for up to %d servers", gvisorFloor, fineEnough, fineServers),
		Published: "1 ms, 16 servers", Source: vasudevan, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("%s %% of one server's goodput at %d servers; %s %%, worst, up to %d", experiments.Number(100*coarse), r.last(), experiments.Number(100*fine), fineServers),
		Expected: experiments.Whether(coarse < collapse && fine >= collapse, "less than half of one server's; at least half").
			OrDiffersIf(coarse < collapse || fine >= collapse, "one of the two"),
		Otherwise: "it waits for something other than the floor"})
}
