package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestReportOfAnInterrupt: scripts hold the other errors.
func TestReportOfAnInterrupt(t *testing.T) {
	var b bytes.Buffer
	if got := report(&b, fmt.Errorf("bench: %w", context.Canceled)); got != exitFailed || b.String() != "tcpwheel: error: interrupted\n" {
		t.Errorf("status %d, %q, want %d and that it was interrupted", got, &b, exitFailed)
	}
}

// Bounds of what a user must read: commands in the help of the program, and flags of a command.
// The flags of a group, as those of the link, count apart.
const (
	mostCommands = 12
	mostFlags    = 12
)

// TestHelpIsShort counts commands and flags, and wants texts of flags in one line, which the help
// wraps.
func TestHelpIsShort(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		n := map[string]int{}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Contains(f.Usage, "\n") {
				t.Errorf("%s: the text of --%s has line breaks", cmd.CommandPath(), f.Name)
			}
			if !f.Hidden {
				n[strings.Join(f.Annotations[flagGroup], "")]++
			}
		})
		for group, n := range n {
			if n > mostFlags && cmd.Name() != "link" && cmd.Name() != "up" {
				t.Errorf("%s: %d flags %s, want at most %d", cmd.CommandPath(), n, group, mostFlags)
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	root := newRoot(nil, nil, io.Discard, io.Discard)
	visit(root)
	commands := 0
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() || cmd.Name() == "help" {
			commands++
		}
	}
	if commands > mostCommands {
		t.Errorf("%d commands, want at most %d", commands, mostCommands)
	}
}

// Every command's help has a summary, a description and an example. TestExamplesOfHelp runs these.
func TestHelpIsComplete(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" {
			return // cobra's own
		}
		if cmd.IsAdditionalHelpTopicCommand() {
			return
		}
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s: short, long and example are %q, %q, %q", cmd.CommandPath(), cmd.Short, cmd.Long, cmd.Example)
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(nil, nil, io.Discard, io.Discard))
}

func TestIsTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, w := range []io.Writer{f, io.Discard} {
		if isTerminal(w) {
			t.Errorf("isTerminal(%T) = true, want false", w)
		}
	}
}

// brokenPipe is an output that fails.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A failure to write results is reported, in every format.
func TestResultsThatAreNotWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("runs each command once, which others do, too")
	}
	for _, line := range []string{
		"analyze sample:tail-one", "analyze --json sample:tail-one",
		"replay --policy linux sample:tail-one", "replay --policy linux --json sample:tail-one",
		"samples", "samples --json", "experiment list", "experiment list --json", "experiment show vegas",
		"script ../../../../netstack/tcp/testdata/rto-backoff.pkt", "script --json ../../../../netstack/tcp/testdata/rto-backoff.pkt",
		"wheel schemes", "wheel schemes --json", "wheel bench --schemes scheme6 --workloads start-stop --n 10 --budget 1ms",
		"wheel bench --schemes scheme6 --workloads start-stop --n 10 --budget 1ms --json", "version", "completion bash", "--help", "-h", "help", "help policies", "help wheel bench", "analyze --help",
	} {
		var talk bytes.Buffer
		if status := run(strings.Fields(line), strings.NewReader(""), brokenPipe{}, &talk); status != exitFailed || !strings.HasSuffix(talk.String(), ": no space left\n") {
			t.Errorf("%s: exit status %d, %q, want %d and why", line, status, talk.String(), exitFailed)
		}
	}
}
