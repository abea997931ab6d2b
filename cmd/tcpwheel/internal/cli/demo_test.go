//go:build !js

package cli

import (
	"strings"
	"testing"

	"tcpwheel/cmd/tcpwheel/internal/demo"
	"tcpwheel/cmd/tcpwheel/internal/lanes"
)

// TestLaneTables wants lines that fit a terminal, and a name that is too long in one of its own.
func TestLaneTables(t *testing.T) {
	const long = "rfc6298@500ms+rtt-tick=500ms+rto-min=1s"
	text := laneTables([]lanes.Result{{Label: "clock of 500 ms", ResponseP50: 0.25, Started: 1234567}, {Label: long}})
	for line := range strings.SplitSeq(text, "\n") {
		if width(line) > terminalColumns {
			t.Errorf("%d columns: %s", width(line), line)
		}
	}
	for _, want := range []string{"\nclock of 500 ms      250 ms ", "   1234567 ", "\n" + long + "\n  "} {
		if !strings.Contains(text, want) {
			t.Errorf("the tables lack %q:\n%s", want, text)
		}
	}
}

// TestTerminalSaysHowTheLanesDo draws the line of a terminal.
func TestTerminalSaysHowTheLanesDo(t *testing.T) {
	state := demo.State{Paused: true, Results: []lanes.Result{{Label: "a", Time: 2.04, TimeLost: 1.26, Recoveries: 3}, {Label: "b"}}}
	if got, want := liveText(&state), "paused at 2.0 s  a lost 1.3 s in 3  b lost 0.0 s in 0"; got != want {
		t.Errorf("the line is %q, want %q", got, want)
	}
}
