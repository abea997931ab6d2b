package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tcpwheel/netstack/sim"
)

// TestScripts runs testdata/*.txt. Their command tcpwheel calls run and wants its first argument as the
// exit status. It leaves standard output and standard error for comparison. Lines with [long] run
// only if TCPWHEEL_LONG is not empty. With -update it rewrites what scripts expect.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Condition: func(cond string) (bool, error) {
			if cond != "long" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return os.Getenv("TCPWHEEL_LONG") != "", nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"capture": writeCapture,
			"cut": func(ts *testscript.TestScript, neg bool, args []string) { // FILE COPY BYTES
				n, err := strconv.Atoi(args[2])
				ts.Check(err)
				b, err := os.ReadFile(ts.MkAbs(args[0]))
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), b[:n], 0o666))
			},
			"tcpwheel": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) == 0 {
					ts.Fatalf("usage: tcpwheel status [argument...]")
				}
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				if got := run(args[1:], strings.NewReader(""), ts.Stdout(), ts.Stderr()); got != want {
					ts.Fatalf("exit status %d, want %d", got, want)
				}
			},
		},
	})
}

// writeCapture is the scripts' command that captures a simulated sender. Its arguments are the
// file, the losses of the link as in plans, and the number of bytes.
func writeCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture file losses")
	}
	losses, err := sim.ParseLosses(args[1])
	ts.Check(err)
	b, err := captured(losses)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o666))
}
