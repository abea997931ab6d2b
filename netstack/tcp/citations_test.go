package tcp_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCitations reads every citation of an RFC in the engine's Go files and scenarios. It fails on
// one that it cannot resolve, and logs the sections that code cites and no test does: these rules
// are obeyed and not proved.
func TestCitations(t *testing.T) {
	cited, problems, err := readCitations(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
	for _, c := range untested(cited) {
		t.Logf("%s: %s is cited in code and in no test", c.pos, c)
	}
}

// TestListOfRFCs checks the list against itself: it also lists what replaces an obsolete RFC.
func TestListOfRFCs(t *testing.T) {
	for n, doc := range rfcs {
		if doc.title == "" {
			t.Errorf("RFC %d has no title", n)
		}
		if _, ok := rfcs[doc.obsoletedBy]; doc.obsoletedBy != 0 && (!ok || doc.obsoletedBy <= n) {
			t.Errorf("RFC %d is obsoleted by RFC %d, which is not listed or older", n, doc.obsoletedBy)
		}
	}
}

// TestDeviations wants a row in docs/differences.md for each DEVIATION comment of the engine.
func TestDeviations(t *testing.T) {
	page, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("*.go")
	comment := regexp.MustCompile(`DEVIATION (RFC \d+ §[\d.]*\d)`)
	found := 0
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range comment.FindAllSubmatch(src, -1) {
			found++
			if !bytes.Contains(page, m[1]) {
				t.Errorf("%s: DEVIATION %s has no row in docs/differences.md", name, m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("%d DEVIATION comments found", found)
	}
}

// citation is one place that cites one section of an RFC, or the whole RFC if section is empty.
type citation struct {
	number  int
	section string
	test    bool
	pos     string
}

func (c citation) String() string {
	if c.section == "" {
		return fmt.Sprintf("RFC %d", c.number)
	}
	return fmt.Sprintf("RFC %d §%s", c.number, c.section)
}

var (
	// What looks like a citation at all, and what one looks like: a number, then sections if any.
	looksLikeRFC = regexp.MustCompile(`\bRFCs?\b[\s\x{00a0}-]*\d+|\bRFC\d+`)
	wellFormed   = regexp.MustCompile(`^RFC\s(\d+)`)
	inWords      = regexp.MustCompile(`^,?\s*(?i:sections?|sec\.|appendix)\s*[\dA-Z]|^\s*#?(?i:section)-`)
	commaSection = regexp.MustCompile(`^\s*,\s*§`)
	sectionSign  = regexp.MustCompile(`^\s*§`)
	section      = regexp.MustCompile(`^\s§((?:\d+|[A-Z])(?:\.\d+)*)(?:[^\w§]|$)`)
	more         = regexp.MustCompile(`^(?:,|\sand|,\sand|\sto|\sor)(\s§)`)
)

// readCitations returns the citations of all Go files and scenarios in fsys, and their faults.
func readCitations(fsys fs.FS) (cited []citation, problems []string, err error) {
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name == ".git":
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" && path.Ext(name) != ".pkt":
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".pkt" {
			text := scenarioComments(string(src))
			c, p := citationsIn(text, func(offset int) string {
				return fmt.Sprintf("%s:%d", name, 1+strings.Count(text.text[:offset], "\n"))
			})
			for i := range c {
				c[i].test = true
			}
			cited, problems = append(cited, c...), append(problems, p...)
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, text := range texts(file) {
			c, p := citationsIn(text, func(offset int) string {
				pos := fset.Position(text.pos)
				pos.Line += strings.Count(text.text[:offset], "\n")
				return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
			})
			for i := range c {
				c[i].test = strings.HasSuffix(name, "_test.go")
			}
			cited, problems = append(cited, c...), append(problems, p...)
		}
		return nil
	})
	return cited, problems, err
}

// prose is a comment or a string as one text. A citation in it may run on to the next line.
type prose struct {
	pos  token.Pos
	text string
}

func texts(file *ast.File) (all []prose) {
	for _, group := range file.Comments {
		var b strings.Builder
		for _, c := range group.List {
			for line := range strings.Lines(c.Text) {
				line = strings.TrimSpace(line)
				for _, marker := range []string{"//", "/*"} {
					line = strings.TrimPrefix(line, marker)
				}
				b.WriteString(strings.TrimSpace(strings.TrimSuffix(line, "*/")))
				b.WriteByte('\n')
			}
		}
		all = append(all, prose{pos: group.Pos(), text: b.String()})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			all = append(all, prose{pos: lit.Pos(), text: lit.Value})
		}
		return true
	})
	return all
}

// scenarioComments returns a scenario with nothing but the text of its comments, each on its line.
func scenarioComments(src string) prose {
	var b strings.Builder
	for line := range strings.Lines(src) {
		_, comment, _ := strings.Cut(line, "//")
		b.WriteString(strings.TrimSpace(comment) + "\n")
	}
	return prose{text: b.String()}
}

// citationsIn reads the citations of one text. at tells where an offset in it stands.
func citationsIn(text prose, at func(offset int) string) (cited []citation, problems []string) {
	bad := func(offset int, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s: %s", at(offset), fmt.Sprintf(format, args...)))
	}
	for _, span := range looksLikeRFC.FindAllStringIndex(text.text, -1) {
		start := span[0]
		rest := text.text[start:]
		m := wellFormed.FindStringSubmatch(rest)
		if m == nil {
			bad(start, "%q: write RFC n §m, with one space, and RFC before each number", text.text[span[0]:span[1]])
			continue
		}
		number, _ := strconv.Atoi(m[1])
		switch doc, ok := rfcs[number]; {
		case !ok:
			bad(start, "RFC %d is not listed: check the number, or list it with its title in rfcs_test.go", number)
			continue
		case doc.obsoletedBy != 0:
			bad(start, "RFC %d is obsolete: cite RFC %d", number, doc.obsoletedBy)
			continue
		}
		rest = rest[len(m[0]):]
		if inWords.MatchString(rest) || commaSection.MatchString(rest) {
			bad(start, "RFC %d%s: write RFC %d §m", number, firstWords(rest), number)
			continue
		}
		if !sectionSign.MatchString(rest) {
			cited = append(cited, citation{number: number, pos: at(start)})
			continue
		}
		for {
			s := section.FindStringSubmatch(rest)
			if s == nil {
				bad(start, "RFC %d%s: malformed section: write RFC %d §3.8.1, or §A.1 for an appendix",
					number, firstWords(rest), number)
				break
			}
			cited = append(cited, citation{number: number, section: s[1], pos: at(start)})
			rest = rest[strings.Index(rest, s[1])+len(s[1]):]
			next := more.FindStringSubmatchIndex(rest)
			if next == nil {
				break
			}
			rest = rest[next[2]:]
		}
	}
	return cited, problems
}

// firstWords returns enough of s to recognise it.
func firstWords(s string) string {
	words := strings.Fields(s)
	return " " + strings.Join(words[:min(len(words), 2)], " ")
}

// untested returns the first place of each section that is cited, but in no test.
func untested(cited []citation) (only []citation) {
	tested := map[string]bool{}
	for _, c := range cited {
		if c.test {
			tested[c.String()] = true
		}
	}
	for _, c := range cited {
		if c.section != "" && !tested[c.String()] {
			tested[c.String()] = true
			only = append(only, c)
		}
	}
	slices.SortFunc(only, func(a, b citation) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.section, b.section))
	})
	return only
}
