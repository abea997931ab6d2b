package tcpwheel_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// wordsBelow limits TestPlainWords to one folder: go test . -run PlainWords -words wheel.
var wordsBelow = flag.String("words", ".", "folder that TestPlainWords reads")

// TestPlainWords checks the prose of the project: comments, messages and Markdown. CONTRIBUTING.md
// has the rules.
func TestPlainWords(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), *wordsBelow, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(name); base == ".git" || name == "report" {
				return fs.SkipDir
			}
			return nil
		}
		// This file and its own test spell out the phrases.
		if strings.HasPrefix(name, "words_") || !slices.Contains([]string{".go", ".md", ".pkt"}, path.Ext(name)) {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, p := range checkWords(name, src) {
			t.Error(p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

const (
	goColumns       = 100
	markdownColumns = 120
)

// phrase is a phrase that readers of the project had to read twice, and the plain words for it.
type phrase struct {
	match *regexp.Regexp
	plain string
}

var phrases = func() (all []phrase) {
	for _, p := range [][2]string{
		{`octets?`, "byte"},
		{`in vain|needless(ly)?`, "spurious, unnecessary"},
		{`(tells?|told|telling) of`, "reports, lists, shows"},
		{`(is|are|was|be|been) had( again)?|to be had`, "reproduce with, get"},
		{`beside`, "next to, compared with, besides"},
		{`nobody|no one`, "the name of the thing"},
		{`(sent|sends?|sending) (it |them |all of it |what \w+ )?again`, "retransmit, retransmission"},
		{`the way`, "path, how"},
		{`puts? off|putting off`, "delays"},
		{`is due to stand`, "is"},
		{`stands? (at|for|in|there|here|twice|on)`, "is, lives in, means"},
		{`anew|once more`, "again"},
		{`goes by|go by|gone by`, "uses, is identified by"},
		{`lest|thereby|of which|in which`, "a new sentence"},
		{`that which|those that|those who`, "the name of the thing"},
		{`takes? as long as it took`, "takes the captured time"},
		{`by itself|by themselves`, "alone, automatically"},
		{`lets? go|letting go|let (it|them) go`, "is released, releases"},
		{`gives? way|gave way`, "yields"},
		{`has it that|as \w+ has it`, "as in X"},
		{`in no case|for who|with whom|is to be|are to be`, "never, must, should"},
	} {
		all = append(all, phrase{regexp.MustCompile(`(?i)\b(` + p[0] + `)\b`), p[1]})
	}
	return all
}()

// checkWords returns the phrases of a file, and the long lines of Go and Markdown.
func checkWords(name string, src []byte) (problems []string) {
	switch path.Ext(name) {
	case ".md":
		return checkMarkdown(name, string(src))
	case ".pkt":
		return checkScenario(name, string(src))
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	lines := strings.Split(string(src), "\n")
	for _, group := range file.Comments {
		first := fset.Position(group.Pos()).Line
		var text []string
		for _, c := range group.List {
			text = append(text, strings.Split(c.Text, "\n")...)
		}
		for i := range text {
			if whole := lines[first+i-1]; utf8.RuneCountInString(whole) > goColumns && isProse(text[i]) {
				problems = append(problems, fmt.Sprintf("%s:%d: a comment past column %d", name, first+i, goColumns))
			}
		}
		problems = append(problems, findPhrases(name, first, text)...)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			if field := withoutUnit(f); field != "" {
				problems = append(problems, fmt.Sprintf("%s:%d: JSON field %s: want the unit of a duration: %[3]s_ns", name, fset.Position(f.Pos()).Line, field))
			}
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, " ") {
				problems = append(problems, findPhrases(name, fset.Position(lit.Pos()).Line, strings.Split(text, "\n"))...)
			}
		}
		return true
	})
	return problems
}

// withoutUnit returns the name in JSON of a struct's field that is a duration or a time and does not
// say its unit, "" if it does.
func withoutUnit(f *ast.Field) string {
	tag, _ := strconv.Unquote(f.Tag.Value)
	field, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	kind := f.Type
	for {
		switch t := kind.(type) {
		case *ast.StarExpr:
			kind = t.X
			continue
		case *ast.ArrayType:
			kind = t.Elt
			continue
		case *ast.SelectorExpr:
			of := t.X.(*ast.Ident).Name + "." + t.Sel.Name
			if (of == "time.Duration" || of == "wheel.Time" || of == "wheel.Duration") && field != "" && field != "-" && !strings.HasSuffix(field, "_ns") {
				return field
			}
		}
		return ""
	}
}

// isProse reports whether a line of a comment could be broken: a directive, and a word that is
// longer than the line, cannot.
func isProse(line string) bool {
	if strings.HasPrefix(line, "//go:") || strings.HasPrefix(line, "//\t") {
		return false
	}
	return len(strings.Fields(line)) > 2
}

func checkMarkdown(name, src string) (problems []string) {
	code := false
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			code = !code
			lines[i] = ""
		case code:
			lines[i] = ""
		case utf8.RuneCountInString(line) > markdownColumns && !strings.HasPrefix(line, "|") && !strings.HasPrefix(strings.TrimSpace(line), "![") && len(strings.Fields(line)) > 2:
			problems = append(problems, fmt.Sprintf("%s:%d: a line past column %d", name, i+1, markdownColumns))
		}
	}
	return append(problems, findPhrases(name, 1, lines)...)
}

// checkScenario checks the comments of a scenario in packetdrill's notation.
func checkScenario(name, src string) (problems []string) {
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		if _, comment, ok := strings.Cut(line, "//"); ok {
			lines[i] = comment
		} else {
			lines[i] = ""
		}
	}
	return findPhrases(name, 1, lines)
}

// findPhrases looks for phrases in lines outside quotation marks, which hold the words of others. A
// quotation may run over lines and ends with its paragraph.
func findPhrases(name string, first int, lines []string) (problems []string) {
	quoted := rune(0)
	for i, line := range lines {
		if strings.Trim(line, "/*> \t") == "" {
			quoted = 0
		}
		plain := strings.Map(func(r rune) rune {
			switch {
			case quoted != 0 && r == quoted:
				quoted = 0
				return '.'
			case quoted != 0:
				return '.'
			case r == '"' || r == '`':
				quoted = r
				return '.'
			case r == '“':
				quoted = '”'
				return '.'
			}
			return r
		}, line)
		for _, p := range phrases {
			if found := p.match.FindString(plain); found != "" {
				problems = append(problems, fmt.Sprintf("%s:%d: %q: say it plainly: %s", name, first+i, found, p.plain))
			}
		}
	}
	return problems
}
