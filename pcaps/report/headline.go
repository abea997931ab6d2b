package report

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
)

// kindWords says what losses of each kind were repaired by.
var kindWords = []struct {
	kind  track.Kind
	words string
}{
	{track.RTO, "retransmission timeouts"}, {track.SYN, "retransmissions of SYNs"}, {track.TLP, "tail loss probes"},
	{track.Fast, "fast retransmissions"}, {track.Probe, "window probes"}, {track.Unknown, "other retransmissions"},
}

// Headline returns two sentences about results and the summaries of all choices: how much time was
// lost to what, and whether other timers would have helped.
func Headline(results []*replay.Result, all []replay.Summary) (lost, timers string) {
	g := replay.SummarizeGate(results)
	if g.Needed == 0 {
		return "No loss was both needed and repaired.", "There is nothing to compare."
	}
	var byKind [track.Kinds]time.Duration
	var n [track.Kinds]int
	for r, i := range replay.Losses(results) {
		if l := &r.Script.Losses[i]; l.Needed() {
			byKind[l.Kind] += l.TRec
			n[l.Kind]++
		}
	}
	var parts []string
	for _, k := range kindWords {
		if n[k.kind] > 0 {
			parts = append(parts, fmt.Sprintf("%s by %s (%d)", track.SpanText(byKind[k.kind]), k.words, n[k.kind]))
		}
	}
	losses := fmt.Sprintf("%d losses", g.Needed)
	if g.Needed == 1 {
		losses = "1 loss"
	}
	lost = fmt.Sprintf("Repairing %s took %s: %s.", losses, track.SpanText(g.Captured), strings.Join(parts, ", "))
	return lost, fmt.Sprintf("%s; %d of %s could be replayed.", upper(verdictWords(all)), g.Passed, losses)
}

// verdictWords words the verdict on the finest timers, and on the timers that would cost the most.
func verdictWords(all []replay.Summary) string {
	fine, worst := -1, -1
	for i := range all {
		s := &all[i]
		switch {
		case strings.HasPrefix(s.Policy, replay.Captured):
		case fine < 0, finer(s, &all[fine]):
			fine = i
		}
		if s.Verdict == replay.Costs && (worst < 0 || s.Saved[replay.ByRange] < all[worst].Saved[replay.ByRange]) {
			worst = i
		}
	}
	if fine < 0 {
		return "no other timers were tried"
	}
	words := verdictOn(&all[fine])
	if worst >= 0 && worst != fine {
		words += "; " + verdictOn(&all[worst])
	}
	return words
}

// finer reports whether the verdict on s is worth more to readers than that on t: a timer for each
// segment on ticks of 1 ms comes first, and then what saves more.
func finer(s, t *replay.Summary) bool {
	const first = "per-segment@1ms"
	return s.Policy == first || t.Policy != first && s.Saved[replay.ByRange] > t.Saved[replay.ByRange]
}

// verdictOn words the verdict on a policy.
func verdictOn(s *replay.Summary) string {
	name, saved := policyWords(s.Policy), s.Saved[replay.ByRange]
	switch s.Verdict {
	case replay.Saves:
		return fmt.Sprintf("%s would have saved %s (%s to %s)", name, track.SpanText(saved), track.SpanText(s.Low), track.SpanText(s.High))
	case replay.Costs:
		return fmt.Sprintf("%s would have cost %s more (%s to %s)", name, track.SpanText(-saved), track.SpanText(-s.High), track.SpanText(-s.Low))
	case replay.NoDifference:
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
