package tcpwheel_test

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update", false, "rewrite docs/packages.md")

// packagesName has the drawing of the rooms, between the two marks.
const (
	packagesName = "docs/packages.md"
	roomsBegin   = "<!-- rooms: go test . -run PackagesAreDrawn -update -->\n"
	roomsEnd     = "<!-- end of rooms -->\n"
)

var roomRow = regexp.MustCompile(`(?m)^\| \[([a-z/]+)\]\(([a-z/]+)\) \|`)

// TestReadmeTableIsTheImportOrder checks that imports point from the bottom of the README's table
// of rooms to its top, tests left out.
func TestReadmeTableIsTheImportOrder(t *testing.T) {
	rooms := readmeRooms(t)
	for dir, p := range packages(t) {
		from := rowOf(rooms, dir)
		if from < 0 {
			if dir != "." {
				t.Errorf("package %s is in no room of the README's table", dir)
			}
			continue
		}
		for _, imported := range p.imports {
			if to := rowOf(rooms, imported); to > from {
				t.Errorf("%s imports %s, which is below it in the README's table", dir, imported)
			}
		}
	}
}

// readmeRooms returns the rooms of the README's table.
func readmeRooms(t *testing.T) (rooms []string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range roomRow.FindAllStringSubmatch(string(text), -1) {
		if m[1] != m[2] {
			t.Errorf("the row of %s links to %s", m[1], m[2])
		}
		rooms = append(rooms, m[1])
	}
	return rooms
}

// rowOf returns the number of the longest room that dir is in, -1 if it is in none.
func rowOf(rooms []string, dir string) int {
	found := -1
	for i, r := range rooms {
		if below(dir, r) && (found < 0 || len(r) > len(rooms[found])) {
			found = i
		}
	}
	return found
}

// TestPackagesAreDrawn compares the drawing of docs/packages.md with the imports between rooms.
// -update rewrites it.
func TestPackagesAreDrawn(t *testing.T) {
	rooms, all := readmeRooms(t), packages(t)
	imports := make([]map[int]bool, len(rooms))
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		from := rowOf(rooms, dir)
		if from < 0 || !all[dir].production {
			continue
		}
		if imports[from] == nil {
			imports[from] = map[int]bool{}
		}
		for _, imported := range all[dir].imports {
			imports[from][rowOf(rooms, imported)] = true
		}
	}
	var b strings.Builder
	b.WriteString("\n```text\n")
	for i, r := range rooms {
		fmt.Fprintf(&b, "%-14s", r)
		for k := range i {
			b.WriteString(map[bool]string{true: "  x", false: "  ."}[imports[i][k]])
		}
		fmt.Fprintf(&b, "  %s\n", path.Base(r))
	}
	b.WriteString("```\n\n")
	page, err := os.ReadFile(packagesName)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), roomsBegin)
	_, after, ok := strings.Cut(rest, roomsEnd)
	want := before + roomsBegin + b.String() + roomsEnd + after
	switch {
	case !ok:
		t.Errorf("%s has no place for the drawing", packagesName)
	case *updateDocs:
		if err := os.WriteFile(packagesName, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	case want != string(page):
		t.Errorf("%s is stale: run go test . -run PackagesAreDrawn -update", packagesName)
	}
}

// packageFacts is what the files of a package say.
type packageFacts struct {
	production bool     // not only tests
	imports    []string // directories of this module that its production files import
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
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
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
