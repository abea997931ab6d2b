package lanes

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/track"
)

// Result is what a lane did. Spans are virtual time.
type Result struct {
	Lane            string         `json:"lane"`
	Label           string         `json:"label" head:"lane"`
	Seed            uint64         `json:"seed"`
	Time            float64        `json:"time_s"`
	Responses       int            `json:"responses"`
	ResponseP50     float64        `json:"response_p50_s" head:"response\np50"`
	ResponseP99     float64        `json:"response_p99_s" head:"response\np99"`
	Lost            int            `json:"lost"`
	Recoveries      int            `json:"recoveries" head:"losses\nrepaired"`
	RecoveryP50     float64        `json:"recovery_p50_s" head:"recovery\np50"`
	RecoveryP99     float64        `json:"recovery_p99_s" head:"recovery\np99"`
	TimeLost        float64        `json:"time_lost_s" head:"time lost\nto losses"` // recovery times less an RTT each
	Repairs         map[string]int `json:"repairs"`                                 // recoveries by what sent the repair
	Retransmissions int            `json:"retransmissions"`
	Spurious        int            `json:"spurious_retransmissions" head:"spurious"`
	Timers          bool           `json:"timers"` // false: gVisor does not report its timers
	Started         uint64         `json:"timers_started" head:"timers\nstarted" cell:"0=-"`
	Stopped         uint64         `json:"timers_stopped" head:"\nstopped" cell:"0=-"`
	Expired         uint64         `json:"timers_expired" head:"\nexpired" cell:"0=-"`
}

func upper(label string) string { return strings.ToUpper(label[:1]) + label[1:] }

func spanText(seconds float64) string { return track.SpanText(record.Span(seconds)) }

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
		Lane: l.Name, Label: l.Label, Seed: l.run.Seed, Time: time.Duration(l.run.now).Seconds(),
		Responses: len(s.Responses), ResponseP50: s.Responses.quantile(0.5).Seconds(), ResponseP99: s.Responses.quantile(0.99).Seconds(),
		Lost: s.Lost, Recoveries: len(s.took), RecoveryP50: s.took.quantile(0.5).Seconds(), RecoveryP99: s.took.quantile(0.99).Seconds(),
		TimeLost: s.TimeLost.Seconds(), Repairs: repairs, Retransmissions: s.Retransmissions, Spurious: s.Spurious,
		Timers: !l.gvisor, Started: s.Started, Stopped: s.Stopped, Expired: s.Expired,
	}
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
	if worst.TimeLost < best.TimeLost*1.1 {
		return fmt.Sprintf("The lanes lost the same time to losses, within 10 %%: %s in %d repairs and %s in %d. Spurious retransmissions: %s %d, %s %d.",
			spanText(best.TimeLost), best.Recoveries, spanText(worst.TimeLost), worst.Recoveries, best.Label, best.Spurious, worst.Label, worst.Spurious)
	}
	text := fmt.Sprintf("%s lost the least time to losses, %s in %d repairs; %s lost %s, %.1f times as much. The median response took %s and %s, "+
		"the slowest hundredth %s and %s. Spurious retransmissions: %s %d, %s %d.\nWhy: %s repaired %s; %s %s.",
		upper(best.Label), spanText(best.TimeLost), best.Recoveries, worst.Label, spanText(worst.TimeLost), worst.TimeLost/max(best.TimeLost, 1e-9),
		spanText(best.ResponseP50), spanText(worst.ResponseP50), spanText(best.ResponseP99), spanText(worst.ResponseP99),
		best.Label, best.Spurious, worst.Label, worst.Spurious, worst.Label, repairText(worst), best.Label, repairText(best))
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
	if best.ResponseP50 < fast.ResponseP50*1.1 {
		return ""
	}
	text := fmt.Sprintf("\nBut the median response was the shortest under %s: %s, under %s %s",
		fast.Label, spanText(fast.ResponseP50), best.Label, spanText(best.ResponseP50))
	mine, its := best.repairsByTimeout(), fast.repairsByTimeout()
	if mine <= its {
		return text + "."
	}
	return text + fmt.Sprintf(". After a timeout the window begins again at one segment (RFC 5681 §3.1): timeouts repaired %d losses of %s, and %d of %s.",
		mine, best.Label, its, fast.Label)
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
	return fmt.Sprintf("%s (p99 %s)", strings.Join(parts, ", "), spanText(x.RecoveryP99))
}
