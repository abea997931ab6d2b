package sweep

import (
	"os"
	"regexp"
	"testing"
)

const document = "../../docs/studies.md"

// TestDocumented runs the plan that docs/studies.md shows.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(shown) != 1 {
		t.Fatalf("%s shows %d plans, want one", document, len(shown))
	}
	rows := rowsIn(t, run(t, document, shown[0][1], true))
	for _, sender := range []string{"engine Linux", "engine per segment", "gvisor's own"} {
		if n := len(rows[sender]); n == 0 || rows[sender][0].Time <= 0 {
			t.Errorf("%s: %d runs of the plan shown", sender, n)
		}
	}
}
