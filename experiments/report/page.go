package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
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

// pages are the documents with written parts: what a study found, its figures and its tables.
var pages = []string{"README.md", artifactName, "docs/granularity.md", "docs/gvisor.md",
	"experiments/datacentre/operator.md"}

// ownPage is the document that shows the figures and tables of a study, in place of its README.
var ownPage = map[string]string{"granularity": "docs/granularity.md"}

// written is a part of a page, as
//
//	<!-- written: granularity table steps -->
//	…
//	<!-- end -->
var written = regexp.MustCompile(
	`(?s)(<!-- written: (\w+) (found|figure|table|digests) ?([\w-]*) -->\n).*?(<!-- end -->)`)

// fill writes the parts of a page that are of studies in the report.
func (r *Report) fill(page, text string) (string, error) {
	var wrong error
	text = written.ReplaceAllStringFunc(text, func(part string) string {
		m := written.FindStringSubmatch(part)
		if m[3] == "digests" {
			if len(r.Studies) > 1 {
				return m[1] + r.digests() + m[5]
			}
			return part
		}
		s := r.study(m[2])
		if s == nil {
			return part
		}
		body, ok := s.part(page, m[3], m[4])
		if !ok {
			wrong = fmt.Errorf("%s: study %s has no %s %s", page, m[2], m[3], m[4])
		}
		return m[1] + body + m[5]
	})
	return text, wrong
}

// digests returns what each study found, its command, its cost, and the digest of its results.
func (r *Report) digests() string {
	var b strings.Builder
	b.WriteString("| claim | command | minutes | digest |\n|---|---|---:|---|\n")
	for i := range r.Studies {
		s := &r.Studies[i]
		row := []string{firstSentence(s.Found()), "`tcpwheel experiment run " + s.Job.Study.Name + "`",
			fmt.Sprintf("%.1f", s.Job.Cost()/60), "`" + s.Job.Digest(s.Results)[:12] + "`"}
		fmt.Fprintf(&b, "| %s |\n", inRow(row))
	}
	return b.String()
}

// part returns a part of a page.
func (s *Study) part(page, kind, name string) (text string, ok bool) {
	var b strings.Builder
	switch kind {
	case "found":
		prose(&b, "", s.Found())
		return b.String(), true
	case "figure":
		for i := range s.Outcome.Figures {
			if f := &s.Outcome.Figures[i]; f.Name == name {
				s.writePicture(&b, page, f)
				return b.String(), true
			}
		}
	case "table":
		for i := range s.Outcome.Tables {
			if t := &s.Outcome.Tables[i]; t.Name == name {
				prose(&b, "", sentence(t.Title))
				b.WriteString("\n")
				writeTable(&b, t)
				return b.String(), true
			}
		}
	}
	return "", false
}

func (s *Study) writePicture(b *strings.Builder, page string, f *figure.Figure) {
	to, _ := filepath.Rel(filepath.Dir(filepath.FromSlash(page)), filepath.FromSlash(s.figureName(f.Name)))
	fmt.Fprintf(b, "![%s](%s)\n\n", bracketless.Replace(f.Title), filepath.ToSlash(to))
	prose(b, "", f.Caption)
}

// pageFiles returns the pages at root with their parts written. A page that is not there is left
// out.
func (r *Report) pageFiles(root string) (all []file, err error) {
	for _, name := range pages {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		filled, err := r.fill(name, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, file{name, []byte(filled)})
	}
	return all, nil
}

// headlines are the results that matter most, by study: a title for what the study found, and one
// of its figures, or "".
var headlines = []struct{ study, title, figure string }{
	{"granularity", "Tick and floor hide each other, and a timer per segment adds little", "buys"},
	{"vegas", "Coarse clocks multiply the cost of a loss", "mean-by-rtt"},
	{"tableiv", "Timers alone make Reno of 1990 faster, and no later one", "throughput"},
	{"frontier", "Over short round trips the floor decides, then the tick", "frontier"},
	{"comb", "Shared ticks make bursts", "comb"},
	{"cmu", "A floor of 200 ms collapses incast, and one of 1 ms does not", "goodput"},
	{"datacentre", "In a data centre the floor buys most, and belongs to both ends", "losses"},
	{"incast", "SACK decides most where the timeouts of incast begin", "incast-1-timeouts"},
	{"shrew", "Pulses at the floor shut a flow out", "shrew"},
	{"tailmap", "Timers per segment and probes complement each other", "winners-200ms"},
	{"orderedlist", "The paper's average insertion costs have their labels interchanged", "passed-by-n"},
}

// writeHeadlines writes the headlines whose study is in the report.
func (r *Report) writeHeadlines(b *strings.Builder) {
	n := 0
	for _, h := range headlines {
		s := r.study(h.study)
		if s == nil {
			continue
		}
		if n++; n == 1 {
			b.WriteString("\n## The results that matter most\n")
		}
		of := s.link()
		if page := ownPage[h.study]; page != "" {
			of = fmt.Sprintf("[%s](%[1]s)", strings.TrimPrefix(page, "docs/"))
		}
		b.WriteString("\n")
		prose(b, "   ", fmt.Sprintf("%d. **%s.** %s", n, h.title, of))
		if h.figure != "" {
			fmt.Fprintf(b, "\n   ![%s](%s)\n", h.study, strings.TrimPrefix(s.figureName(h.figure), "docs/"))
		}
	}
}

// checkFound returns an error if what a study found names a claim that the study does not have, or
// a headline names no figure of its study.
func (r *Report) checkFound() error {
	for i := range r.Studies {
		if text := r.Studies[i].Found(); strings.Contains(text, "{") {
			return fmt.Errorf("what study %s found: no such claim: %s", r.Studies[i].Job.Study.Name, text)
		}
	}
	for _, h := range headlines {
		s := r.study(h.study)
		if s != nil && h.figure != "" && !slices.ContainsFunc(s.Outcome.Figures,
			func(f figure.Figure) bool { return f.Name == h.figure }) {
			return fmt.Errorf("headline of study %s: no figure %s", h.study, h.figure)
		}
	}
	return nil
}

func (r *Report) study(name string) *Study {
	for i := range r.Studies {
		if r.Studies[i].Job.Study.Name == name {
			return &r.Studies[i]
		}
	}
	return nil
}

var fraction = regexp.MustCompile(`\d+\.\d+`)

// Found says what the study found. It replaces each {claim} by the measured value with its unit,
// and each {claim#} by the number alone. A sentence about a claim that does not apply is left out.
// Fractions have three significant digits: tables have the fourth.
func (s *Study) Found() string {
	var said []string
	for _, text := range strings.SplitAfter(s.Job.Words().Found, ". ") {
		applies := true
		for _, c := range s.Outcome.Claims {
			name, number := "{"+c.Name+"}", "{"+c.Name+"#}"
			if strings.Contains(text, name) || strings.Contains(text, number) {
				applies = applies && c.Verdict != experiments.NotApplicable
			}
			text = strings.ReplaceAll(text, name, c.Measured.String())
			text = strings.ReplaceAll(text, number, experiments.Number(c.Measured.Value))
		}
		if applies {
			said = append(said, text)
		}
	}
	return fraction.ReplaceAllStringFunc(strings.TrimSpace(strings.Join(said, "")), func(number string) string {
		x, _ := strconv.ParseFloat(number, 64) // digits
		return experiments.Significant(x, 3)
	})
}
