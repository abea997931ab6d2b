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
	resultBegin = "<!-- Written by 'tcpwheel experiment docs': do not edit. -->"
	resultEnd   = "<!-- End of the written part. -->"
)

// WriteDocs writes the results into the repository at root: docs/results.md, the figures in
// docs/figures, the results in each study's README, and experiments/sums.txt, which tests use to
// find stale results. The report must come from a full run with the studies' own plans. WriteDocs
// leaves files with the same content alone.
func (r *Report) WriteDocs(root string) error {
	if r.Quick {
		return errors.New("the results of a quick run: documents show those of a full one")
	}
	for i := range r.Studies {
		if j := r.Studies[i].Job; j.User {
			return fmt.Errorf("study %s ran with the plan of a user: documents show the studies' own", j.Study.Name)
		}
	}
	if err := r.checkHeadlines(); err != nil {
		return err
	}
	var all []file
	for i := range r.Studies {
		s := &r.Studies[i]
		name := "experiments/" + s.Job.Study.Folder + "/README.md"
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

// writeDoc writes a file whole, unless it already has this content.
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

// dropFigures removes the figures that the studies no longer have.
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

// split returns the text before and after the written part of a README.
func split(readme string) (before, after string, ok bool) {
	before, rest, ok := strings.Cut(readme, resultBegin)
	if !ok {
		return readme, "", false
	}
	_, after, _ = strings.Cut(rest, resultEnd)
	return before, after, true
}

// withResult replaces the result in a README, or puts it before "What would change our mind".
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

// WithoutResult returns a README without the part that WriteDocs wrote.
func WithoutResult(readme string) string {
	before, after, _ := split(readme)
	return before + strings.TrimPrefix(after, "\n\n")
}

// result is the written part of a study's README: claims, what differs, figures, tables and notes.
func (s *Study) result() string {
	var (
		b strings.Builder
		n Counts
	)
	n.add(s.Outcome)
	prose(&b, "", fmt.Sprintf("**Result.** %s. %s cells; plan `%s`, results `%s` by their SHA-256.",
		n, experiments.Text(len(s.Job.Cells)), s.Job.Hash()[:12], s.Job.Digest(s.Results)[:12]))
	b.WriteString("\n")
	writeClaims(&b, s.Outcome.Claims)
	for _, c := range s.Outcome.Claims {
		if c.Verdict != experiments.Reproduced {
			b.WriteString("\n")
			prose(&b, "", fmt.Sprintf("%s, *%s*: %s",
				capital(string(c.Verdict)), inTable(c.Text), sentence(c.Why)))
		}
	}
	s.writeDetails(&b)
	return b.String()
}

// mostRows is the most rows that a table in a document may have.
const mostRows = 40

func (s *Study) writeDetails(b *strings.Builder) {
	root := "../../" + strings.Repeat("../", strings.Count(s.Job.Study.Folder, "/"))
	for k := range s.Outcome.Figures {
		f := &s.Outcome.Figures[k]
		fmt.Fprintf(b, "\n![%s](%s%s)\n", bracketless.Replace(f.Title), root, s.figureName(f.Name))
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
		b.WriteString("\n")
		prose(b, "", sentence(t.Title))
		b.WriteString("\n")
		writeTable(b, t)
	}
	for _, n := range s.Outcome.Notes {
		b.WriteString("\n")
		prose(b, "", n)
	}
}

var bracketless = strings.NewReplacer("[", "(", "]", ")")

// Markdown returns docs/results.md: the results that matter most, then one row for each claim.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString("# Results of the studies\n\n")
	prose(&b, "", fmt.Sprintf("Reproduce them with `%s`, and this page with `tcpwheel experiment docs DIR`. "+
		"Each study's README has its method, sources, expected bands, tables and figures, and says why a claim differs.", r.Command()))
	fmt.Fprintf(&b, "\n**%s.**\n", r.Count())
	r.writeHeadlines(&b)
	b.WriteString("\n## All claims\n\n✓ means reproduced within the band that was set before the run.\n")
	for i := range r.Studies {
		r.Studies[i].writeRows(&b)
	}
	return b.String()
}

// longestMeasure is the longest measured value that a row of docs/results.md shows, in bytes.
const longestMeasure = 48

// writeRows writes the study's claims, one row each.
func (s *Study) writeRows(b *strings.Builder) {
	j := s.Job
	fmt.Fprintf(b, "\n### [%s %s](../experiments/%s/README.md)\n\nResults `%s`.\n\n| claim | measured | |\n|---|---|---|\n",
		j.Study.ID, j.Study.Name, j.Study.Folder, j.Digest(s.Results)[:12])
	for _, c := range s.Outcome.Claims {
		value := inTable(c.Measured.String())
		if len(value) > longestMeasure {
			value = "see README"
		}
		verdict := string(c.Verdict)
		if c.Verdict == experiments.Reproduced {
			verdict = "✓"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", inTable(c.Text), value, verdict)
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

// writeClaims writes a table of claims.
func writeClaims(b *strings.Builder, claims []experiments.Claim) {
	b.WriteString("| claim | published | source | measured | expected | verdict |\n|---|---|---|---|---|---|\n")
	for _, c := range claims {
		published, source := c.Published, c.Source
		if published == "" {
			published = "–"
		}
		if isComputed(c) {
			source += " (computed for this project)"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n",
			inTable(c.Text), inTable(published), inTable(source), inTable(measured(c)), inTable(c.Expected.String()), c.Verdict)
	}
}

// isComputed reports whether this project computed the claim's figure and its source does not say
// so.
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

// prose writes a paragraph. Lines after the first begin with indent; the first is as much shorter.
func prose(b *strings.Builder, indent, text string) {
	column := len(indent)
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
	number := strings.TrimLeft(word, "0123456789")
	return strings.Trim(word, "-+*=#>|") == "" || number == "." || number == ")"
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
