//go:build js

package cli

import (
	"os"
	"os/exec"

	"github.com/spf13/cobra"
)

// commands are the commands that a page has.
var commands = []command{
	{"analyze", newAnalyze},
	{"replay", newReplay},
}

// endingSignals returns the signals that end a command: a page has none.
func endingSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func newTopics() []*cobra.Command { return nil }

func completeValues(*cobra.Command) {}

func programOfCaller(error) *exec.ExitError { return nil }
