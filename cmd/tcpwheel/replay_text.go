package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tcpwheel/pcaps/replay"
)

// writeTables prints the losses, and then how the policies have done.
func (r *replaying) writeTables() error {
	var b strings.Builder
	r.writeHead(&b, fmt.Sprintf("%d replayed", len(r.results)))
	if len(r.results) > 0 {
		r.lossTable(&b)
		if c := replay.CapturedSummary(r.results); c.N == 0 {
			b.WriteString("\nnothing to compare: no loss of it was both needed and repaired\n")
			if r.anyRefused() {
				b.WriteByte('\n')
				r.refusedTable(&b)
			}
		} else {
			r.policyTable(&b)
			r.trustTable(&b)
		}
	}
	_, err := r.stdout.Write([]byte(b.String()))
	return err
}

// writeHead says how many connections there are, and which of them are not replayed, and why.
func (r *replaying) writeHead(b *strings.Builder, done string) {
	fmt.Fprintf(b, "%s, %d with losses, %s\n", plural(int64(r.conns), "connection"), r.lossy, done)
	reasons := map[string]int{}
	for _, x := range r.refusals {
		reasons[x.reason]++
	}
	for _, x := range r.refusals {
		if n := reasons[x.reason]; n > 0 {
			fmt.Fprintf(b, "not replayed: %d, because %s\n", n, x.reason)
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

// lossTable prints the recovery time of the longest losses, as captured and under each policy.
func (r *replaying) lossTable(b *strings.Builder) {
	rows := replay.Longest(r.results, r.top)
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\nrecovery times of the longest losses, by range (* was not needed)\n")
	if slices.ContainsFunc(r.study.Choices, func(c replay.Choice) bool { return strings.HasPrefix(c.Text, replay.Captured) }) {
		b.WriteString("model is the policy captured: timers as those that explain the capture best\n")
	}
	var shown []*replay.Result
	for _, at := range rows {
		shown = append(shown, r.results[at[0]])
	}
	name := namesOf(b, shown)
	// As many policies stand beside each other as there is room for.
	wide := 8
	for _, c := range r.study.Choices {
		wide = max(wide, 1+utf8.RuneCountInString(shortPolicy(c.Text)))
	}
	const before = 5 + 1 + 9 + 1 + 8 + 8
	columns := max((terminalColumns-before)/wide, 1)
	for from := 0; from < len(r.study.Choices); from += columns {
		to := min(from+columns, len(r.study.Choices))
		fmt.Fprintf(b, "%5s %9s %-8s%8s", "conn", "at", "kind", "capture")
		for _, c := range r.study.Choices[from:to] {
			b.WriteString(pad(shortPolicy(c.Text), wide))
		}
		b.WriteByte('\n')
		for _, at := range rows {
			x := r.results[at[0]]
			l := &x.Script.Loss[at[1]]
			kind := l.Kind.String()
			if !l.Counts() && l.TRec > 0 {
				kind += "*"
			}
			fmt.Fprintf(b, "%5s %8.3fs %-8s%s", name(x), x.Script.Seconds(l.At, r.firstOf(x)), kind, pad(spanOrDash(l.TRec, l.TRec > 0), 8))
			for i := from; i < to; i++ {
				rec := &x.Outcomes[i][replay.ByRange].Recoveries[at[1]]
				text := spanOrDash(rec.TRec, rec.Sent)
				switch {
				case x.Refused(i):
					text = "refused"
				case rec.Sent && rec.Beyond:
					text = "beyond"
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

// namesOf returns what connections are called in a table: their number, with that of their file before it if the table has several, which
// are listed then.
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

// policyCell is the text of a policy in so many columns. One that is longer is written in a line of its own before, so many columns in.
func policyCell(b *strings.Builder, text string, width, indent int) string {
	if utf8.RuneCountInString(text) <= width {
		return text + strings.Repeat(" ", width-utf8.RuneCountInString(text))
	}
	fmt.Fprintf(b, "%*s%s\n", indent, "", text)
	return strings.Repeat(" ", width)
}

// policyTable prints how each policy has done over all losses.
func (r *replaying) policyTable(b *strings.Builder) {
	fmt.Fprintf(b, "\n%-20s%5s%9s%9s%9s%9s%9s%10s\n", "policy", "n", "median", "p95", "p99", "stall", "needless", "saved")
	row := func(name string, s *replay.Summary, saved string) {
		fmt.Fprintf(b, "%s%5d%s%s%s%s%9d%s\n", policyCell(b, name, 20, 0), s.N, pad(spanOrDash(s.Median, s.N > 0), 9), pad(spanOrDash(s.P95, s.N > 0), 9),
			pad(spanOrDash(s.P99, s.N > 0), 9), pad(spanOrDash(s.Stall, s.N > 0), 9), s.Needless, saved)
	}
	c := replay.CapturedSummary(r.results)
	row("(as captured)", &c, "")
	for i := range r.study.Choices {
		s := replay.Summarize(r.results, i)
		row(r.study.Choices[i].Text, &s, pad(spanOrDash(s.Saved[replay.ByRange], s.N > 0), 10))
	}
}

// trustTable prints what is saved by each key, and how much of it the capture tells.
func (r *replaying) trustTable(b *strings.Builder) {
	refused, none, beyond := r.anyRefused(), false, false
	fmt.Fprintf(b, "\n%-20s%9s%9s%9s%10s%8s  %s\n", "saved, in percent", "by range", "by time", "by index", "filled in", "horizon", "verdict")
	for i := range r.study.Choices {
		s := replay.Summarize(r.results, i)
		b.WriteString(policyCell(b, r.study.Choices[i].Text, 20, 0))
		for k := range s.Saved {
			text := "-"
			if s.Of[k] > 0 {
				text = fmt.Sprintf("%.1f", 100*float64(s.Saved[k])/float64(s.Of[k]))
			}
			b.WriteString(pad(text, 9))
		}
		verdict := "yes"
		switch {
		case s.Refused == len(r.results):
			verdict = "refused"
		case s.N == 0:
			verdict = "none" // nothing that was needed was repaired
		case s.Refused > 0:
			verdict = fmt.Sprintf("all but %d", s.Refused)
		}
		fmt.Fprintf(b, "%s%8d  %s\n", pad(fmt.Sprintf("%.2f %%", 100*s.Share()), 10), s.Beyond, verdict)
		none, beyond = none || verdict == "none", beyond || s.Beyond > 0
	}
	if refused || none || beyond {
		b.WriteByte('\n')
	}
	if beyond {
		b.WriteString("horizon: so many losses lie behind a fate drawn by chance, and do not count\n")
	}
	if none {
		b.WriteString("none: no loss that counts was repaired in the replay\n")
	}
	if refused {
		r.refusedTable(b)
	}
}

// anyRefused reports whether there is no verdict on some connection under some policy.
func (r *replaying) anyRefused() bool {
	return slices.ContainsFunc(r.results, func(x *replay.Result) bool {
		for i := range r.study.Choices {
			if x.Refused(i) {
				return true
			}
		}
		return false
	})
}

// refusedTable says for which connections there is no verdict, and why.
func (r *replaying) refusedTable(b *strings.Builder) {
	fmt.Fprintf(b, "refused, because more than %.0f %% of what was sent had to be filled in:\n", 100*replay.MostImputed)
	const most = 5
	n, file := 0, ""
	for _, x := range r.results {
		text, least, all := "", 1.0, 0.0
		policies := 0
		for i, c := range r.study.Choices {
			if !x.Refused(i) {
				continue
			}
			share := x.Outcomes[i][replay.ByRange].Share()
			text, least, all = c.Text, min(least, share), max(all, share)
			policies++
		}
		if policies == 0 {
			continue
		}
		if n++; n > most {
			continue
		}
		shares := fmt.Sprintf("%.1f %%", 100*all)
		if least < all {
			shares = fmt.Sprintf("%.1f to %.1f %%", 100*least, 100*all)
		}
		if policies > 1 {
			text = fmt.Sprintf("%d of %d policies", policies, len(r.study.Choices))
		}
		if x.File != file {
			file = x.File
			fmt.Fprintf(b, "  %s\n", file)
		}
		fmt.Fprintf(b, "    connection %d: %s under %s\n", x.ID, shares, text)
	}
	if n > most {
		fmt.Fprintf(b, "    and %s, see --json or --html\n", plural(int64(n-most), "connection more"))
	}
}

// pad puts blanks before a text, so that it is so many columns wide.
func pad(text string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0)) + text
}

func spanOrDash(d time.Duration, ok bool) string {
	if !ok {
		return "-"
	}
	return shortSpan(d)
}

// shortPolicy is the text of a policy for the head of a column, which tells it from all others.
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
