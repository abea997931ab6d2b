package sweep

import (
	"os"
	"regexp"
	"testing"
	"testing/fstest"

	"tcpwheel/experiments"
)

const document = "../../docs/studies.md"

// TestDocumented runs the plan that docs/studies.md shows.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(shown) != 2 {
		t.Fatalf("%s shows %d files, want a plan and its claims", document, len(shown))
	}
	out := runFolder(t, fstest.MapFS{"plan.yaml": {Data: []byte(shown[0][1])},
		"claims.yaml": {Data: []byte(shown[1][1])}}, ".")
	if len(out.Claims) != 1 || out.Claims[0].Verdict != experiments.Reproduced || len(out.Tables) == 0 {
		t.Errorf("the plan and claims shown: %d tables, %+v", len(out.Tables), out.Claims)
	}
}
