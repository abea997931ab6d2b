package incast

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
)

func (r *results) tables(out *experiments.Outcome) {
	out.Tables = append(out.Tables, r.stacks(), r.onsets(), r.spreadTable(), r.causes(), r.undoing(), r.ticks(), r.bounds(), r.data())
}

func (r *results) data() experiments.Table {
	t := experiments.Table{
		Name: "queries", Title: "Queries by TCP and number of servers", Data: true,
		Columns: []string{"timers", "servers", "queries", "mean, ms", "95 % from", "to", "with a timeout", "timeouts", "retransmissions", "duplicates reported", "dropped at the port"},
	}
	for _, s := range r.subjects() {
		for _, n := range s.servers {
			g := r.at(s.text, n)
			var spurious any = int(g.spurious)
			if s.gvisor != nil {
				spurious = "" // gVisor does not count them
			}
			t.Add(s.text, n, g.queries, g.mean.Value, g.mean.Lo, g.mean.Hi, g.timed, int(g.timeouts), int(g.retransmissions), spurious, int(g.dropped))
		}
	}
	return t
}

// stacks compares all TCPs at some numbers of servers.
func (r *results) stacks() experiments.Table {
	t := experiments.Table{
		Name: "stacks", Title: fmt.Sprintf("Mean time of a query, and the share of queries with a timeout, in %%: %d bytes in all", r.Bytes),
		Columns: []string{"timers"},
	}
	var at []int
	for _, n := range []int{r.Servers[0], 10, 20, r.last()} {
		i, _ := slices.BinarySearch(r.Servers, n)
		if n := r.Servers[min(i, len(r.Servers)-1)]; !slices.Contains(at, n) {
			at = append(at, n)
			t.Columns = append(t.Columns, fmt.Sprintf("ms, n = %d", n), "timeouts, %")
		}
	}
	for _, s := range r.subjects() {
		if len(s.servers) < len(r.Servers) || s.varied() {
			continue
		}
		row := []any{s.text}
		for _, n := range at {
			g := r.at(s.text, n)
			row = append(row, g.mean.Value, 100*g.share.Value)
		}
		t.Add(row...)
	}
	return t
}

func (r *results) ticks() experiments.Table {
	t := experiments.Table{
		Name: "ticks", Title: fmt.Sprintf("A floor of %v on coarser ticks", r.Fine),
		Columns: []string{"tick of", "tick, ms", "servers", "mean, ms", "95 % from", "to", "with a timeout, %", "shortest of these, ms", "goodput, Mbit/s"},
	}
	for _, clock := range []bool{false, true} {
		of := "expiry alone"
		if clock {
			of = "clock and expiry"
		}
		for _, tick := range r.Ticks {
			for _, n := range r.Ticked {
				g := r.at(r.ticked(tick, clock), n)
				t.Add(of, float64(tick)/1e6, n, g.mean.Value, g.mean.Lo, g.mean.Hi, 100*g.share.Value, float64(g.least)/1e6, r.goodput(g.mean.Value))
			}
		}
	}
	return t
}

// bounds compares queries with one that waits for one timeout and then sends all bytes. A query
// that sends while it waits is better.
func (r *results) bounds() experiments.Table {
	t := experiments.Table{
		Name: "bound", Title: "Goodput of a query that waits for one timeout and then sends all, and goodput reached, Mbit/s",
		Columns: []string{"floor, ms", "ACKs wait", "wait, then send", "all queries, most servers", "best of those with a timeout"},
	}
	for _, delack := range r.DelAcks {
		for _, floor := range r.Floors {
			g := r.at(r.timers(floor, delack), r.last())
			best := 0.0
			if g.least > 0 {
				best = r.goodput(float64(g.least) / 1e6)
			}
			bound := r.goodput(r.wire(r.last()) + float64(floor)/1e6)
			t.Add(float64(floor)/1e6, delack, bound, r.goodput(g.mean.Value), best)
		}
	}
	return t
}

// onsets shows where timeouts begin if one thing is changed.
func (r *results) onsets() experiments.Table {
	t := experiments.Table{
		Name: "variants", Title: fmt.Sprintf("Where timeouts begin, and how fast they rise, if one thing is changed: floor %v", r.coarse()),
		Columns: []string{"changed", "ACKs wait", "servers at which one query in ten has a timeout", "95 % from", "to", "servers at nine in ten, relative", "goodput left at most servers, %"},
	}
	row := func(what, delack, timers string) {
		in := r.reaching(timers, onsetShare)
		t.Add(what, delack, in.Value, in.Lo, in.Hi, r.rise(timers).Value, 100*r.mean(timers, r.Servers[0])/r.mean(timers, r.last()))
	}
	for _, delack := range r.DelAcks {
		row("nothing", delack, r.timers(r.coarse(), delack))
		for _, v := range r.variants() {
			row(v.what, delack, r.with(v, r.coarse(), delack))
		}
	}
	return t
}

// spreadTable shows what the claims would be at other spreads of service times.
func (r *results) spreadTable() experiments.Table {
	t := experiments.Table{
		Name: "services", Title: fmt.Sprintf("The figures of the claims by the spread of service times, ACKs wait %s", r.DelAcks[0]),
		Columns: []string{"service times up to, ms", "timeouts begin, servers", "95 % from", "to", fmt.Sprintf("time at %v / at %v, worst past 20", r.Fine, r.coarse()),
			"goodput left at most servers, %", fmt.Sprintf("goodput at 1 ms and %d servers, %% of one server's", r.upTo(fineServers))},
	}
	row := func(spread time.Duration, v variant) {
		coarse := r.with(v, r.coarse(), r.DelAcks[0])
		in := r.reaching(coarse, onsetShare)
		worst, _ := r.worstRatio(r.with(v, r.Fine, r.DelAcks[0]), coarse)
		cells := []any{float64(spread) / 1e6, in.Value, in.Lo, in.Hi, worst, 100 * r.mean(coarse, r.Servers[0]) / r.mean(coarse, r.last()), ""}
		if slices.Contains(r.Floors, fineEnough) {
			fine := r.with(v, fineEnough, r.DelAcks[0])
			cells[6] = 100 * r.mean(fine, r.Servers[0]) / r.mean(fine, r.upTo(fineServers))
		}
		t.Add(cells...)
	}
	row(r.Service, variant{})
	for _, spread := range r.Services {
		row(spread, serviceOf(spread))
	}
	return t
}

// causes shows the queries with a timeout where other means repair losses too.
func (r *results) causes() experiments.Table {
	t := experiments.Table{
		Name: "causes", Title: fmt.Sprintf("Queries with a timeout where other means repair too, in %%, floor %v: a probe (+tlp) detects lost tails, RACK lost retransmissions", r.coarse()),
		Columns: append([]string{"ACKs wait", "servers", "the timer alone"}, r.Repairs...),
	}
	for _, delack := range r.DelAcks {
		for _, n := range r.Repaired {
			row := []any{delack, n, 100 * r.at(r.timers(r.coarse(), delack), n).share.Value}
			for _, repair := range r.Repairs {
				row = append(row, 100*r.at(r.repaired(repair, delack), n).share.Value)
			}
			t.Add(row...)
		}
	}
	return t
}

// undoing shows the cost of undoing spurious timeouts.
func (r *results) undoing() experiments.Table {
	t := experiments.Table{
		Name: "told", Title: fmt.Sprintf("Mean time of a query where ACKs wait %s, in ms: with timestamps and SACK, which reveal spurious timeouts, and without either", r.DelAcks[0]),
		Columns: []string{"servers"},
	}
	for _, floor := range r.blindFloors() {
		t.Columns = append(t.Columns, fmt.Sprintf("floor %v, with", floor), fmt.Sprintf("floor %v, without", floor))
	}
	for _, n := range r.most() {
		row := []any{n}
		for _, floor := range r.blindFloors() {
			row = append(row, r.mean(r.timers(floor, r.DelAcks[0]), n), r.mean(r.blind(floor), n))
		}
		t.Add(row...)
	}
	return t
}
