package tcpwheel_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// layout is an import policy and what else holds for all files, as data.
type layout struct {
	module string
	rooms  []room
	nested []string
	deps   []dependency
	clock  map[string][]string // package → functions that a core room does not use
	io     []string            // packages that a core room does not import

	// systems has the files whose names end in an operating system or a processor, which is a build
	// constraint: a path, or a directory that ends in a slash for all below it.
	systems []string

	used map[string]bool // by check: the exceptions that a file needed
}

// room is a directory with rules. They hold for the directories below it, too, unless those are
// rooms themselves.
type room struct {
	path    string
	core    bool     // standard library only; no clock, goroutine or I/O
	imports []string // rooms that it may import
	tests   []string // rooms that only its tests may import
	exempt  []string // files of a core room that may read a clock, start goroutines and do I/O
}

// isExempt reports whether a file with problems is an exception, and notes that it needed to be.
func (l *layout) isExempt(r *room, name string, problems []string) bool {
	if len(problems) == 0 || !slices.Contains(r.exempt, path.Base(name)) {
		return false
	}
	l.used[name] = true
	return true
}

// dependency is a foreign module and the rooms that may import it, with the directories below them.
type dependency struct {
	path      string
	rooms     []string
	testsOnly bool
}

// pkg is what is known of the files of one directory.
type pkg struct {
	files      int
	production bool // not only tests
	documented bool
	doc        bool // a doc.go with a package comment
}

// check returns everything in fsys that breaks the policy, each with what to do about it.
func (l *layout) check(fsys fs.FS) (problems []string, err error) {
	pkgs := map[string]*pkg{}
	l.used = map[string]bool{}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == ".git" {
				return fs.SkipDir
			}
			if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err == nil && name != "." && !l.isNested(name) {
				problems = append(problems, fmt.Sprintf("%s/go.mod: a module of its own: list it under nested in "+
					"layout_test.go, if rivals that only benchmarks need are the reason", name))
			}
			return nil
		}
		if name == ".git" { // a work tree's pointer to its repository
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		problems = append(problems, checkPaths(name, src)...)
		if path.Base(name) == "go.mod" {
			problems = append(problems, checkGoMod(name, src)...)
		}
		if isGoSource(name) {
			problems = append(problems, l.checkSystem(name)...)
			problems = append(problems, l.checkFile(name, src, pkgs)...)
		}
		return nil
	})
	return append(problems, l.checkPackages(pkgs)...), err
}

// isGoSource reports whether the go command would look at the file.
func isGoSource(name string) bool {
	if path.Ext(name) != ".go" {
		return false
	}
	for _, elem := range strings.Split(name, "/") {
		if elem == "testdata" || elem == "vendor" || strings.HasPrefix(elem, "_") || strings.HasPrefix(elem, ".") {
			return false
		}
	}
	return true
}

// goSystems are the endings of names that the go command takes for build constraints.
var goSystems = regexp.MustCompile(`_(aix|android|darwin|dragonfly|freebsd|hurd|illumos|ios|js|linux|nacl|netbsd|openbsd|` +
	`plan9|solaris|wasip1|windows|zos|386|amd64|arm|arm64|loong64|mips|mips64|mips64le|mipsle|ppc64|ppc64le|riscv64|` +
	`s390x|sparc64|wasm)(_test)?\.go$`)

// checkSystem wants a file whose name is a build constraint on the list.
func (l *layout) checkSystem(name string) []string {
	if !goSystems.MatchString(path.Base(name)) {
		return nil
	}
	for _, s := range l.systems {
		if s == name || strings.HasSuffix(s, "/") && strings.HasPrefix(name, s) {
			l.used[s] = true
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: the end of its name makes it part of some systems only: rename it, or list it under "+
		"systems in layout_test.go", name)}
}

func (l *layout) isNested(dir string) bool {
	return slices.ContainsFunc(l.nested, func(n string) bool { return below(dir, n) })
}

// below reports whether dir is root or lies under it.
func below(dir, root string) bool {
	return dir == root || strings.HasPrefix(dir, root+"/")
}

// room returns the room that dir belongs to, nil if there is none.
func (l *layout) room(dir string) (found *room) {
	for i := range l.rooms {
		r := &l.rooms[i]
		if below(dir, r.path) && (found == nil || len(r.path) > len(found.path)) {
			found = r
		}
	}
	return found
}

func (l *layout) checkFile(name string, src []byte, pkgs map[string]*pkg) (problems []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []string{fmt.Sprintf("%v: make it compile", err)}
	}
	if formatted, err := format.Source(src); err != nil || !bytes.Equal(formatted, src) {
		problems = append(problems, fmt.Sprintf("%s: not formatted: run gofmt -w %s", name, name))
	}
	dir, test := path.Dir(name), strings.HasSuffix(name, "_test.go")
	p := pkgs[dir]
	if p == nil {
		p = &pkg{}
		pkgs[dir] = p
	}
	p.files++
	p.production = p.production || !test
	if strings.TrimSpace(file.Doc.Text()) != "" {
		p.documented = true
		p.doc = p.doc || path.Base(name) == "doc.go"
	}

	r := l.room(dir)
	switch {
	case l.isNested(dir):
		return problems
	case r == nil:
		return append(problems, fmt.Sprintf("%s: %s is no room of the house: move it into one, or give it a line with "+
			"its rules under rooms in layout_test.go", name, dir))
	case r.path == "." && !test:
		problems = append(problems, fmt.Sprintf("%s: the root holds tests only: move the package into a room", name))
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has checked it
		}
		if why := l.checkImport(r, dir, imported, test, name); why != "" {
			problems = append(problems, fmt.Sprintf("%s: %s", fset.Position(spec.Pos()), why))
		}
	}
	if r.core && !test {
		if impure := l.checkCore(fset, file, r); !l.isExempt(r, name, impure) {
			problems = append(problems, impure...)
		}
	}
	return problems
}

// checkImport says what is wrong with the import of a package by a file of room r, or nothing.
func (l *layout) checkImport(r *room, dir, imported string, test bool, name string) string {
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case imported == "C":
		return "imports C: cgo has no place here: use the syscall package"
	case imported == l.module || strings.HasPrefix(imported, l.module+"/"):
		target := strings.TrimPrefix(strings.TrimPrefix(imported, l.module), "/")
		to := l.room(target)
		switch {
		case target == "" || to == nil:
			return fmt.Sprintf("imports %q, which is no room of the house", imported)
		case to == r, slices.Contains(r.imports, to.path), test && slices.Contains(r.tests, to.path):
			return ""
		}
		return fmt.Sprintf("room %s must not import %s: move what is needed down to a room that both may import",
			r.path, to.path)
	case !strings.Contains(first, "."): // the standard library
		if r.core && !test && slices.Contains(l.io, imported) {
			why := fmt.Sprintf("core room %s does no I/O and must not import %q: take the result as an argument", r.path, imported)
			if !l.isExempt(r, name, []string{why}) {
				return why
			}
		}
		return ""
	case r.core:
		return fmt.Sprintf("core room %s imports the standard library only, also in tests, not %q: "+
			"put what needs it in another room", r.path, imported)
	}
	i := slices.IndexFunc(l.deps, func(d dependency) bool { return below(imported, d.path) })
	if i < 0 {
		return fmt.Sprintf("%q is no known dependency: do without, or list it under deps in layout_test.go "+
			"and say in go.mod what it is for", imported)
	}
	d := l.deps[i]
	if !slices.Contains(d.rooms, r.path) {
		return fmt.Sprintf("%s belongs under %s only, not in room %s: go through what these rooms offer",
			d.path, strings.Join(d.rooms, ", "), r.path)
	}
	if d.testsOnly && !test && !strings.HasSuffix(dir, "test") {
		return fmt.Sprintf("%s is for tests only: import it from a _test.go file or a package for tests", d.path)
	}
	return ""
}

// checkCore looks for clocks and goroutines in a file of a core room.
func (l *layout) checkCore(fset *token.FileSet, file *ast.File, r *room) (problems []string) {
	names := map[string]string{} // the name of a package in this file → its path
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if l.clock[imported] == nil {
			continue
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			problems = append(problems, fmt.Sprintf("%s: dot import of %s hides its clock: import it by name",
				fset.Position(spec.Pos()), imported))
		}
		names[name] = imported
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			problems = append(problems, fmt.Sprintf("%s: core room %s starts no goroutine: return the work to the caller",
				fset.Position(n.Pos()), r.path))
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && slices.Contains(l.clock[names[x.Name]], n.Sel.Name) {
				problems = append(problems, fmt.Sprintf("%s: core room %s reads no clock: take now as an argument "+
					"instead of calling %s.%s", fset.Position(n.Pos()), r.path, names[x.Name], n.Sel.Name))
			}
		}
		return true
	})
	return problems
}

func (l *layout) checkPackages(pkgs map[string]*pkg) (problems []string) {
	dirs := make([]string, 0, len(pkgs))
	for dir := range pkgs {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		p := pkgs[dir]
		isRoom := slices.ContainsFunc(l.rooms, func(r room) bool { return r.path == dir && dir != "." })
		switch {
		case !p.documented:
			problems = append(problems, fmt.Sprintf("%s: no package comment: say in doc.go what the package is", dir))
		case isRoom && p.production && !p.doc:
			problems = append(problems, fmt.Sprintf("%s: the package comment of a room belongs in doc.go: move it there", dir))
		}
	}
	return problems
}

// A machine can be recognised by its directories and by its module registry.
var (
	machinePath = regexp.MustCompile(`(?:^|[^\w./~-])(/(?:home|root|tmp|work|Users)/[\w.-]*)`)
	registry    = regexp.MustCompile(`(?i)(?:proxy|sum|index)\.golang\.org|GOPROXY=["']?\w+://[^\s"']+|` +
		`\bartifactory\b|\bgoproxy\.\w+`)
)

func checkPaths(name string, src []byte) (problems []string) {
	if bytes.IndexByte(src, 0) >= 0 {
		return nil // a capture, or what else is not text
	}
	for i, line := range strings.Split(string(src), "\n") {
		if m := machinePath.FindStringSubmatch(line); m != nil {
			problems = append(problems, fmt.Sprintf("%s:%d: names a machine's path, %s: use a relative path, "+
				"a flag, or t.TempDir", name, i+1, m[1]))
		}
		if m := registry.FindString(line); m != "" {
			problems = append(problems, fmt.Sprintf("%s:%d: names a module registry, %s: leave that to the environment",
				name, i+1, m))
		}
	}
	return problems
}

// checkGoMod wants a comment at each direct dependency that says what it is for.
func checkGoMod(name string, src []byte) (problems []string) {
	inRequire := false
	for i, line := range strings.Split(string(src), "\n") {
		code, comment, _ := strings.Cut(strings.TrimSpace(line), "//")
		fields := strings.Fields(code)
		switch {
		case len(fields) == 0:
			continue
		case fields[0] == ")":
			inRequire = false
			continue
		case len(fields) == 2 && fields[1] == "(":
			inRequire = fields[0] == "require" || fields[0] == "tool"
			continue
		case !inRequire && fields[0] != "require" && fields[0] != "tool":
			continue
		case strings.TrimSpace(comment) == "":
			if !inRequire {
				fields = fields[1:]
			}
			problems = append(problems, fmt.Sprintf("%s:%d: say in a comment on the line what %s is for", name, i+1, fields[0]))
		}
	}
	return problems
}
