package report

import (
	"fmt"
	"io"
	"strings"

	"tcpwheel/experiments"
)

// WritePage writes report.md: each study with what it found, its claims, figures, tables and notes.
// It links to the figures of the directory.
func (r *Report) WritePage(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Report of studies\n\n**%s.** Written by %s, `%s`.\n", r.Count(), inTable(r.Program), r.Command())
	if m := r.Machine; m != nil {
		b.WriteString("\n")
		prose(&b, "", inTable(fmt.Sprintf("Live parts ran on %s, %s, %d processors, %s, kernel %s.", m.OS, orDash(m.CPU),
			m.CPUs, m.Go, orDash(m.Kernel))))
	}
	for i := range r.Studies {
		s := &r.Studies[i]
		name := s.Job.Study.Name
		fmt.Fprintf(&b, "\n## %s %s: %s\n\n", s.Job.Study.ID, name, inTable(s.Job.Words().Question))
		prose(&b, "", fmt.Sprintf("%s %s cells of [the plan](%s/plan.yaml), `%s`.", s.Found(),
			experiments.Text(len(s.Job.Cells)), name, s.Command()))
		writeOutcome(&b, name+"/", s.Outcome)
		for _, l := range s.Live {
			fmt.Fprintf(&b, "\n### %s on this machine\n", l.Name)
			if l.Outcome == nil {
				fmt.Fprintf(&b, "\nIt could not run: %s.\n", inTable(l.Skipped))
				continue
			}
			writeOutcome(&b, name+"/live-"+l.Name+"-", l.Outcome)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeOutcome writes an outcome whose files have a prefix.
func writeOutcome(b *strings.Builder, prefix string, o *experiments.Outcome) {
	for _, text := range o.Warnings {
		b.WriteString("\n")
		prose(b, "", "**Warning.** "+sentence(text))
	}
	writeClaims(b, o.Claims)
	for i := range o.Figures {
		f := &o.Figures[i]
		fmt.Fprintf(b, "\n![%s](%sfigure-%s.svg)\n", bracketless.Replace(inTable(f.Title)), prefix, f.Name)
		if f.Caption != "" {
			b.WriteString("\n")
			prose(b, "", inTable(f.Caption))
		}
	}
	for i := range o.Tables {
		t := &o.Tables[i]
		b.WriteString("\n")
		if t.Data {
			prose(b, "", fmt.Sprintf("%s: [%s%s.csv](%s%s.csv).", t.Title, prefix, t.Name, prefix, t.Name))
			continue
		}
		prose(b, "", sentence(inTable(t.Title)))
		b.WriteString("\n")
		writeTable(b, t)
	}
	for _, note := range o.Notes {
		b.WriteString("\n")
		prose(b, "", note)
	}
}

// isWords reports whether less than half of a column's non-empty cells are numbers.
func isWords(rows [][]any, column int) bool {
	words, numbers := 0, 0
	for _, row := range rows {
		switch v := row[column]; {
		case experiments.IsNumber(v):
			numbers++
		case experiments.Text(v) != "":
			words++
		}
	}
	return words > numbers
}
