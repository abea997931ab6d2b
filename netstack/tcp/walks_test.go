package tcp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEngineDocument compares docs/engine.md with the source. A block after the path of a file is
// an excerpt of it; a line with an ellipsis is any number of lines. In other blocks of text each
// function calls the next one, up to twelve.
func TestEngineDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/engine.md")
	if err != nil {
		t.Fatal(err)
	}
	calls := callsOf(t, ".", "..")
	blocks := regexp.MustCompile("(?s)(?:`(\\S+)`\n\n)?```(go|text)\n(.*?)```\n").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 8 {
		t.Fatalf("%d blocks, want 8 or more", len(blocks))
	}
	for _, b := range blocks {
		path, lines := b[1], strings.Split(strings.TrimSuffix(b[3], "\n"), "\n")
		if path == "" {
			checkWalk(t, calls, lines)
			continue
		}
		source, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		rest := strings.ReplaceAll(string(source), "\n\t// ", "\n") // the output of an example
		if b[2] == "go" {
			rest = string(source)
		}
		for _, part := range strings.Split(strings.Trim("\n"+b[3], "…\n"), "\n…\n") {
			_, after, found := strings.Cut(rest, "\n"+strings.Trim(part, "\n")+"\n")
			if rest = after; !found {
				t.Errorf("%s does not have\n%s", path, part)
				break
			}
		}
	}
}

// checkWalk checks that each function of a walk calls the next one.
func checkWalk(t *testing.T, calls map[string]map[string]bool, lines []string) {
	t.Helper()
	if len(lines) > 12 {
		t.Errorf("a walk of %d functions, want at most 12:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		if name == "…" {
			continue
		}
		if calls[name] == nil {
			t.Errorf("there is no function %s", name)
		}
		if i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "…") {
			next, _, _ := strings.Cut(lines[i+1], " ")
			if !calls[name][next[strings.LastIndex(next, ".")+1:]] {
				t.Errorf("%s does not call %s", name, next)
			}
		}
	}
}

// callsOf returns the names that each function of some packages calls, by Type.Func.
func callsOf(t *testing.T, dirs ...string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Recv == nil || fn.Body == nil {
					continue
				}
				called := map[string]bool{}
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok {
						if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
							called[sel.Sel.Name] = true
						}
					}
					return true
				})
				typ := fn.Recv.List[0].Type
				if star, ok := typ.(*ast.StarExpr); ok {
					typ = star.X
				}
				if id, ok := typ.(*ast.Ident); ok {
					all[id.Name+"."+fn.Name.Name] = called
				}
			}
		}
	}
	return all
}
