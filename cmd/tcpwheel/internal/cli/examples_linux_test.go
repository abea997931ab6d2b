package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/tun"
	"tcpwheel/tun/netns"
)

// running is a command in its own process, in a network namespace.
type running struct {
	*exec.Cmd
	talk io.ReadCloser
	said strings.Builder
}

// startExample starts the command in a namespace.
func startExample(t *testing.T, ns *tun.Namespace, args []string) *running {
	t.Helper()
	r := &running{Cmd: exec.Command(os.Args[0], args...)}
	r.Env = append(os.Environ(), asCommand+"=1")
	var err error
	if r.talk, err = r.StderrPipe(); err != nil {
		t.Fatal(err)
	}
	if err := ns.Do(r.Start); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(upLimit, func() { r.Process.Kill() })
	t.Cleanup(func() { kill.Stop(); r.Process.Kill() })
	return r
}

// await reads the messages up to a line with text, or all of them if text is "".
func (r *running) await(t *testing.T, text string) {
	t.Helper()
	lines := bufio.NewReader(r.talk)
	for {
		line, err := lines.ReadString('\n')
		r.said.WriteString(line)
		switch {
		case text != "" && strings.Contains(line, text):
			go io.Copy(&r.said, lines)
			return
		case err != nil && text == "":
			return
		case err != nil:
			t.Fatalf("the command has ended without %q: %s", text, &r.said)
		}
	}
}

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
			end := func(r *running, ready string) {
				t.Helper()
				r.await(t, ready)
				if ready != "" {
					r.Process.Signal(os.Interrupt)
				}
				if err := r.Wait(); err != nil {
					t.Errorf("%v, %s", err, &r.said)
				}
			}
			switch {
			case args[0] == "link":
				for _, side := range []string{"a", "b"} {
					args = append(args, "--"+side+"-netns", fmt.Sprintf("tcpwheel-example-%d-%s", os.Getpid(), side))
				}
				end(startExample(t, ns, args), "are joined")
			case slices.Contains(args, "--rootless"):
				need(t, args[slices.Index(args, "--")+1])
				r := startExample(t, ns, args)
				r.await(t, "")
				if err := r.Wait(); err != nil && strings.Contains(r.said.String(), "make a user namespace") {
					t.Skipf("no user namespaces here: %s", &r.said)
				} else if err != nil {
					t.Errorf("%v, %s", err, &r.said)
				}
				if page, err := os.Stat("page"); err != nil || page.Size() != 9999 {
					t.Errorf("page: %v, %v, want 9999 bytes", page, err)
				}
			case args[0] == "up":
				end(startExample(t, ns, args), "kernel 10.7.0.1/24")
			}
		})
	}
}
