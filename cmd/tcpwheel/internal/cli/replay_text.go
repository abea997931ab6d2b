package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/record"
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
)

// writeTables prints the answer in words, the policies, and the longest losses.
func (r *replaying) writeTables() error {
	var b strings.Builder
	summaries := r.study.Summarize(r.Results)
	if len(r.Results) > 0 {
		h := pages.NewHeadline(&r.study, r.Results, summaries, r.First)
		b.WriteString(paragraph(h.Lost) + paragraph(h.Timers))
		for _, line := range h.Each {
			b.WriteString(indented("- ", line))
		}
		b.WriteString("\n")
	}
	r.writeHead(&b, fmt.Sprintf("%d replayed", len(r.Results)))
	if g := replay.SummarizeGate(r.Results); g.Needed > 0 {
		r.policyTable(&b, summaries)
		r.gateTable(&b, &g)
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
	fmt.Fprintf(b, "%s, %d with losses, %s\n", quantity.Count(r.Conns, "connection"), r.Lossy, done)
	reasons := map[string]int{}
	for _, x := range r.Refusals {
		reasons[x.Reason]++
	}
	for _, x := range r.Refusals {
		if n := reasons[x.Reason]; n > 0 {
			b.WriteString(indented("not replayed: ", fmt.Sprintf("%d, because %s", n, x.Reason)))
			reasons[x.Reason] = 0
		}
	}
	if r.Conns > 0 && r.Lossy == 0 {
		b.WriteString("there is no loss in it: nothing to compare\n")
	}
}

// lossTable prints the recovery times of the longest losses: captured, of the control, and under
// each policy.
func (r *replaying) lossTable(b *strings.Builder) {
	rows := r.Losses(r.top)
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\nlongest losses: recovery times by range (* not needed, ! does not count)\n")
	if slices.ContainsFunc(r.study.Choices, func(c replay.Choice) bool { return strings.HasPrefix(c.Text, replay.Captured) }) {
		b.WriteString("model is the policy captured: the stack that explains the captured timers best\n")
	}
	var shown []*replay.Result
	for i := range rows {
		shown = append(shown, rows[i].Result)
	}
	name := namesOf(b, shown)
	for i := range rows {
		rows[i].Name = name(rows[i].Result)
	}
	// As many policies as fit stand side by side.
	wide, heads := 8, []string{"capture", "control"}
	for _, c := range r.study.Choices {
		heads = append(heads, shortPolicy(c.Text))
		wide = max(wide, 1+utf8.RuneCountInString(shortPolicy(c.Text)))
	}
	times := pages.Recoveries(heads...)
	layout, policies := lossLayout.With(8, times[:2]), times[2:]
	const before = 5 + 1 + 9 + 1 + 8 + 8 + 8
	columns := max((terminalColumns-before)/wide, 1)
	for from := 0; from == 0 || from < len(policies); from += columns {
		if from > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(layout.With(wide, policies[from:min(from+columns, len(policies))]).Table(rows))
	}
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
		fmt.Fprintf(b, "%5s %s\n", fmt.Sprintf("%d:", i+1), quantity.Printable(file))
	}
	b.WriteByte('\n')
	return func(x *replay.Result) string { return fmt.Sprintf("%d:%d", numbers[x.File], x.ID) }
}

// The tables.
var (
	policyLayout = record.NewLayout[policyRecord]("%-18policy%4n%8median_s%8p95_s%9saved_by_range_s%20Interval  %verdict")
	lossLayout   = record.NewLayout[pages.LossRow]("%5Name %9Since %-8Marked")
)

// longCell takes a text that is too long for its column out of a row, and returns the line before
// the row that has it.
func longCell(text *string, width, indent int) (line string) {
	if utf8.RuneCountInString(*text) > width {
		line, *text = strings.Repeat(" ", indent)+*text+"\n", " "
	}
	return line
}

func policyRow(l *record.Layout[policyRecord], rec policyRecord) string {
	return longCell(&rec.Policy, 18, 0) + l.Row(&rec)
}

// policyTable prints how each policy does over all losses that count.
func (r *replaying) policyTable(b *strings.Builder, summaries []replay.Summary) {
	b.WriteString("\n" + policyLayout.Head())
	for _, rec := range r.allPolicies(summaries) {
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
	b.WriteString("\ncontrol: the replay with the captured times\nsaved: its recovery times less the policy's\n")
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
	b.WriteString(" (--json has each), because\n")
	for gate, n := range g.Gates {
		if replay.Gate(gate) > replay.NotNeeded && n > 0 {
			fmt.Fprintf(b, "  %d: %v\n", n, replay.Gate(gate))
		}
	}
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
