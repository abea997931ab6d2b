package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"tcpwheel/experiments"
)

// Places in the repository.
const (
	resultsName = "docs/results.md"
	figuresName = "docs/figures"
)

// Marks of the part of a study's README that WriteDocs writes.
const (
	resultBegin = "<!-- What follows is written by 'tcpwheel experiment docs'. -->"
	resultEnd   = "<!-- What was written ends. -->"
)

// WriteDocs writes the results into the repository at root: docs/results.md, the figures in docs/figures, the results
// in the README of each study, and experiments/sums.txt, by which tests find results that are stale. The report must be
// of a full run with the studies' own plans. Files that say so already are not touched.
func (r *Report) WriteDocs(root string) error {
	if r.Quick {
		return errors.New("the results of a quick run: documents show those of a full one")
	}
	for i := range r.Studies {
		if j := r.Studies[i].Job; j.User {
			return fmt.Errorf("study %s ran with the plan of a user: documents show the studies' own", j.Study.Name)
		}
	}
	var all []file
	for i := range r.Studies {
		s := &r.Studies[i]
		name := "experiments/" + s.Job.Study.Name + "/README.md"
		readme, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		all = append(all, file{name, []byte(withResult(string(readme), s.result()))})
		for k := range s.Outcome.Figures {
			f := &s.Outcome.Figures[k]
			all = append(all, file{s.figureName(f.Name), f.File()})
		}
	}
	all = append(all, file{resultsName, []byte(r.Markdown())}, file{SumsName, []byte(r.sums())})
	for _, f := range all {
		if err := writeDoc(filepath.Join(root, filepath.FromSlash(f.name)), f.data); err != nil {
			return err
		}
	}
	return r.dropFigures(root, all)
}

func (s *Study) figureName(figure string) string {
	return figuresName + "/" + s.Job.Study.Name + "-" + figure + ".svg"
}

// writeDoc writes a file whole, unless it has these octets.
func writeDoc(name string, data []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	part := name + ".part"
	if err := os.WriteFile(part, data, 0o666); err != nil {
		return err
	}
	return os.Rename(part, name)
}

// dropFigures removes figures of the studies that they have no more.
func (r *Report) dropFigures(root string, all []file) error {
	dir := filepath.Join(root, filepath.FromSlash(figuresName))
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	keep := map[string]bool{}
	for _, f := range all {
		keep[f.name] = true
	}
	for _, e := range entries {
		study, _, _ := strings.Cut(e.Name(), "-")
		ours := false
		for i := range r.Studies {
			ours = ours || r.Studies[i].Job.Study.Name == study
		}
		if ours && strings.HasSuffix(e.Name(), ".svg") && !keep[figuresName+"/"+e.Name()] {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// split returns what stands before and after the written part of a README.
func split(readme string) (before, after string, ok bool) {
	before, rest, ok := strings.Cut(readme, resultBegin)
	if !ok {
		return readme, "", false
	}
	_, after, _ = strings.Cut(rest, resultEnd)
	return before, after, true
}

// withResult puts the result into a README: where it stood, or before what would change our mind, as the house orders
// it.
func withResult(readme, result string) string {
	part := resultBegin + "\n\n" + result + "\n" + resultEnd
	if before, after, ok := split(readme); ok {
		return before + part + after
	}
	const last = "**What would change our mind.**"
	if before, after, ok := strings.Cut(readme, last); ok {
		return before + part + "\n\n" + last + after
	}
	return strings.TrimRight(readme, "\n") + "\n\n" + part + "\n"
}

// WithoutResult takes the part that WriteDocs has written out of a README.
func WithoutResult(readme string) string {
	before, after, _ := split(readme)
	return before + strings.TrimPrefix(after, "\n\n")
}

// result is the part of a README.
func (s *Study) result() string {
	var (
		b strings.Builder
		n Counts
	)
	n.add(s.Outcome)
	prose(&b, "", fmt.Sprintf("**Result.** %s cells; results `%s` by their SHA-256. [docs/results.md](../../%s#%s) has tables and figures.",
		experiments.Text(len(s.Job.Cells)), s.Job.Digest(s.Results)[:12], resultsName, s.anchor()))
	b.WriteString("\n")
	writeClaims(&b, s.Outcome.Claims, nil)
	fmt.Fprintf(&b, "\n**Verdict.** %s.\n", n)
	for _, c := range s.Outcome.Claims {
		if c.Verdict != experiments.Reproduced {
			b.WriteString("\n")
			prose(&b, "", fmt.Sprintf("%s, *%s*: %s", capital(string(c.Verdict)), inTable(c.Text), sentence(c.Why)))
		}
	}
	return b.String()
}

func (s *Study) anchor() string { return s.Job.Study.Name }

// Markdown returns docs/results.md: the claims, what was not reproduced, and each study.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString("# Results of the studies\n\n")
	fmt.Fprintf(&b, "Written by `tcpwheel experiment docs` of a run of\n\n    %s\n\n", r.Command())
	prose(&b, "", fmt.Sprintf("%s. Bands that decide verdicts come from the sources and from definitions; a study whose bands or settings "+
		"were added after a first run says so in its README. There is also what is asked, how, and what would change our mind. Numbers "+
		"have four digits; the run writes all of them.", r.Count()))
	b.WriteString("\n")
	b.WriteString("## Claims\n\n")
	rows := make([]*Study, 0)
	var claims []experiments.Claim
	for i := range r.Studies {
		for _, c := range r.Studies[i].Outcome.Claims {
			claims, rows = append(claims, c), append(rows, &r.Studies[i])
		}
	}
	writeClaims(&b, claims, rows)
	b.WriteString("\n## What was not reproduced\n\n")
	open := r.Open()
	for _, o := range open {
		c, study := o.Claim, o.Study.Job.Study
		text := fmt.Sprintf("- **%s**: [%s %s](#%s): %s. ", capital(string(c.Verdict)), study.ID, study.Name, o.Study.anchor(), inTable(c.Text))
		if c.Published != "" {
			text += fmt.Sprintf("Published: %s (%s). ", inTable(c.Published), inTable(c.Source))
		}
		text += fmt.Sprintf("Expected: %s. Measured: %s. Why: %s", inTable(c.Expected), inTable(measured(c)), sentence(c.Why))
		prose(&b, "  ", text)
	}
	if len(open) == 0 {
		b.WriteString("Nothing: each claim is within the band that was set for it.\n")
	}
	for i := range r.Studies {
		r.Studies[i].markdown(&b)
	}
	return b.String()
}

// mostRows is how many rows of a table stand in documents.
const mostRows = 40

func (s *Study) markdown(b *strings.Builder) {
	j := s.Job
	fmt.Fprintf(b, "\n<a id=\"%s\"></a>\n\n## %s %s\n\n%s ([plan and method](../experiments/%s/README.md))\n\n    %s\n\n", s.anchor(), j.Study.ID, j.Study.Name,
		j.Study.Question, j.Study.Name, s.Command())
	fmt.Fprintf(b, "%s cells; plan `%s`, results `%s` by their SHA-256.\n", experiments.Text(len(j.Cells)), j.Hash()[:12], j.Digest(s.Results)[:12])
	for k := range s.Outcome.Figures {
		f := &s.Outcome.Figures[k]
		fmt.Fprintf(b, "\n![%s](%s)\n", strings.NewReplacer("[", "(", "]", ")").Replace(f.Title), strings.TrimPrefix(s.figureName(f.Name), "docs/"))
		if f.Caption != "" {
			b.WriteString("\n")
			prose(b, "", f.Caption)
		}
	}
	for k := range s.Outcome.Tables {
		t := &s.Outcome.Tables[k]
		if t.Data || len(t.Rows) > mostRows {
			continue
		}
		fmt.Fprintf(b, "\n%s\n\n", sentence(t.Title))
		writeTable(b, t)
	}
	for _, n := range s.Outcome.Notes {
		b.WriteString("\n")
		prose(b, "", n)
	}
}

func writeTable(b *strings.Builder, t *experiments.Table) {
	b.WriteString("|")
	for _, c := range t.Columns {
		b.WriteString(" " + inTable(c) + " |")
	}
	b.WriteString("\n|")
	for i := range t.Columns {
		if isWords(t.Rows, i) {
			b.WriteString("---|")
		} else {
			b.WriteString("---:|")
		}
	}
	b.WriteString("\n")
	for _, r := range t.Rows {
		b.WriteString("|")
		for _, v := range r {
			b.WriteString(" " + inTable(experiments.Text(v)) + " |")
		}
		b.WriteString("\n")
	}
}

// writeClaims writes a table of claims; studies, if it is not nil, has the study of each.
func writeClaims(b *strings.Builder, claims []experiments.Claim, studies []*Study) {
	if studies != nil {
		b.WriteString("| study ")
	}
	b.WriteString("| claim | published | source | measured | expected | verdict |\n")
	if studies != nil {
		b.WriteString("|---")
	}
	b.WriteString("|---|---|---|---|---|---|\n")
	for i, c := range claims {
		if studies != nil {
			fmt.Fprintf(b, "| [%s](#%s) ", studies[i].Job.Study.ID, studies[i].anchor())
		}
		published, source := c.Published, c.Source
		if published == "" {
			published = "–"
		}
		if isComputed(c) {
			source += " (computed for this project)"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", inTable(c.Text), inTable(published), inTable(source), inTable(measured(c)), inTable(c.Expected), c.Verdict)
	}
}

// isComputed reports whether it is to be said of a claim that its figure was computed here.
func isComputed(c experiments.Claim) bool {
	return c.Tag == experiments.Computed && !strings.Contains(c.Source, "computed")
}

func measured(c experiments.Claim) string {
	text := c.Measured.String()
	if in := c.Measured.Interval(); in != "" {
		text += " (" + in + ")"
	}
	return text
}

// inTable keeps text within a cell.
func inTable(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}

// proseWidth is how wide the lines of a paragraph may be.
const proseWidth = 120

// prose writes a paragraph, whose lines after the first begin with indent.
func prose(b *strings.Builder, indent, text string) {
	column := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > proseWidth && !startsBlock(word):
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	b.WriteByte('\n')
}

// startsBlock reports whether a line that begins with a word would be a list, a title or a rule.
func startsBlock(word string) bool {
	return strings.Trim(word, "-+*=#>|") == "" || strings.Trim(word, "0123456789") == "." || strings.Trim(word, "0123456789") == ")"
}

func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// sentence ends text as a sentence.
func sentence(s string) string {
	if strings.HasSuffix(s, ".") || s == "" {
		return s
	}
	return s + "."
}
