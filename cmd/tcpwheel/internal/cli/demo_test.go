//go:build !js

package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tcpwheel/cmd/tcpwheel/internal/demo"
	"tcpwheel/cmd/tcpwheel/internal/lanes"
)

// TestTerminalFitsTheWindow draws what a terminal shows in windows of three widths: no line is
// longer, and no word, number or unit is lost.
func TestTerminalFitsTheWindow(t *testing.T) {
	run, err := lanes.NewRun(1, []string{"per-segment@1ms", "per-segment@100ms", "bsd"}, lanes.DefaultConditions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Do("tail", "1"); err != nil {
		t.Fatal(err)
	}
	if err := run.AdvanceTo(5e9); err != nil {
		t.Fatal(err)
	}
	state := demo.State{Heading: run.Heading(), Results: run.Results(), Loss: run.LossText(), Paused: true}
	words := strings.Fields(run.LossText())
	for _, width := range []int{45, 80, 200} {
		text := liveText(state, width)
		for line := range strings.SplitSeq(text, "\n") {
			if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > width {
				t.Errorf("%d columns in a window of %d: %q", n, width, line)
			}
		}
		if got := strings.Fields(text); !strings.Contains(strings.Join(got, " "), strings.Join(words, " ")) {
			t.Errorf("in %d columns the loss is told as\n%s", width, text)
		}
		if !strings.Contains(text, "Paused by the page.") {
			t.Errorf("in %d columns no pause:\n%s", width, text)
		}
	}
}
