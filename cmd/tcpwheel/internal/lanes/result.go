package lanes

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Result is what a lane did. Spans are virtual time.
type Result struct {
	Lane            string         `json:"lane"`
	Seed            uint64         `json:"seed"`
	Time            wheel.Time     `json:"time_ns"`
	Responses       int            `json:"responses"`
	ResponseP50     time.Duration  `json:"response_p50_ns"`
	ResponseP99     time.Duration  `json:"response_p99_ns"`
	Lost            int            `json:"lost"`
	Recoveries      int            `json:"recoveries"`
	RecoveryP50     time.Duration  `json:"recovery_p50_ns"`
	RecoveryP99     time.Duration  `json:"recovery_p99_ns"`
	TimeLost        time.Duration  `json:"time_lost_ns"` // recovery times less an RTT each
	Repairs         map[string]int `json:"repairs"`      // recoveries by what sent the repair
	Retransmissions int            `json:"retransmissions"`
	Spurious        int            `json:"spurious"`
	BulkBytes       uint64         `json:"bulk_bytes"`
	Timers          bool           `json:"timers"` // false: gVisor does not report its timers
	Started         uint64         `json:"timers_started"`
	Stopped         uint64         `json:"timers_stopped"`
	Expired         uint64         `json:"timers_expired"`
}

// Results returns the results of all lanes so far.
func (r *Run) Results() []Result {
	var all []Result
	for _, l := range r.Lanes {
		all = append(all, l.result())
	}
	return all
}

func (l *Lane) result() Result {
	s := l.Stats()
	_, repairs := s.repairs()
	return Result{
		Lane: l.Name, Seed: l.run.Seed, Time: l.run.now,
		Responses: len(s.Responses), ResponseP50: s.Responses.quantile(0.5), ResponseP99: s.Responses.quantile(0.99),
		Lost: s.Lost, Recoveries: len(s.took), RecoveryP50: s.took.quantile(0.5), RecoveryP99: s.took.quantile(0.99),
		TimeLost: s.TimeLost, Repairs: repairs, Retransmissions: s.Retransmissions, Spurious: s.Spurious,
		BulkBytes: s.BulkBytes, Timers: !l.gvisor, Started: s.Started, Stopped: s.Stopped, Expired: s.Expired,
	}
}

// Table returns the results as text, a lane a column, in lines of at most width characters: lanes
// that do not fit come below.
func Table(all []Result, width int) string {
	column := 13
	for i := range all {
		column = max(column, len(all[i].Lane)+2)
	}
	var b strings.Builder
	for fit := max((width-tableNames)/column, 1); len(all) > 0; all = all[min(fit, len(all)):] {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		writeTable(&b, all[:min(fit, len(all))], column)
	}
	return b.String()
}

// tableNames is the width of the first column of Table.
const tableNames = 26

func writeTable(b *strings.Builder, all []Result, column int) {
	row := func(name string, value func(*Result) string) {
		fmt.Fprintf(b, "%-*s", tableNames, name)
		for i := range all {
			fmt.Fprintf(b, "%*s", column, value(&all[i]))
		}
		b.WriteString("\n")
	}
	perSecond := func(n uint64, x *Result) string {
		if !x.Timers {
			return "-"
		}
		return fmt.Sprintf("%.0f", float64(n)/max(time.Duration(x.Time).Seconds(), 1e-9))
	}
	row("", func(x *Result) string { return x.Lane })
	row("response time p50", func(x *Result) string { return track.SpanText(x.ResponseP50) })
	row("response time p99", func(x *Result) string { return track.SpanText(x.ResponseP99) })
	row("responses", func(x *Result) string { return fmt.Sprint(x.Responses) })
	row("losses repaired", func(x *Result) string { return fmt.Sprint(x.Recoveries) })
	row("recovery time p50", func(x *Result) string { return track.SpanText(x.RecoveryP50) })
	row("recovery time p99", func(x *Result) string { return track.SpanText(x.RecoveryP99) })
	row("time lost to losses", func(x *Result) string { return track.SpanText(x.TimeLost) })
	row("spurious retransmissions", func(x *Result) string { return fmt.Sprint(x.Spurious) })
	row("timers started /s", func(x *Result) string { return perSecond(x.Started, x) })
	row("timers stopped /s", func(x *Result) string { return perSecond(x.Stopped, x) })
	row("timers expired /s", func(x *Result) string { return perSecond(x.Expired, x) })
}

// leastLosses is the fewest losses from which Verdict names a winner.
const leastLosses = 5

// Verdict says which lane lost the least time and which the most, what that did to responses, and
// why.
func Verdict(all []Result) string {
	if len(all) < 2 {
		return "One lane has nothing to be compared with."
	}
	best, worst := &all[0], &all[0]
	for i := range all {
		if all[i].TimeLost < best.TimeLost {
			best = &all[i]
		}
		if all[i].TimeLost > worst.TimeLost {
			worst = &all[i]
		}
	}
	if best.Lost == 0 && worst.Lost == 0 {
		return "Nothing was lost yet."
	}
	if best.Recoveries < leastLosses || worst.Recoveries < leastLosses {
		return fmt.Sprintf("Too few losses to tell the lanes apart: %d and %d were repaired.", best.Recoveries, worst.Recoveries)
	}
	if worst.TimeLost < best.TimeLost*11/10 {
		return fmt.Sprintf("The lanes lost the same time to losses, within 10 %%: %s to %s.", track.SpanText(best.TimeLost), track.SpanText(worst.TimeLost))
	}
	text := fmt.Sprintf("%s lost the least time to losses, %s in %d repairs; %s lost %s, %.1f times as much. Responses took %s in the median "+
		"and %s at the 99th percentile under %s, %s and %s under %s.\nWhy: %s repaired %s, and %s %s.",
		best.Lane, track.SpanText(best.TimeLost), best.Recoveries, worst.Lane, track.SpanText(worst.TimeLost),
		float64(worst.TimeLost)/float64(max(best.TimeLost, 1)),
		track.SpanText(best.ResponseP50), track.SpanText(best.ResponseP99), best.Lane,
		track.SpanText(worst.ResponseP50), track.SpanText(worst.ResponseP99), worst.Lane,
		worst.Lane, repairText(worst), best.Lane, repairText(best))
	return text + fasterText(all, best)
}

// fasterText says which lane answered faster in the median than the one that lost the least time,
// and why, "" if none did by a tenth.
func fasterText(all []Result, best *Result) string {
	fast := best
	for i := range all {
		if all[i].ResponseP50 < fast.ResponseP50 {
			fast = &all[i]
		}
	}
	if best.ResponseP50 < fast.ResponseP50*11/10 {
		return ""
	}
	text := fmt.Sprintf("\nBut the median response was the shortest under %s: %s, under %s %s",
		fast.Lane, track.SpanText(fast.ResponseP50), best.Lane, track.SpanText(best.ResponseP50))
	mine, its := best.repairsByTimeout(), fast.repairsByTimeout()
	if mine <= its {
		return text + "."
	}
	return text + fmt.Sprintf(". After a timeout the window begins again at one segment (RFC 5681 §3.1): timeouts repaired %d losses of %s, and %d of %s.",
		mine, best.Lane, its, fast.Lane)
}

// repairsByTimeout counts the recoveries that a retransmission timer ended.
func (x *Result) repairsByTimeout() int {
	return x.Repairs["the segment's timer"] + x.Repairs["retransmission timer"]
}

// repairText says what sent the repairs of a lane, and how long the slowest took.
func repairText(x *Result) string {
	var others, acks, probes int
	for by, n := range x.Repairs {
		switch by {
		case "ACKs", "reordering timer":
			acks += n
		case "tail loss probe":
			probes += n
		case "the segment's timer", "retransmission timer":
		default:
			others += n
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		text string
	}{{acks, "by ACKs"}, {probes, "by tail loss probes"}, {x.repairsByTimeout(), "by retransmission timers"}, {others, "in a way that it does not tell"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
		}
	}
	return fmt.Sprintf("%s (p99 %s)", strings.Join(parts, ", "), track.SpanText(x.RecoveryP99))
}
