package all

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tcpwheel/experiments"
)

// long lets more cells run.
var long = os.Getenv("TCPWHEEL_LONG") != ""

func TestStudies(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Studies() {
		t.Run(s.Name, func(t *testing.T) {
			j, err := s.Open(true)
			if err != nil {
				t.Fatal(err)
			}
			if w := j.Words(); names[s.Name] || names[s.ID] || w.Question == "" || w.Found == "" ||
				!regexp.MustCompile(`^[a-z0-9]+$`).MatchString(s.Name) {
				t.Errorf("study %s %q: want a unique name and ID, a question, and what it found", s.ID, s.Name)
			}
			names[s.Name], names[s.ID] = true, true
			if _, err := fs.Stat(os.DirFS(".."), s.Folder+"/plan.yaml"); err != nil || path.Base(s.Folder) != s.Name {
				t.Errorf("the folder %s of study %s: %v", s.Folder, s.Name, err)
			}
			for _, part := range []string{"# " + s.ID + ":", "**Question.**", "**Prior claim.**", "**Method.**",
				"**Varied.**", "`tcpwheel experiment run " + s.Name + "`", "**What would change our mind.**"} {
				if !strings.Contains(s.Readme(), part) {
					t.Errorf("README.md has no %q", part)
				}
			}
			for _, quick := range []bool{false, true} {
				if _, err := s.Open(quick); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestFoldersAreListed finds folders of studies that Studies does not list.
func TestFoldersAreListed(t *testing.T) {
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, _ fs.DirEntry, err error) error {
		if folder, ok := strings.CutSuffix(name, "/plan.yaml"); ok {
			if s := Find(path.Base(folder)); s == nil || s.Folder != folder {
				t.Errorf("experiments/%s is not in Studies", folder)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCellsAreTheSameAnywhere runs the cheapest cells of each study twice and compares the results.
func TestCellsAreTheSameAnywhere(t *testing.T) {
	for _, s := range Studies() {
		t.Run(s.Name, func(t *testing.T) {
			j, err := s.Open(true)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortStableFunc(j.Cells, func(a, b experiments.Work) int { return cmp.Compare(a.Cost, b.Cost) })
			n := 1
			if long {
				n = 2
			}
			j.Cells = j.Cells[:min(n, len(j.Cells))]
			run := func() string {
				r, err := experiments.Run(context.Background(), []*experiments.Job{j}, nil,
					runtime.GOMAXPROCS(0), nil)
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			if a, b := run(), run(); a != b {
				t.Errorf("two runs of the same cells differ:\n%s\n%s", a, b)
			}
		})
	}
}
