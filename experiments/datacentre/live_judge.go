package datacentre

import (
	"math"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
)

// judgeKernel judges the settings of this machine's kernel.
func judgeKernel(_ *Plan, all []Kernel) (*experiments.Outcome, error) {
	done := judge.Where(all, func(k *Kernel) bool { return k.Done })
	of := func(name string) *Kernel {
		if i := slices.IndexFunc(done, func(k Kernel) bool { return k.Setting == name }); i >= 0 {
			return &done[i]
		}
		return nil
	}
	// In ms, NaN of a setting that did not run.
	rto := func(name string) float64 { return of(name).ms(func(k *Kernel) float64 { return judge.Ms(k.RTO) }) }
	ato := func(name string) float64 { return of(name).ms(func(k *Kernel) float64 { return judge.Ms(k.ATO) }) }
	allowed := func(name string) float64 { return of(name).ms((*Kernel).allowed) }
	const route, sysctl, fine, lowest = "floor, both ends", "floor by sysctl", "fine timestamps", "floor 200 us"
	const sender, both, shipped, quick = "floor, sender only", "route and sysctl", "as shipped", "no delayed ACKs"
	claim := func(name, text, source string, measured experiments.Measure, expected experiments.Band,
		otherwise string) experiments.Claim {
		return experiments.Claim{Name: name, Class: experiments.Law, Tag: experiments.FromSource, Text: text,
			Source: source, Measured: measured, Expected: expected, Otherwise: otherwise}
	}
	resent := func(name string) float64 { return of(name).ms(func(k *Kernel) float64 { return float64(k.Resent) }) }
	groups := func(name string) float64 { return of(name).ms(func(k *Kernel) float64 { return float64(k.Groups) }) }
	ms := func(k *Kernel) float64 { return judge.Ms(k.Jiffy) }
	srtt := judge.Mean(done, func(k *Kernel) float64 { return judge.Ms(k.SRTT) })
	waited := func(name string) float64 { return of(name).ms(func(k *Kernel) float64 { return judge.Ms(k.Waited) }) }

	timeout := claim("rto", "the kernel's timeout is its rto_min in whole jiffies and the round trip, rounded up to "+
		"jiffies",
		"Linux: tcp_rto_min, tcp_set_rto",
		judge.Known("in ms, at HZ %v: %s", 1000/of(shipped).ms(ms), judge.Listing(judge.By(done,
			func(k *Kernel) string { return k.Setting }), func(g *judge.Group[string, Kernel]) string {
			return judge.Say("%s %v", g.Key, rto(g.Key))
		})),
		experiments.Whether(judge.All(done, func(k *Kernel) bool {
			x := judge.Ms(k.RTO)
			return x > k.least() && x <= k.least()+srtt+2*judge.Ms(k.Jiffy)
		}), "above the floor in jiffies, by the round trip and two jiffies at most"),
		"this machine was busy, and round trips varied by more than the floor")
	set := []string{route, sysctl, lowest, "floor 1 ms", both}
	acks := claim("ato", "where rto_min is set at both ends, by route or by sysctl, an ACK may wait a jiffy less, and at "+
		"least one", "Linux commits bbf80d7 (route) and of May 2024, derive delack_max with tcp_rto_min helper (sysctl)",
		judge.Known("in ms: %v with rto_min 5ms, %v with tcp_rto_min_us=5000, %v with 200, %v with rto_min 40ms",
			ato(route), ato(sysctl), ato(lowest), ato(both)),
		experiments.Whether(judge.All(done, func(k *Kernel) bool {
			return !slices.Contains(set, k.Setting) || judge.Ms(k.ATO) == k.allowed()
		}), "%s", judge.Say("%v, %v, %v and %v", allowed(route), allowed(sysctl), allowed(lowest), allowed(both))),
		"the kernel is older than 6.7, or for the sysctl than 6.11")
	acks.Published = "rto:6 … ato:4, at HZ 1000"
	const commit = "Modern days datacenter communications want to set rto_min to ~5 ms, and the max delayed ack one " +
		"jiffie smaller to avoid spurious retransmits."
	precedence := claim("precedence", "the route's rto_min outranks the sysctl",
		"Linux, Documentation/networking/ip-sysctl.rst, tcp_rto_min_us",
		judge.Known("a timeout of %v ms, and ACKs that wait %v, with 40 ms by route and 5 by sysctl; %v and %v with the "+
			"sysctl alone", rto(both), ato(both), rto(sysctl), ato(sysctl)),
		experiments.Whether(rto(both) > 40 && ato(both) > ato(sysctl),
			"above 40 ms, and ACKs that wait longer than with the sysctl alone"), "the route is not the one of the connection")
	precedence.Class, precedence.Basis = experiments.OfOthers, "the order as printed"
	precedence.Published = "the rto_min route option has the highest precedence"
	precedence.Look = experiments.Look{Read: experiments.ReadCode,
		At: "tcp_rto_min_us, and the message of the commit that added it",
		Quote: "Note that the rto_min route option has the highest precedence for configuring this setting, followed by " +
			"the TCP_BPF_RTO_MIN socket option, followed by this tcp_rto_min_us sysctl.",
		Turns: "nothing that was tried"}
	if of(both) == nil {
		precedence.Unless = "this kernel has no tcp_rto_min_us"
	}
	spurious := claim("spurious", "a floor at the sender alone makes it retransmit for ACKs that wait, and a floor at "+
		"both ends does not", "Linux commit bbf80d7",
		judge.Known("%v and %v retransmissions in %v groups of ten answers, without a loss; as shipped %v", resent(sender),
			resent(route), groups(route), resent(shipped)),
		experiments.Whether(resent(sender) >= groups(sender)/2 && resent(route) <= groups(route)/10,
			"at least half as many as groups, and at most a tenth"),
		"this machine was busy, or the client acknowledges at once")
	spurious.Class, spurious.Published = experiments.OfOthers,
		"the max delayed ack one jiffie smaller to avoid spurious retransmits"
	spurious.Basis = "the order as printed; half as many as groups, and a tenth at most, as this machine may be busy"
	spurious.Look = experiments.Look{Read: experiments.ReadCode, At: "message of the commit", Quote: commit,
		Turns: "nothing that was tried"}
	quickack := claim("quickack", "the route attribute quickack lets no ACK wait, which otherwise wait some 40 ms",
		"Linux: RTAX_QUICKACK", judge.Known("%v ms, median, with it, and %v ms without", waited(quick), waited(shipped)),
		experiments.Whether(waited(quick) < of(shipped).ms(ms) && waited(shipped) >= 36,
			"less than a jiffy, and 36 ms or more"), "this machine was busy, or the connection is in quick mode anyway")
	fines := func(name string) int {
		return judge.Count(done, func(k *Kernel) bool { return k.Setting == name && k.Fine })
	}
	stamps := claim("stamps", "the route's feature tcp_usec_ts makes timestamps count microseconds", "Linux commit "+
		"614e831",
		judge.Said("%d of 1", fines(fine)), experiments.Whether(fines(fine) > 0 && fines(shipped) == 0,
			"with it, and not as shipped"), "the connection began before the route had it")
	if of(fine) == nil {
		stamps.Unless = "this kernel has no tcp_usec_ts"
	}
	out := &experiments.Outcome{}
	out.Judge(timeout, acks, precedence, spurious, quickack, stamps)
	out.Tables = append(out.Tables, kernelTable(all))
	return out, nil
}

// ms returns a number of a setting, NaN of one that did not run.
func (k *Kernel) ms(of func(*Kernel) float64) float64 {
	if k == nil {
		return math.NaN()
	}
	return of(k)
}

// least returns the floor in whole jiffies, and allowed the wait of an ACK that it allows, in ms.
func (k *Kernel) least() float64 {
	tick := judge.Ms(k.Jiffy)
	return math.Ceil(judge.Ms(k.Floor)/tick) * tick
}

func (k *Kernel) allowed() float64 {
	tick := judge.Ms(k.Jiffy)
	return min(40, max(k.least()-tick, tick))
}

func kernelTable(all []Kernel) experiments.Table {
	t := experiments.Table{Name: "kernel", Title: "This machine's kernel, a round trip of 1 ms: what each setting does",
		Columns: []string{"setting", "at the server", "at the client", "refused", "RTO, ms", "ATO, ms", "ACKs waited, ms",
			"retransmissions without a loss", "groups of answers", "repair of a lost answer, ms"}}
	for _, k := range all {
		row := []any{k.Setting, k.Server, k.Client, k.Refused, "", "", "", "", k.Groups, ""}
		if k.Done {
			row = append(row[:4], judge.Ms(k.RTO), judge.Ms(k.ATO), judge.Ms(k.Waited), k.Resent, k.Groups,
				judge.Ms(k.Repair))
		}
		t.Add(row...)
	}
	return t
}
