package tcpwheel_test

import (
	"flag"
	"fmt"
	"go/doc"
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

var updateDocs = flag.Bool("update", false, "rewrite docs/packages.md")

// packagesName lists every package with the first sentence of its documentation.
const packagesName = "docs/packages.md"

var roomRow = regexp.MustCompile(`(?m)^\| \[([a-z/]+)\]\(([a-z/]+)\) \|`)

// TestReadmeTableIsTheImportOrder checks that imports point from the bottom of the README's table
// of rooms to its top, tests left out.
func TestReadmeTableIsTheImportOrder(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var rooms []string
	for _, m := range roomRow.FindAllStringSubmatch(string(text), -1) {
		if m[1] != m[2] {
			t.Errorf("the row of %s links to %s", m[1], m[2])
		}
		rooms = append(rooms, m[1])
	}
	row := func(dir string) int { // of the longest room that dir is in
		found := -1
		for i, r := range rooms {
			if below(dir, r) && (found < 0 || len(r) > len(rooms[found])) {
				found = i
			}
		}
		return found
	}
	for dir, p := range packages(t) {
		from := row(dir)
		if from < 0 {
			if dir != "." {
				t.Errorf("package %s is in no room of the README's table", dir)
			}
			continue
		}
		for _, imported := range p.imports {
			if to := row(imported); to > from {
				t.Errorf("%s imports %s, which is below it in the README's table", dir, imported)
			}
		}
	}
}

// TestPackagesAreListed compares docs/packages.md with the packages. -update rewrites it.
func TestPackagesAreListed(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Packages\n\nEvery package with the first sentence of its documentation. " +
		"A test writes this page:\n`go test . -run PackagesAreListed -update`.\n\n" +
		"| package | what it is |\n|---|---|\n")
	all := packages(t)
	var dirs []string
	for dir := range all {
		if dir != "." && all[dir].production {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		fmt.Fprintf(&b, "| [%s](../%s) | %s |\n", dir, dir, strings.ReplaceAll(all[dir].synopsis, "|", `\|`))
	}
	if *updateDocs {
		if err := os.WriteFile(packagesName, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(packagesName)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Errorf("%s is stale: run go test . -run PackagesAreListed -update", packagesName)
	}
}

// packageFacts is what the files of a package say.
type packageFacts struct {
	production bool     // not only tests
	imports    []string // directories of this module that its production files import
	synopsis   string
}

func packages(t *testing.T) map[string]*packageFacts {
	t.Helper()
	all := map[string]*packageFacts{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (name == ".git" || policy.isNested(name)) {
			return fs.SkipDir
		}
		if d.IsDir() || !isGoSource(name) {
			return nil
		}
		dir := path.Dir(name)
		p := all[dir]
		if p == nil {
			p = &packageFacts{}
			all[dir] = p
		}
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		p.production = true
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if text := file.Doc.Text(); text != "" {
			p.synopsis = new(doc.Package).Synopsis(text)
		}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if own, ok := strings.CutPrefix(imported, policy.module+"/"); ok {
				p.imports = append(p.imports, own)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
