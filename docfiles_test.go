package tcpwheel_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goFile = regexp.MustCompile(`[a-z0-9_*]+\.go\b`)

// TestFilesOfRoomsExist checks that every file or pattern in the "# Files" part of each doc.go
// exists.
func TestFilesOfRoomsExist(t *testing.T) {
	rooms := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Base(name) != "doc.go" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		_, files, ok := strings.Cut(string(text), "// # Files\n")
		if !ok {
			return nil
		}
		files, _, _ = strings.Cut(files, "\n// # ")
		rooms++
		for _, pattern := range goFile.FindAllString(files, -1) {
			if found, err := filepath.Glob(filepath.Join(filepath.Dir(name), pattern)); err != nil || len(found) == 0 {
				t.Errorf("%s: there is no %s", name, pattern)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rooms < 10 {
		t.Errorf("%d rooms have a list of files, want 10 at least", rooms)
	}
}
