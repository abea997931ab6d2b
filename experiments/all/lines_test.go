package all

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// tagged matches a field with tags, which Go does not let end on another line.
var tagged = regexp.MustCompile("^\t[A-Z].* `[a-z]+:\".*\"`(?: //.*)?$")

// TestLines holds the lines of studies, Go and YAML, within what a page and two windows side by
// side show.
func TestLines(t *testing.T) {
	const most = 120
	files := os.DirFS("..")
	read := 0
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" && path.Ext(name) != ".yaml" ||
			path.Base(name) == "plan.yaml" { // its text is part of the digest of a run
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		read++
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line); n > most && !tagged.MatchString(line) {
				t.Errorf("experiments/%s:%d: %d columns, want at most %d", name, i+1, n, most)
			}
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Fatalf("%d files, %v", read, err)
	}
}
