package all

import (
	"io/fs"
	"strings"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/experiments/internal/studytest"
)

// TestTaught runs the folder that 'experiment new' writes: a study in less than 60 lines of YAML,
// without Go.
func TestTaught(t *testing.T) {
	names := []string{"plan.yaml", "claims.yaml", "figures.yaml"}
	files, lines := declared.First(), 0
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "\n")
	}
	if lines >= 60 {
		t.Errorf("the first study has %d lines, want less than 60", lines)
	}
	j, err := declared.Open(files, ".", true, Find)
	if err != nil {
		t.Fatal(err)
	}
	if w := j.Words(); w.Question != j.Study.Question() || !strings.Contains(w.Found, "{order}") {
		t.Errorf("question %q, found %q: want that of the bed, and that of the folder", w.Question, w.Found)
	}
	out := studytest.RunJob(t, j)
	for _, c := range out.Claims {
		if c.Verdict != experiments.Reproduced {
			t.Errorf("%s: %s, %v", c.Name, c.Verdict, c.Measured)
		}
	}
	if len(out.Claims) != 2 || len(out.Tables) != 1 || len(out.Figures) != 1 {
		t.Errorf("%d claims, %d tables, %d figures, want 2, 1 and 1", len(out.Claims), len(out.Tables),
			len(out.Figures))
	}
}
