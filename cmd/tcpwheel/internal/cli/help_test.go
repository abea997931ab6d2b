package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestHelpFits checks that the help of every command fits one screen: 40 lines of 80 columns.
func TestHelpFits(t *testing.T) {
	n := 0
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		if cmd.Name() == "completion" {
			return // it is cobra's
		}
		n++
		var out, talk bytes.Buffer
		if status := run(append(path, "--help"), strings.NewReader(""), &out, &talk); status != exitOK {
			t.Fatalf("%q: status %d, %s", path, status, &talk)
		}
		if n := strings.Count(out.String(), "\n"); n > helpLines && !cmd.IsAdditionalHelpTopicCommand() {
			t.Errorf("%q: %d lines, want %d at most", path, n, helpLines)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if utf8.RuneCountInString(line) > terminalColumns {
				t.Errorf("%q: %d columns: %s", path, utf8.RuneCountInString(line), line)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
	}
	walk(newRoot(nil, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}), nil)
	if n < 20 {
		t.Errorf("%d commands, want at least 20", n)
	}
}

// TestHelpThatCannotBeWritten wants status 1, as of other output, in every form of help.
func TestHelpThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}, {"help", "policies"}, {"help", "wheel", "bench"}, {"analyze", "--help"}, {"version"}} {
		var talk strings.Builder
		if exit := run(args, nil, full{}, &talk); exit != exitFailed || !strings.Contains(talk.String(), io.ErrShortWrite.Error()) {
			t.Errorf("%q: exit %d and %q, want %d", args, exit, talk.String(), exitFailed)
		}
	}
}

// full is a device without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
