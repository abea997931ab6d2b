package tcp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEngineDocument compares docs/engine.md with the source. A block after the path of a file is
// an excerpt of it; a line with an ellipsis is any number of lines. TestWalks checks the others.
func TestEngineDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/engine.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)(?:`(\\S+)`\n\n)?```(go|text)\n(.*?)```\n").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 8 {
		t.Fatalf("%d blocks, want 8 or more", len(blocks))
	}
	for _, b := range blocks {
		path := b[1]
		if path == "" {
			continue // TestWalks
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

// TestWalks holds the walks of docs/engine.md against the call graph of the source: each function
// calls the next one, and a walk has at most twelve. With -v it draws them.
func TestWalks(t *testing.T) {
	text, err := os.ReadFile("../../docs/engine.md")
	if err != nil {
		t.Fatal(err)
	}
	g := newCallGraph(t)
	walks := regexp.MustCompile("(?s)[^`]\n\n```text\n(.*?)```\n").FindAllStringSubmatch(string(text), -1)
	if len(walks) < 4 {
		t.Fatalf("%d walks, want 4 or more", len(walks))
	}
	for _, w := range walks {
		lines, number, from := strings.Split(strings.TrimSuffix(w[1], "\n"), "\n"), 0, ""
		for _, line := range lines {
			name, _, _ := strings.Cut(line, " ")
			fn := g.funcs[name]
			switch {
			case name == "…":
				from = ""
				continue
			case fn == nil:
				t.Fatalf("there is no function %s", name)
			case from != "" && !g.calls[from][name]:
				t.Errorf("%s does not call %s", from, name)
			}
			number, from = number+1, name
			t.Logf("%2d  %-24s%s", number, name, g.fset.Position(fn.Pos()))
		}
		if t.Log(); number > 12 {
			t.Errorf("a walk of %d functions, want at most 12:\n%s", number, w[1])
		}
	}
}

// callGraph has the functions of the engine and of its binding to gVisor.
type callGraph struct {
	fset  *token.FileSet
	funcs map[string]*ast.FuncDecl // by Type.Func
	calls map[string]map[string]bool
	known map[string]*types.Package
}

func newCallGraph(t *testing.T) *callGraph {
	g := &callGraph{token.NewFileSet(), map[string]*ast.FuncDecl{}, map[string]map[string]bool{}, map[string]*types.Package{}}
	g.add(t, "tcpwheel/netstack/tcp", ".")
	g.add(t, "tcpwheel/netstack", "..")
	return g
}

// Import implements types.Importer. Packages other than the two are empty: their types are unknown,
// and the calls among the two are not.
func (g *callGraph) Import(path string) (*types.Package, error) {
	if g.known[path] == nil {
		g.known[path] = types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
		g.known[path].MarkComplete()
	}
	return g.known[path], nil
}

// add adds the functions of a package.
func (g *callGraph) add(t *testing.T, path, dir string) {
	files := parseDir(t, g.fset, dir)
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: g, Error: func(error) {}} // errors of the unknown types
	g.known[path], _ = config.Check(path, g.fset, files, info)
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			called := map[string]bool{}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					if callee, ok := info.Uses[id].(*types.Func); ok {
						g.callees(callee, called)
					}
				}
				return true
			})
			name := nameOf(info.Defs[fn.Name].(*types.Func))
			g.funcs[name], g.calls[name] = fn, called
		}
	}
}

// callees adds a function, or all methods that implement it, to called.
func (g *callGraph) callees(fn *types.Func, called map[string]bool) {
	called[nameOf(fn)] = true
	recv := fn.Signature().Recv()
	if recv == nil || !types.IsInterface(recv.Type()) {
		return
	}
	scope := fn.Pkg().Scope()
	for _, name := range scope.Names() {
		typ := types.NewPointer(scope.Lookup(name).Type())
		if types.Implements(typ, recv.Type().Underlying().(*types.Interface)) {
			called[name+"."+fn.Name()] = true
		}
	}
}

// nameOf returns Type.Func, or Func.
func nameOf(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return fn.Name()
	}
	typ := recv.Type()
	if p, ok := typ.(*types.Pointer); ok {
		typ = p.Elem()
	}
	if named, ok := typ.(*types.Named); ok {
		return named.Obj().Name() + "." + fn.Name()
	}
	return fn.Name()
}

// parseDir parses the Go files of a directory, tests excepted.
func parseDir(t *testing.T, fset *token.FileSet, dir string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// TestTypesAreSmall: no type of the engine or of its binding to gVisor has more than 60 methods or
// 30 fields. An embedded struct is one field.
func TestTypesAreSmall(t *testing.T) {
	const mostMethods, mostFields = 60, 30
	g, methods := newCallGraph(t), map[string]int{}
	for name := range g.funcs {
		if typ, _, ok := strings.Cut(name, "."); ok {
			methods[typ]++
		}
	}
	structs := 0
	for _, path := range []string{"tcpwheel/netstack/tcp", "tcpwheel/netstack"} {
		scope := g.known[path].Scope()
		for _, name := range scope.Names() {
			s, ok := scope.Lookup(name).Type().Underlying().(*types.Struct)
			if !ok {
				continue
			}
			structs++
			if n := s.NumFields(); n > mostFields {
				t.Errorf("%s of %s has %d fields, want at most %d", name, path, n, mostFields)
			}
			if n := methods[name]; n > mostMethods {
				t.Errorf("%s of %s has %d methods, want at most %d", name, path, n, mostMethods)
			}
		}
	}
	if structs < 100 {
		t.Errorf("%d structs, want 100 or more", structs)
	}
}
