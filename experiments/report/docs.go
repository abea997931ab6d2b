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
	"tcpwheel/pcaps/figure"
)

// Places in the repository.
const (
	resultsName  = "docs/results.md"
	artifactName = "experiments/ARTIFACT.md"
	figuresName  = "docs/figures"
)

// Marks of the part of a study's README that WriteDocs writes.
const (
	resultBegin = "<!-- Written by 'make results': do not edit. -->"
	resultEnd   = "<!-- End of the written part. -->"
)

// WriteDocs writes the results into the repository at root: docs/results.md, the figures in
// docs/figures, the results in each study's README, the written parts of pages, and
// experiments/sums.txt, which tests use to find stale results. The report must come from a full run
// with the studies' own plans. WriteDocs leaves files with the same content alone.
func (r *Report) WriteDocs(root string) error {
	if r.Quick {
		return errors.New("the results of a quick run: documents show those of a full one")
	}
	for i := range r.Studies {
		if j := r.Studies[i].Job; j.User {
			return fmt.Errorf("study %s ran with the plan of a user: documents show the studies' own", j.Study.Name)
		}
	}
	if err := r.checkFound(); err != nil {
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
			if f == s.figure() || ownPage[s.Job.Study.Name] != "" {
				all = append(all, file{s.figureName(f.Name), f.File()})
			}
		}
	}
	more, err := r.pageFiles(root)
	if err != nil {
		return err
	}
	all = append(all, more...)
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

// withResult replaces the result in a README, or puts it before what would overturn it.
func withResult(readme, result string) string {
	part := resultBegin + "\n\n" + result + "\n" + resultEnd
	if before, after, ok := split(readme); ok {
		return before + part + after
	}
	const last = "**What would overturn it.**"
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

// result is the written part of a study's README: what it found, its claims, and a figure.
func (s *Study) result() string {
	var (
		b strings.Builder
		n Counts
	)
	n.add(s.Outcome)
	counted := ""
	if len(s.Outcome.Claims) > 0 {
		counted = fmt.Sprint(n, ". ")
	}
	prose(&b, "", fmt.Sprintf("**Result.** %s %s%s cells; plan `%s`, results `%s` by their SHA-256.",
		s.Found(), counted, experiments.Text(len(s.Job.Cells)), s.Job.Hash()[:12], s.Job.Digest(s.Results)[:12]))
	writeClaims(&b, s.Outcome.Claims)
	if page := ownPage[s.Job.Study.Name]; page != "" {
		fmt.Fprintf(&b, "\n[%s](../../%s) shows figures and tables.\n", page, page)
	} else if f := s.figure(); f != nil {
		root := "../../" + strings.Repeat("../", strings.Count(s.Job.Study.Folder, "/"))
		fmt.Fprintf(&b, "\n![%s](%s%s)\n", bracketless.Replace(f.Title), root, s.figureName(f.Name))
	}
	return b.String()
}

// figure returns the figure that the README shows: that of the headline, or the first one.
func (s *Study) figure() *figure.Figure {
	for _, h := range headlines {
		for i := range s.Outcome.Figures {
			if f := &s.Outcome.Figures[i]; h.study == s.Job.Study.Name && h.figure == f.Name {
				return f
			}
		}
	}
	if len(s.Outcome.Figures) == 0 {
		return nil
	}
	return &s.Outcome.Figures[0]
}

var bracketless = strings.NewReplacer("[", "(", "]", ")")

// Markdown returns docs/results.md: the results that matter most, the published ones that were not
// reproduced, and links to all studies. The READMEs of the studies have everything else.
func (r *Report) Markdown() string {
	var b strings.Builder
	n := r.Count()
	fmt.Fprintf(&b, "# Results of the studies\n\n**%s.**\n\n", n)
	prose(&b, "", fmt.Sprintf("With this page you find what these studies found, and doubt it: `%s` repeats it, with a "+
		"study's name in place of --all one row. [studies.md](studies.md) says what counts as reproduced. %d verdicts on "+
		"published results are unsettled: chance may have decided them. [ARTIFACT.md](../%s) has a sentence for each "+
		"study, and the README of a study its claims with sources, bands and intervals.", r.Command(), n.Unsettled,
		artifactName))
	r.writeHeadlines(&b)
	r.writeOpen(&b)
	r.writeStudies(&b)
	return b.String()
}

// writeOpen writes a row for each published claim that was not reproduced. Why is in the studies'
// READMEs, next to the claims.
func (r *Report) writeOpen(b *strings.Builder) {
	for _, v := range []struct {
		title   string
		verdict experiments.Verdict
	}{{"Published results that were not reproduced", experiments.NotReproduced},
		{"Published results that differ", experiments.Differs}} {
		fmt.Fprintf(b, "\n## %s\n\n| study | claim | published | measured |\n|---|---|---|---|\n", v.title)
		r.eachPublished(func(s *Study, c *experiments.Claim) {
			if c.Verdict == v.verdict {
				fmt.Fprintf(b, "| %s |\n", inRow([]string{s.link(), c.Text, orDash(c.Published), c.Measured.String() +
					map[bool]string{true: " (unsettled)"}[c.Unsettled]}))
			}
		})
	}
}

// eachPublished calls f for each published claim, in the order of the studies.
func (r *Report) eachPublished(f func(s *Study, c *experiments.Claim)) {
	for i := range r.Studies {
		s := &r.Studies[i]
		for k := range s.Outcome.Claims {
			if c := &s.Outcome.Claims[k]; c.Class == experiments.OfOthers {
				f(s, c)
			}
		}
	}
}

// readings are how much of a source was read, in words.
var readings = map[experiments.Read]string{
	"": "not stated", experiments.ReadPaper: "its text", experiments.ReadAbstract: "its abstract alone",
	experiments.ReadSummary: "what others say of it", experiments.ReadCode: "its authors' program",
	experiments.ReadNothing: "nothing: it could not be read",
}

// writeStudies writes links to all studies.
func (r *Report) writeStudies(b *strings.Builder) {
	links := make([]string, len(r.Studies))
	for i := range r.Studies {
		links[i] = r.Studies[i].link()
	}
	b.WriteString("\n## All studies\n\n")
	prose(b, "", strings.Join(links, ", ")+". Three also ran in [ns-3](../experiments/ns3/README.md).")
	fmt.Fprintf(b, "\nThe runs are those of [sums.txt](../%s), SHA-256 `%s`.\n", SumsName, SumsDigest([]byte(r.sums())))
}

// firstSentence returns the first sentence of a text, without its full stop.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// link returns a link from docs to the study's folder.
func (s *Study) link() string {
	return fmt.Sprintf("[%s](../experiments/%s)", s.Job.Study.Name, s.Job.Study.Folder)
}

// verdictText is the verdict, and a mark if chance may have decided it.
func verdictText(c experiments.Claim) string {
	if c.Unsettled {
		return c.VerdictText() + ", unsettled"
	}
	return c.VerdictText()
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

// writeClaims writes a table of the claims: the published ones, laws, checks.
func writeClaims(b *strings.Builder, claims []experiments.Claim) {
	if len(claims) == 0 {
		return
	}
	b.WriteString("\n| class | claim | source | measured | expected | verdict |\n|---|---|---|---|---|---|\n")
	for _, class := range claimClasses {
		for _, c := range claims {
			if c.Class == class {
				row := []string{string(class), c.Text, source(c), measured(c), expected(c), verdictText(c)}
				fmt.Fprintf(b, "| %s |\n", inRow(row))
			}
		}
	}
}

// source returns the source of a claim: what it says, how much of it was read, and what turns the
// verdict.
func source(c experiments.Claim) string {
	text := c.Source
	if c.Published != "" {
		text += ": " + c.Published
	}
	if isComputed(c) {
		text += " (computed for this project)"
	}
	if c.Class != experiments.OfOthers || c.Look == (experiments.Look{}) {
		return text
	}
	text += "; read: " + readings[c.Look.Read]
	if c.Look.At != "" {
		text += ", " + c.Look.At
	}
	if c.Look.Quote != "" {
		text += ": “" + c.Look.Quote + "”"
	}
	if c.Look.Turns != "" {
		text += "; turned by: " + c.Look.Turns
	}
	return text
}

// expected returns the band of a law with its basis.
func expected(c experiments.Claim) string {
	if c.Basis == "" || c.Basis == c.Expected.Basis() {
		return c.Expected.String()
	}
	return c.Expected.String() + " (" + c.Basis + ")"
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
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

// inRow keeps texts within the cells of a row.
func inRow(cells []string) string {
	for i := range cells {
		cells[i] = inTable(cells[i])
	}
	return strings.Join(cells, " | ")
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

// sentence ends text as a sentence.
func sentence(s string) string {
	if strings.HasSuffix(s, ".") || s == "" {
		return s
	}
	return s + "."
}
