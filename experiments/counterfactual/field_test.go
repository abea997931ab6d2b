package counterfactual

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
	"tcpwheel/experiments/plan"
	"tcpwheel/pcaps/samples"
)

// TestField reads one sample from a directory, next to a file that is no capture. Its lost tail
// waits for a timer.
func TestField(t *testing.T) {
	dir := t.TempDir()
	f, err := samples.Open("tail-one/a.pcapng.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	to, err := os.Create(filepath.Join(dir, "tail.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.ReadFrom(f); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("no capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "study: field\ncaptures: " + dir + "\n"
	cells, out := studytest.RunAltered[fieldCell](t, Field, text, nil)
	if len(cells) != 1 || cells[0].File != "tail.pcapng" || cells[0].All != 1 || len(cells[0].Losses) != 2 {
		t.Fatalf("%+v, want one capture of a connection with two losses", cells)
	}
	studytest.Want(t, out, experiments.Reproduced, "lost", "waited")

	t.Log("# more waiting than time lost is a fault")
	_, out = studytest.RunAltered(t, Field, text, func(c *fieldCell) { c.Kinds[0].Waited += c.Kinds[0].Lost * 2 })
	studytest.Want(t, out, experiments.NotReproduced, "lost")
}

func TestFieldWithoutCaptures(t *testing.T) {
	f, err := plan.Parse("p", []byte("study: field\ncaptures: /nowhere\n"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := Field.OpenPlan(f, true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = experiments.Run(t.Context(), []*experiments.Job{j}, experiments.Shard{}, 1, nil)
	if err == nil || !strings.Contains(err.Error(), "captures: ") || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("a directory that is not there: %v", err)
	}
}
