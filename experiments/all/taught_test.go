package all

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
)

// TestTaught holds the example of docs/studies.md against the folder that 'experiment new' writes,
// and runs it: a study in less than 60 lines of YAML, without Go.
func TestTaught(t *testing.T) {
	const document = "../../docs/studies.md"
	page, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	part := regexp.MustCompile(`(?s)<!-- first: .*<!-- end of first -->`).FindString(string(page))
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```\n").FindAllStringSubmatch(part, -1)
	names := []string{"plan.yaml", "claims.yaml", "figures.yaml"}
	if len(blocks) != len(names) {
		t.Fatalf("%s shows %d files, want %v", document, len(blocks), names)
	}
	files, lines, want := declared.First(), 0, string(page)
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "\n")
		if blocks[i][1] != string(text) {
			t.Errorf("%s does not show %s: run go test ./experiments/all -run TestTaught -update", document, name)
			want = strings.Replace(want, blocks[i][1], string(text), 1)
		}
	}
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
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
	results, err := experiments.Run(t.Context(), []*experiments.Job{j}, experiments.Shard{}, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := j.Judge(results[j.Study.Name])
	if err != nil {
		t.Fatal(err)
	}
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
