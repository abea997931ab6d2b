// Command goroutines prints the packages whose tests may run code in more than one goroutine, one a
// line. The race detector finds nothing in the others. A package is printed if it, its tests, or a
// package outside the standard library that they import, directly or not, has a go statement, calls
// a function that runs another one elsewhere, or imports a package of the standard library that
// does.
//
//	go run .ci/goroutines.go [-why] [PACKAGES]
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// calls are the names of functions and methods that run a function in another goroutine.
var calls = []string{"Go", "AfterFunc", "Parallel", "RunParallel", "SetFinalizer", "AddCleanup"}

// std are the packages of the standard library that run a caller's functions in goroutines of their
// own.
var std = []string{"net/http", "net/http/httptest", "net/rpc", "os/signal", "testing/synctest"}

// entries are packages that start goroutines only for callers of these functions. Other importers
// of them do not count.
var entries = map[string][]string{
	// a Realtime; the scheme "runtime" is for package wheel itself
	"tcpwheel/wheel":             {"Start"},
	"github.com/google/gopacket": {"NewPacketSource"},
	// package capture reads with one goroutine
	"github.com/klauspost/compress/zstd": {"NewWriter"},
}

// pkg is a package as go list prints it.
type pkg struct {
	ImportPath, Dir                    string
	ForTest                            string
	Standard, DepOnly                  bool
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string

	known bool
	why   string // "" if it runs in one goroutine
}

func main() {
	why := flag.Bool("why", false, "print the reason, too, and the packages without one")
	flag.Parse()
	all, err := list(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "goroutines:", err)
		os.Exit(1)
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		p := all[path]
		if p.DepOnly || len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		reason := all.reason(p)
		if reason == "" {
			reason = p.inFiles(append(p.TestGoFiles, p.XTestGoFiles...))
		}
		for _, path := range append(p.TestImports, p.XTestImports...) {
			if reason == "" && path != p.ImportPath {
				reason = all.reasonOf(path)
			}
		}
		switch {
		case *why:
			fmt.Printf("%s: %s\n", p.ImportPath, reason)
		case reason != "":
			fmt.Println(p.ImportPath)
		}
	}
}

type packages map[string]*pkg

// list returns the packages that match, and the ones that they and their tests import.
func list(patterns []string) (packages, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test", "-json=ImportPath,Dir,ForTest,Standard,DepOnly,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	all := packages{}
	for d := json.NewDecoder(out); ; {
		p := new(pkg)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if p.ForTest == "" {
			all[p.ImportPath] = p
		}
	}
	return all, cmd.Wait()
}

// reason says why code of a package, without its tests, may run in several goroutines. It returns
// "" if it does not.
func (all packages) reason(p *pkg) string {
	if p.known || p.Standard {
		return p.why
	}
	p.known = true
	p.why = p.inFiles(p.GoFiles)
	for _, path := range p.Imports {
		if p.why == "" {
			p.why = all.reasonOf(path)
		}
	}
	return p.why
}

// reasonOf is the reason of a package for its importers.
func (all packages) reasonOf(path string) string {
	if q := all[path]; q != nil && entries[path] == nil {
		return all.reason(q)
	}
	return ""
}

// inFiles looks for a reason in files of a package.
func (p *pkg) inFiles(names []string) (why string) {
	for _, name := range names {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err.Error()
		}
		found := func(at token.Pos, what string) {
			if why == "" {
				why = fmt.Sprintf("%s/%s:%d: %s", p.ImportPath, name, files.Position(at).Line, what)
			}
		}
		for _, i := range f.Imports {
			if path, err := strconv.Unquote(i.Path.Value); err == nil && slices.Contains(std, path) {
				found(i.Pos(), "imports "+path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found(n.Pos(), "a go statement")
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && (slices.Contains(calls, s.Sel.Name) || isEntry(s)) {
					found(n.Pos(), "calls "+s.Sel.Name)
				}
			}
			return why == ""
		})
		if why != "" {
			return why
		}
	}
	return ""
}

// isEntry reports whether an expression is a function of entries.
func isEntry(s *ast.SelectorExpr) bool {
	x, ok := s.X.(*ast.Ident)
	for path, names := range entries {
		if ok && x.Name == filepath.Base(path) && slices.Contains(names, s.Sel.Name) {
			return true
		}
	}
	return false
}
