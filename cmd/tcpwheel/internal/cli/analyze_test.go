package cli

import (
	"bytes"
	"strings"
	"testing"

	"tcpwheel/netstack/sim"
)

// TestSummaryFitsAScreen checks that tables fit 80 columns and 24 lines, whatever their numbers.
func TestSummaryFitsAScreen(t *testing.T) {
	b, err := captured(sim.Losses{sim.Bernoulli{P: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if status := run([]string{"analyze", "-"}, bytes.NewReader(b), &out, &out); status != exitOK {
		t.Fatalf("exit status %d: %s", status, &out)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("%d lines, want at most 24:\n%s", len(lines), &out)
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
