package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel/base/quantity"
	"tcpwheel/wheel/base/record"
)

// writeTables prints the answer in words, the policies, and the longest losses.
func (r *replaying) writeTables() error {
	var b strings.Builder
	summaries := r.study.Summarize(r.results)
	if len(r.results) > 0 {
		h := pages.NewHeadline(&r.study, r.results, summaries, r.firstOf)
		b.WriteString(paragraph(h.Lost) + paragraph(h.Timers))
		for _, line := range h.Each {
			b.WriteString(indented("- ", line))
		}
		b.WriteString("\n")
	}
	r.writeHead(&b, fmt.Sprintf("%d replayed", len(r.results)))
	if g := replay.SummarizeGate(r.results); g.Needed > 0 {
		r.policyTable(&b, summaries)
		r.gateTable(&b, &g)
		if r.details {
			keyTable(&b, summaries)
			r.gatedTable(&b)
		}
	}
	r.lossTable(&b)
	_, err := r.stdout.Write([]byte(b.String()))
	return err
}

// paragraph breaks a text into lines of a terminal.
func paragraph(text string) string { return strings.Join(wrapped(text, terminalColumns), "\n") + "\n" }

// indented breaks a text into lines of a terminal that begin with a word, and then with blanks.
func indented(word, text string) string {
	lines := wrapped(text, terminalColumns-len(word))
	return word + strings.Join(lines, "\n"+strings.Repeat(" ", len(word))) + "\n"
}

// writeHead says how many connections there are, and why some are not replayed.
func (r *replaying) writeHead(b *strings.Builder, done string) {
	fmt.Fprintf(b, "%s, %d with losses, %s\n", quantity.Count(r.conns, "connection"), r.lossy, done)
	reasons := map[string]int{}
	for _, x := range r.refusals {
		reasons[x.reason]++
	}
	for _, x := range r.refusals {
		if n := reasons[x.reason]; n > 0 {
			b.WriteString(indented("not replayed: ", fmt.Sprintf("%d, because %s", n, x.reason)))
			reasons[x.reason] = 0
		}
	}
	switch {
	case r.conns == 0 && r.filtered:
		b.WriteString(r.filter.unmatched() + "\n")
	case r.conns == 0:
		b.WriteString("there is no connection in it\n")
	case r.lossy == 0:
		b.WriteString("there is no loss in it: nothing to compare\n")
	}
}

// lossTable prints the recovery times of the longest losses: captured, of the oracle, and under
// each policy.
func (r *replaying) lossTable(b *strings.Builder) {
	rows := replay.Longest(r.results, r.top)
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\nlongest losses: recovery times by range (* not needed, ! does not count)\n")
	if slices.ContainsFunc(r.study.Choices, func(c replay.Choice) bool { return strings.HasPrefix(c.Text, replay.Captured) }) {
		b.WriteString("model is the policy captured: the stack that explains the captured timers best\n")
	}
	var shown []*replay.Result
	for _, x := range rows {
		shown = append(shown, x.Result)
	}
	name := namesOf(b, shown)
	// As many policies as fit stand side by side.
	wide := 8
	for _, c := range r.study.Choices {
		wide = max(wide, 1+utf8.RuneCountInString(shortPolicy(c.Text)))
	}
	const before = 5 + 1 + 9 + 1 + 8 + 8 + 8
	columns := max((terminalColumns-before)/wide, 1)
	for from := 0; from == 0 || from < len(r.study.Choices); from += columns {
		to := min(from+columns, len(r.study.Choices))
		fmt.Fprintf(b, "%5s %9s %-8s%8s%8s", "conn", "at", "kind", "capture", replay.Oracle)
		for _, c := range r.study.Choices[from:to] {
			b.WriteString(pad(shortPolicy(c.Text), wide))
		}
		b.WriteByte('\n')
		for _, x := range rows {
			r.lossHead(b, &x, name(x.Result))
			for i := from; i < to; i++ {
				text := "unknown"
				if rec, _ := x.Recovery(x.N, i, replay.ByRange); rec != nil {
					text = spanOrDash(rec.TRec, rec.Repaired)
				}
				b.WriteString(pad(text, wide))
			}
			b.WriteByte('\n')
		}
		if to < len(r.study.Choices) {
			b.WriteByte('\n')
		}
	}
}

// lossHead prints the columns of a loss before those of the policies.
func (r *replaying) lossHead(b *strings.Builder, x *replay.ResultLoss, name string) {
	l, o := x.Loss(), &x.Oracle[x.N]
	kind := l.Kind.String()
	switch {
	case !l.Needed() && l.TRec > 0:
		kind += "*"
	case x.Gates[x.N] != replay.Passed:
		kind += "!"
	}
	fmt.Fprintf(b, "%5s %8.3fs %-8s%s%s", name, x.Captured.Seconds(l.At, r.firstOf(x.Result)), kind, pad(spanOrDash(l.TRec, l.TRec > 0), 8), pad(spanOrDash(o.TRec, o.Repaired), 8))
}

// namesOf returns the names of connections in a table: their number, after that of their file if
// there are several. It lists those files.
func namesOf(b *strings.Builder, results []*replay.Result) func(*replay.Result) string {
	numbers, files := map[string]int{}, []string{}
	for _, x := range results {
		if _, ok := numbers[x.File]; !ok {
			files = append(files, x.File)
			numbers[x.File] = len(files)
		}
	}
	if len(files) == 1 {
		return func(x *replay.Result) string { return strconv.Itoa(x.ID) }
	}
	for i, file := range files {
		fmt.Fprintf(b, "%5s %s\n", fmt.Sprintf("%d:", i+1), file)
	}
	b.WriteByte('\n')
	return func(x *replay.Result) string { return fmt.Sprintf("%d:%d", numbers[x.File], x.ID) }
}

// The tables.
var (
	policyLayout = record.NewLayout[policyRecord]("%-18policy%4n%8median_s%8p95_s%9saved_by_range_s%20Interval  %verdict")
	keyLayout    = record.NewLayout[policyRecord]("%-18policy%9PartRange%9PartTime%9PartIndex%9LeftOut%9spurious_retransmissions%10waiting_s")
	gatedLayout  = record.NewLayout[replayRecord]("%5conn %8packet %-8kind%8captured_t_rec_s%8t_rec_by_range_s")
)

// longPolicy takes a policy that is too long for its column out of a row, and returns the line
// before the row that has it.
func longPolicy(policy *string, width, indent int) (line string) {
	if utf8.RuneCountInString(*policy) > width {
		line, *policy = strings.Repeat(" ", indent)+*policy+"\n", " "
	}
	return line
}

func policyRow(l *record.Layout[policyRecord], rec policyRecord) string {
	return longPolicy(&rec.Policy, 18, 0) + l.Row(&rec)
}

// policyTable prints how each policy does over all losses that count.
func (r *replaying) policyTable(b *strings.Builder, summaries []replay.Summary) {
	b.WriteString("\n" + policyLayout.Head())
	for _, rec := range r.policies(summaries) {
		b.WriteString(policyRow(policyLayout, rec))
	}
	var reasons []string
	open := map[string][]string{} // policies by why it cannot be told
	for i := range summaries {
		s := &summaries[i]
		if s.Effect == replay.CannotTell {
			if open[s.Why] == nil {
				reasons = append(reasons, s.Why)
			}
			open[s.Why] = append(open[s.Why], s.Policy)
		}
	}
	b.WriteString("\nsaved: the oracle's recovery times less the policy's\n")
	for _, why := range reasons {
		b.WriteString(indented("cannot tell: ", why+" ("+strings.Join(open[why], ", ")+")"))
	}
}

// gateTable says how many of the needed losses do not count, and why.
func (r *replaying) gateTable(b *strings.Builder, g *replay.GateSummary) {
	if g.Needed == g.Passed {
		return
	}
	fmt.Fprintf(b, "\n%d of %d losses cannot be replayed", g.Needed-g.Passed, g.Needed)
	if !r.details {
		b.WriteString(" (see --details)")
	}
	b.WriteString(", because\n")
	for gate, n := range g.Gates {
		if replay.Gate(gate) > replay.NotNeeded && n > 0 {
			fmt.Fprintf(b, "  %d: %v\n", n, replay.Gate(gate))
		}
	}
}

// keyTable prints what each policy saves by each key, and what is left out of it.
func keyTable(b *strings.Builder, summaries []replay.Summary) {
	b.WriteString("\nsaved, in percent\n" + keyLayout.Head())
	for i := range summaries {
		b.WriteString(policyRow(keyLayout, choiceRecordOf(&summaries[i])))
	}
	b.WriteString("\nleft out: losses whose repair depends on packets that the capture does not show\n" +
		"spurious: unnecessary retransmissions of whole connections\n" +
		"waiting: the sum of the recovery times, less a round trip each\n")
}

// gatedTable lists the needed losses that do not count, with the reason.
func (r *replaying) gatedTable(b *strings.Builder) {
	const most = 50
	n := 0
	for x, i := range replay.Losses(r.results) {
		if !x.Captured.Losses[i].Needed() || x.Gates[i] == replay.Passed {
			continue
		}
		if n++; n > most {
			continue
		}
		if n == 1 {
			b.WriteString("\nlosses that cannot be replayed\n" + gatedLayout.Head())
		}
		rec := r.oracleRecord(x, i)
		fmt.Fprintf(b, "%s      %s: %v\n", gatedLayout.Row(&rec), x.File, x.Gates[i])
	}
	if n > most {
		fmt.Fprintf(b, "and %d more, see --json\n", n-most)
	}
}

// pad fills a text with blanks on the left, up to so many columns.
func pad(text string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0)) + text
}

func spanOrDash(d time.Duration, ok bool) string {
	if !ok {
		return "-"
	}
	return track.SpanText(d)
}

// shortPolicy is a short and unique text of a policy, for the head of a column.
func shortPolicy(text string) string {
	if rest, ok := strings.CutPrefix(text, "per-segment@"); ok {
		return rest
	}
	for long, short := range map[string]string{"per-segment": "seg", "internet": "inet", "datacenter": "dc", replay.Captured: "model"} {
		if rest, ok := strings.CutPrefix(text, long); ok {
			return short + rest
		}
	}
	return text
}
