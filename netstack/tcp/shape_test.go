package tcp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// sourceOf parses the Go files of a directory, tests excepted.
func sourceOf(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// receiverOf returns the name of the type that fn is a method of, "" for a function.
func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	return typ.(*ast.Ident).Name
}

// TestTypesAreSmall: no type of the engine or of its binding to gVisor has more than 60 methods or
// 30 fields. An embedded struct is one field.
func TestTypesAreSmall(t *testing.T) {
	const mostMethods, mostFields = 60, 30
	for _, dir := range []string{".", ".."} {
		types, methods := 0, map[string]int{}
		for _, f := range sourceOf(t, dir) {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					methods[receiverOf(n)]++
				case *ast.TypeSpec:
					s, ok := n.Type.(*ast.StructType)
					if !ok {
						break
					}
					types++
					fields := 0
					for _, f := range s.Fields.List {
						fields += max(len(f.Names), 1)
					}
					if fields > mostFields {
						t.Errorf("%s of %s has %d fields, want at most %d", n.Name, dir, fields, mostFields)
					}
				}
				return true
			})
		}
		delete(methods, "")
		for typ, n := range methods {
			if n > mostMethods {
				t.Errorf("%s of %s has %d methods, want at most %d", typ, dir, n, mostMethods)
			}
		}
		if types < 20 || len(methods) < 20 {
			t.Errorf("%d structs and %d types with methods in %s, want 20 or more", types, len(methods), dir)
		}
	}
}
