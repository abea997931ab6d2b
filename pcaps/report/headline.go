package report

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// kindWords says what losses of each kind were repaired by.
var kindWords = []struct {
	kind  track.Kind
	words string
}{
	{track.RTO, "retransmission timeouts"}, {track.SYN, "retransmissions of SYNs"}, {track.TLP, "tail loss probes"},
	{track.Fast, "fast retransmissions"}, {track.PMTU, "smaller segments after an ICMP error"}, {track.Probe, "window probes"}, {track.Unknown, "other retransmissions"},
}

// Headline is the answer about replays in words.
type Headline struct {
	Lost   string   // how much time was lost to what
	Timers string   // whether other timers would have helped
	Each   []string // of few losses: a line for each
}

// All returns all lines.
func (h *Headline) All() []string { return append([]string{h.Lost, h.Timers}, h.Each...) }

// mostEach is how many losses have a line of their own.
const mostEach = 10

// NewHeadline words results and the summaries of all choices of a study. First returns when the
// capture of a result begins. If too few losses count under the finest timers, it has a line for
// each.
func NewHeadline(st *replay.Study, results []*replay.Result, all []replay.Summary, first func(*replay.Result) wheel.Time) (h Headline) {
	g := replay.SummarizeGate(results)
	if g.Needed == 0 {
		lost := "No loss was both needed and repaired."
		if g.Losses > 0 {
			lost = fmt.Sprintf("No loss was both needed and repaired. Of the loss episodes (%d) %s.", g.Losses, because(&g))
		}
		return Headline{Lost: lost, Timers: "There is nothing to compare."}
	}
	var byKind [track.Kinds]time.Duration
	var n [track.Kinds]int
	for r, i := range replay.Losses(results) {
		if l := &r.Captured.Losses[i]; l.Needed() {
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
	h.Lost = fmt.Sprintf("Repairing %s took %s: %s.", quantity.Count(g.Needed, "loss"), track.SpanText(g.Captured), strings.Join(parts, ", "))
	fine, worst := finest(all)
	if fine >= 0 && all[fine].N < replay.LeastLosses && all[fine].Unknown == 0 {
		h.few(st, results, &all[fine], fine, &g, first)
		if worst >= 0 && worst != fine {
			h.Timers = upper(verdictOn(&all[worst])) + ". " + h.Timers
		}
		return h
	}
	words := "no other timers were tried"
	if fine >= 0 {
		words = verdictOn(&all[fine])
	}
	if worst >= 0 && worst != fine {
		words += "; " + verdictOn(&all[worst])
	}
	h.Timers = fmt.Sprintf("%s; %d of %s could be replayed.", upper(words), g.Passed, quantity.Count(g.Needed, "loss"))
	return h
}

// because says why loss episodes are not losses that are compared, as "2 were unnecessary, 1 was a
// FIN alone, for which no data waited".
func because(g *replay.GateSummary) string {
	var parts []string
	for _, p := range []struct {
		n    int
		is   string
		many string
	}{
		{g.Spurious, "was unnecessary", "were unnecessary"},
		{g.Doubtful, "may have been none: the ACK may have been delayed", "may have been none: their ACKs may have been delayed"},
		{g.OnlyFIN, "was a FIN alone, for which no data waited", "were FINs alone, for which no data waited"},
		{g.TooLarge, "was too large for the path, which no timer changes", "were too large for the path, which no timer changes"},
		{g.NotRepaired, "has no repair that the capture shows", "have no repair that the capture shows"},
	} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.is)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.many))
		}
	}
	return strings.Join(parts, ", ")
}

// few words a choice under which few losses count: a line for each loss that was needed.
func (h *Headline) few(st *replay.Study, results []*replay.Result, s *replay.Summary, choice int, g *replay.GateSummary, first func(*replay.Result) wheel.Time) {
	name := upper(policyWords(s.Policy))
	switch {
	case s.N == 0 && g.Needed == 1:
		h.Timers = name + ": this loss has no estimate."
	case s.N == 0:
		h.Timers = fmt.Sprintf("%s: none of %s has an estimate.", name, quantity.Count(g.Needed, "loss"))
	case g.Needed == 1:
		h.Timers = name + ", for this loss:"
	default:
		h.Timers = fmt.Sprintf("%s, loss by loss (%d of %d have an estimate; a verdict needs %d):", name, s.N, g.Needed, replay.LeastLosses)
	}
	for r, i := range replay.Losses(results) {
		l := &r.Captured.Losses[i]
		if !l.Needed() {
			continue
		}
		if len(h.Each) == mostEach {
			h.Each = append(h.Each, fmt.Sprintf("and %d more, see the table of losses", g.Needed-mostEach))
			return
		}
		where := fmt.Sprintf("packet %d at %.3f s", l.DetectedPacket, r.Captured.Seconds(l.Again, first(r)))
		if results[0].File != results[len(results)-1].File {
			where = baseOf(r.File) + ", " + where
		}
		h.Each = append(h.Each, fmt.Sprintf("%s (%s): %s", where, kindName(l.Kind), estimateWords(r, i, choice)))
	}
}

// kindName is the name of a kind in a line about one loss.
func kindName(k track.Kind) string {
	if k == track.Unknown {
		return "unknown cause"
	}
	return k.String()
}

// estimateWords words what a choice would have made of a loss.
func estimateWords(r *replay.Result, loss, choice int) string {
	e, why := r.Estimate(loss, choice)
	if why != "" {
		return "no estimate, " + why
	}
	words := fmt.Sprintf("%s instead of %s, ", track.SpanText(e.TRec), track.SpanText(e.Control))
	between := func(low, high time.Duration) string {
		if track.SpanText(low) == track.SpanText(high) {
			return " (by each key)"
		}
		return fmt.Sprintf(" (%s to %s)", track.SpanText(low), track.SpanText(high))
	}
	switch {
	case e.Low > 0:
		return words + track.SpanText(e.Saved) + " sooner" + between(e.Low, e.High)
	case e.High < 0:
		return words + track.SpanText(-e.Saved) + " later" + between(-e.High, -e.Low)
	case e.Low == 0 && e.High == 0:
		return words + "no difference (by each key)"
	}
	return words + fmt.Sprintf("which may be no difference (%s sooner to %s later)", track.SpanText(max(e.High, 0)), track.SpanText(max(-e.Low, 0)))
}

// finest returns the choice with the finest timers, and the one that would cost the most; -1 is
// none.
func finest(all []replay.Summary) (fine, worst int) {
	fine, worst = -1, -1
	for i := range all {
		s := &all[i]
		switch {
		case strings.HasPrefix(s.Policy, replay.Captured):
		case fine < 0, finer(s, &all[fine]):
			fine = i
		}
		if s.Effect == replay.Costs && (worst < 0 || s.Saved[replay.ByRange] < all[worst].Saved[replay.ByRange]) {
			worst = i
		}
	}
	return fine, worst
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
	switch s.Effect {
	case replay.Saves:
		return fmt.Sprintf("%s would have saved %s (%s to %s)", name, track.SpanText(saved), track.SpanText(s.Low), track.SpanText(s.High))
	case replay.Costs:
		return fmt.Sprintf("%s would have cost %s more (%s to %s)", name, track.SpanText(-saved), track.SpanText(-s.High), track.SpanText(-s.Low))
	case replay.NoDifference:
		return fmt.Sprintf("%s would have made no difference that matters: it would have changed %s by at most %s", name,
			track.SpanText(s.Of[replay.ByRange]), track.SpanText(s.Matters()))
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
