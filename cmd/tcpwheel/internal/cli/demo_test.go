//go:build !js

package cli

import (
	"testing"

	"tcpwheel/cmd/tcpwheel/internal/demo"
	"tcpwheel/cmd/tcpwheel/internal/lanes"
)

// TestTerminalSaysHowTheLanesDo draws the line of a terminal.
func TestTerminalSaysHowTheLanesDo(t *testing.T) {
	state := demo.State{Paused: true, Results: []lanes.Result{{Label: "a", Time: 2.04, TimeLost: 1.26, Recoveries: 3}, {Label: "b"}}}
	if got, want := liveText(&state), "paused at 2.0 s  a lost 1.3 s in 3  b lost 0.0 s in 0"; got != want {
		t.Errorf("the line is %q, want %q", got, want)
	}
}
