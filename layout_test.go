// Package tcpwheel_test tests what holds for the project as a whole: the direction of imports, that
// the core reads no clock, and that the documents show commands that run.
package tcpwheel_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A room is a folder with rules, which hold for the folders below it unless these are rooms.
type room struct {
	path    string
	core    bool     // the standard library only; no clock, goroutine or I/O
	imports []string // rooms that it may import
	foreign []string // modules that it may import
	exempt  []string // files of a core room that may read a clock, start goroutines and do I/O
}

// rooms are in the order of their imports.
var rooms = []room{
	{path: ".", foreign: nil},
	{path: "internal", core: true, imports: []string{"wheel"}},
	{path: "wheel", core: true, exempt: []string{
		"realtime.go", "realtime_serve.go", "alarm.go", "timerfd_linux.go", // the real-time driver and its clock
		"hugepages_linux.go", // advice to the kernel about a large arena's pages
		"runtime.go",         // the Go runtime's timers, a rival
	}},
	{path: "wheel/wheelbench", imports: []string{"internal", "wheel"}},
	{path: "tcptimers", core: true, imports: []string{"internal", "wheel"}},
	{path: "netstack/tcp", core: true, imports: []string{"internal", "wheel", "tcptimers"}},
	{path: "netstack/sim", core: true, imports: []string{"internal", "wheel", "tcptimers", "netstack/tcp"}},
	{path: "netstack", imports: []string{"internal", "wheel", "tcptimers", "netstack/tcp", "netstack/sim"},
		foreign: []string{"gvisor.dev/gvisor", "golang.org/x/sys", "golang.org/x/net"}},
	{path: "tun", imports: []string{"internal", "wheel", "tcptimers", "netstack/tcp", "netstack/sim", "netstack"},
		foreign: []string{"gvisor.dev/gvisor", "golang.org/x/sys", "github.com/vishvananda/netlink",
			"github.com/VictoriaMetrics/metrics"}},
	{path: "pcaps", imports: []string{"internal", "wheel", "tcptimers", "netstack/tcp", "netstack/sim"},
		foreign: []string{"github.com/google/gopacket", "github.com/klauspost/compress", "maragu.dev/gomponents"}},
	{path: "experiments", imports: []string{"internal", "wheel", "wheel/wheelbench", "tcptimers", "netstack/tcp", "netstack/sim",
		"netstack", "tun", "pcaps"}, foreign: []string{"go.yaml.in/yaml/v3"}},
	{path: "cmd", imports: []string{"internal", "wheel", "wheel/wheelbench", "tcptimers", "netstack/tcp", "netstack/sim",
		"netstack", "tun", "pcaps", "experiments"}, foreign: []string{"gvisor.dev/gvisor", "github.com/spf13/cobra",
		"github.com/spf13/pflag", "github.com/rogpeppe/go-internal"}},
}

// modules are the folders with a go.mod of their own.
var modules = []string{".", "cmd/tcpwheel/browser", "netstack/programs", "wheel/peers"}

// clocks are the functions that read a clock or wait for it.
var clocks = map[string][]string{
	"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
}

// inputs are the packages that do I/O.
var inputs = []string{"os", "os/exec", "os/signal", "net", "net/http", "syscall"}

// below reports whether dir is root or a folder below it.
func below(dir, root string) bool {
	return root == "." || dir == root || strings.HasPrefix(dir, root+"/")
}

// roomOf returns the room with the longest path that leads to dir.
func roomOf(dir string) (found room) {
	for _, r := range rooms {
		if below(dir, r.path) && len(r.path) >= len(found.path) {
			found = r
		}
	}
	return found
}

// TestLayout reads the imports of all Go files, and what core rooms call.
func TestLayout(t *testing.T) {
	var gomods []string
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && (base == "testdata" || base == "node_modules" || len(base) > 1 && base[0] == '.'):
			return fs.SkipDir
		case base == "go.mod":
			gomods = append(gomods, path.Dir(name))
			checkRequirements(t, name)
		case !d.IsDir() && path.Ext(name) == ".go":
			checkFile(t, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(gomods); !slices.Equal(gomods, modules) {
		t.Errorf("modules in %v, want %v", gomods, modules)
	}
}

func checkFile(t *testing.T, name string) {
	if slices.ContainsFunc(modules[1:], func(m string) bool { return below(name, m) }) {
		return
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return
	}
	r, test := roomOf(path.Dir(name)), strings.HasSuffix(name, "_test.go")
	pure := r.core && !test && !slices.Contains(r.exempt, path.Base(name))
	names := make(map[string]string) // the name of a package with a clock in this file → its path
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if clocks[imported] != nil {
			names[path.Base(imported)] = imported
			if spec.Name != nil {
				names[spec.Name.Name] = imported
			}
		}
		if why := checkImport(r, imported, test, pure); why != "" {
			t.Errorf("%s: %s", fset.Position(spec.Pos()), why)
		}
	}
	if !pure {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			t.Errorf("%s: core room %s starts no goroutine", fset.Position(n.Pos()), r.path)
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(clocks[names[x.Name]], n.Sel.Name) {
				t.Errorf("%s: core room %s reads no clock: take now as an argument", fset.Position(n.Pos()), r.path)
			}
		}
		return true
	})
}

// checkImport says why a file of room r must not import a package, "" if it may.
func checkImport(r room, imported string, test, pure bool) string {
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case imported == "C":
		return "imports C: use the syscall package"
	case first == "tcpwheel":
		to := roomOf(strings.TrimPrefix(imported, "tcpwheel/")).path
		// The engine's tests run on the simulator's hosts.
		if to == r.path || slices.Contains(r.imports, to) || test && r.path == "netstack/tcp" && to == "netstack/sim" {
			return ""
		}
		return fmt.Sprintf("room %s must not import %s: move what both need down", r.path, to)
	case !strings.Contains(first, "."):
		if pure && slices.Contains(inputs, imported) {
			return fmt.Sprintf("core room %s does no I/O: it must not import %s", r.path, imported)
		}
		return ""
	case !slices.ContainsFunc(r.foreign, func(m string) bool { return below(imported, m) }):
		return fmt.Sprintf("room %s must not import %s", r.path, imported)
	}
	return ""
}

var requirement = regexp.MustCompile(`(?m)^(?:require )?\s*[\w.-]+\.[a-z]+/\S+ v\S+\s*$`)

// checkRequirements wants a comment at each direct requirement that says what it is for.
func checkRequirements(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range requirement.FindAllString(string(text), -1) {
		t.Errorf("%s: say in a comment what this is for: %s", name, line)
	}
}
