package cli

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tcpwheel/tun/netns"
)

// TestExamplesOverTUN runs the examples of the commands that need the kernel, in namespaces.
func TestExamplesOverTUN(t *testing.T) {
	for _, e := range examplesOfHelp() {
		if !slices.Contains(withKernel, e.args[0]) || e.input != "" {
			continue
		}
		t.Run(e.line, func(t *testing.T) {
			ns := netns.Test(t)
			t.Chdir(t.TempDir())
			args := slices.Clone(e.args)
			ready, rootless := "kernel 10.7.0.1/24", slices.Contains(args, "--rootless")
			switch {
			case args[0] == "link":
				ready = "are joined"
				for _, side := range []string{"a", "b"} {
					args = append(args, "--"+side+"-netns", fmt.Sprintf("tcpwheel-example-%d-%s", os.Getpid(), side))
				}
			case rootless:
				need(t, args[slices.Index(args, "--")+1])
			}
			r := start(t, ns, func(cmd *exec.Cmd) error { return ns.Do(cmd.Start) }, args...)
			if !rootless {
				r.await(ready)
				r.cmd.Process.Signal(os.Interrupt)
			}
			err := r.end()
			if said := strings.Join(r.said, "\n"); err != nil && strings.Contains(said, "make a user namespace") {
				t.Skipf("no user namespaces here: %s", said)
			} else if err != nil {
				t.Errorf("%v, %s", err, said)
			}
			if page, err := os.Stat("page"); rootless && (err != nil || page.Size() != 9999) {
				t.Errorf("page: %v, %v, want 9999 bytes", page, err)
			}
		})
	}
}
