package cli

import (
	"bytes"
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
