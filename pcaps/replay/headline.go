package replay

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/pcaps/track"
)

// kindWords says what a loss of a kind was repaired by.
var kindWords = [track.Kinds]string{
	track.Unknown: "other retransmissions", track.SYN: "retransmissions of SYNs", track.RTO: "retransmission timeouts",
	track.Fast: "fast retransmissions", track.TLP: "tail loss probes", track.Probe: "window probes",
}

// Headline returns two sentences about results and the summaries of all choices: how much time was
// lost to what, and whether other timers would have helped.
func Headline(results []*Result, all []Summary) (lost, timers string) {
	g := SummarizeGate(results)
	if g.Needed == 0 {
		return "No loss was both needed and repaired.", "There is nothing to compare."
	}
	var byKind [track.Kinds]time.Duration
	var n [track.Kinds]int
	for _, r := range results {
		for i := range r.Script.Losses {
			if l := &r.Script.Losses[i]; l.Needed() {
				byKind[l.Kind] += l.TRec
				n[l.Kind]++
			}
		}
	}
	var parts []string
	for _, k := range []track.Kind{track.RTO, track.SYN, track.TLP, track.Fast, track.Probe, track.Unknown} {
		if n[k] > 0 {
			parts = append(parts, fmt.Sprintf("%s by %s (%d)", track.SpanText(byKind[k]), kindWords[k], n[k]))
		}
	}
	lost = fmt.Sprintf("Repairing %s took %s: %s.", number(g.Needed, "loss", "losses"), track.SpanText(g.Captured), strings.Join(parts, ", "))
	return lost, capital(verdictWords(all)) + fmt.Sprintf("; %d of %s could be replayed.", g.Passed, number(g.Needed, "loss", "losses"))
}

// verdictWords words the verdict on the finest timers, and on the timers that would cost the most.
func verdictWords(all []Summary) string {
	fine, worst := -1, -1
	for i := range all {
		s := &all[i]
		switch {
		case strings.HasPrefix(s.Policy, Captured):
		case fine < 0, finer(s, &all[fine]):
			fine = i
		}
		if s.Verdict == Costs && (worst < 0 || s.Saved[ByRange] < all[worst].Saved[ByRange]) {
			worst = i
		}
	}
	if fine < 0 {
		return "no other timers were tried"
	}
	words := all[fine].words()
	if worst >= 0 && worst != fine {
		words += "; " + all[worst].words()
	}
	return words
}

// finer reports whether the verdict on s is worth more to readers than that on t: a timer for each
// segment on ticks of 1 ms comes first, and then what saves more.
func finer(s, t *Summary) bool {
	const first = "per-segment@1ms"
	return s.Policy == first || t.Policy != first && s.Saved[ByRange] > t.Saved[ByRange]
}

// words words the verdict on a policy.
func (s *Summary) words() string {
	name, saved := policyWords(s.Policy), s.Saved[ByRange]
	switch s.Verdict {
	case Saves:
		return fmt.Sprintf("%s would have saved %s (%s to %s)", name, track.SpanText(saved), track.SpanText(s.Low), track.SpanText(s.High))
	case Costs:
		return fmt.Sprintf("%s would have cost %s more (%s to %s)", name, track.SpanText(-saved), track.SpanText(-s.High), track.SpanText(-s.Low))
	case NoDifference:
		return name + " would have made no difference"
	}
	return fmt.Sprintf("whether %s would have helped cannot be told: %s", name, s.Why)
}

// policyWords names a policy in words.
func policyWords(text string) string {
	if tick, ok := strings.CutPrefix(text, "per-segment@"); ok {
		if tick == "exact" {
			return "an exact timer for each segment"
		}
		if _, err := time.ParseDuration(tick); err == nil {
			return "a timer for each segment on " + strings.Replace(tick, "ms", " ms", 1) + " ticks"
		}
	}
	switch text {
	case "bsd":
		return "4.4BSD's timers"
	case "linux":
		return "Linux's timers"
	case "rfc6298":
		return "the timer of RFC 6298"
	case "rfc7765":
		return "the timer of RFC 7765"
	}
	return "the policy " + text
}

func number(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
