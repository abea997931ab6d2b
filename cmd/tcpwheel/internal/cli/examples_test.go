package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// example is a line of a command's help.
type example struct {
	of, line string // "tcpwheel wheel bench"
	input    string // name of the file on standard input, or ""
	args     []string
}

// examplesOfHelp returns all examples, in the order of the help.
func examplesOfHelp() (all []example) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			e := example{of: cmd.CommandPath(), line: strings.TrimSpace(line)}
			call := e.line
			if before, after, ok := strings.Cut(call, " < "); ok {
				e.input, call = after, before
			}
			e.args = shellWords(call)[1:]
			all = append(all, e)
		}
		for _, sub := range cmd.Commands() {
			if sub.Name() != "completion" { // it is cobra's
				visit(sub)
			}
		}
	}
	visit(newRoot(nil, nil, io.Discard, io.Discard))
	return all
}

// shellWords splits a line as a shell does, as far as the examples go.
func shellWords(line string) (words []string) {
	var word strings.Builder
	quoted, any := false, false
	for _, r := range line + " " {
		switch {
		case r == '\'':
			quoted, any = !quoted, true
		case r == ' ' && !quoted:
			if any {
				words = append(words, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteRune(r)
			any = true
		}
	}
	return words
}

// smaller are flags that let an example take less time, by the command that it calls.
var smaller = map[string][]string{
	"experiment run": {"--quick"},
	"wheel bench":    {"--n=100", "--budget=1ms", "--rounds=1"},
}

// withKernel are the commands whose examples TestExamplesOverTUN runs.
var withKernel = []string{"up", "link"}

// TestExamplesOfHelp runs every example of every --help, as printed except for size. Those of a
// command run one after another in a directory of their own, and find what the earlier ones wrote.
// Other tests run the same code with -short, where the race detector makes it ten times as long.
func TestExamplesOfHelp(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short")
	}
	source, err := filepath.Abs("../../../../netstack")
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, e := range examplesOfHelp() {
		if e.of != last {
			last = e.of
			t.Chdir(t.TempDir())
			if err := os.Symlink(source, "netstack"); err != nil { // examples with files of the source
				t.Fatal(err)
			}
		}
		if slices.Contains(withKernel, e.args[0]) && e.input == "" {
			continue
		}
		if status, _, talk := e.run(t, e.args); status != exitOK {
			t.Errorf("%s --help: %s: exit status %d, %s", e.of, e.line, status, talk)
		}
	}
}

// run calls the command with a smaller size.
func (e *example) run(t *testing.T, args []string) (status int, out, talk string) {
	args = slices.Clone(args)
	if i := slices.Index(args, "--all"); i >= 0 && args[0] == "experiment" {
		args[i] = "expiry"
	}
	for of, flags := range smaller {
		if !strings.HasPrefix(strings.Join(args, " ")+" ", of+" ") {
			continue
		}
		for _, f := range flags { // a list would get longer
			name, _, _ := strings.Cut(f, "=")
			if i := slices.Index(args, name); i >= 0 && strings.Contains(f, "=") {
				args = slices.Delete(args, i, i+2)
			}
		}
		args = append(args, flags...)
	}
	stdin := io.Reader(strings.NewReader(""))
	if e.input != "" {
		f, err := os.Open(e.input)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		stdin = f
	}
	var o, m bytes.Buffer
	status = run(args, stdin, &o, &m)
	return status, o.String(), m.String()
}
