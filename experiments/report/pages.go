package report

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tcpwheel/pcaps/figure"
)

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
