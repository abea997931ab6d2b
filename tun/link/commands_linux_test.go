package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tcpwheel/tun"
)

// runTest runs a link with commands in namespaces that it makes, and returns their output.
func runTest(t *testing.T, ctx context.Context, cmds Commands, ready func()) (out string, err error) {
	t.Helper()
	c := testConfig(t) // skips without root
	c.Log, c.Captures = "", [2]string{}
	c.MakeNamespaces = true
	for i := range c.Sides {
		c.Sides[i].Netns = fmt.Sprintf("tcpwheel-test-%d-%s", os.Getpid(), sideName(i))
	}
	var b bytes.Buffer
	cmds.Stdout, cmds.Stderr = &b, &b
	_, err = Run(ctx, c, cmds, func(l *Link) func() {
		if !strings.Contains(l.String(), c.Sides[0].Netns) {
			t.Errorf("the link is %v", l)
		}
		ready()
		return func() {}
	})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		t.Skipf("no named namespace here: %v", err)
	}
	for i := range c.Sides {
		if err := tun.InNamespace(c.Sides[i].Netns, func() error { return nil }); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("namespace %s: %v, want none", c.Sides[i].Netns, err)
		}
	}
	return b.String(), err
}

// TestCommands runs a program at each end. The end of a's program ends the link; b's program ends
// with all its children.
func TestCommands(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said") // b's program has
	out, err := runTest(t, context.Background(), Commands{
		B: "sleep 60 & echo $!; : > " + said + "; wait",
		A: []string{"/bin/sh", "-c", "read line < /proc/net/dev; echo up; until [ -e " + said + " ]; do sleep 0.01; done"},
	}, func() {})
	lines := strings.Fields(out)
	if err != nil || len(lines) != 2 {
		t.Fatalf("%q, %v", out, err)
	}
	pid := lines[0]
	if pid == "up" {
		pid = lines[1]
	}
	for range 18_000 {
		if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err != nil || strings.Contains(string(stat), ") Z ") {
			return // gone, or a zombie until its parent waits for it
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s is left", pid)
}

// TestCommandThatFails: the failure of either command is an error with its status, also while the
// other runs.
func TestCommandThatFails(t *testing.T) {
	waits := []string{"/bin/sh", "-c", "sleep 60"}
	_, err := runTest(t, context.Background(), Commands{A: waits, B: "exit 9"}, func() {})
	if e, ok := errors.AsType[*CommandError](err); !ok || e.Name != "b-run" || !strings.Contains(err.Error(), "exit status 9") {
		t.Errorf("error %v, want b-run's", err)
	}
	if _, err := runTest(t, context.Background(), Commands{A: []string{"/bin/sh", "-c", "exit 7"}}, func() {}); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("error %v", err)
	}
	if _, err := runTest(t, context.Background(), Commands{A: []string{"/no/such/program"}}, func() {}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestContextEnds: the end of the context ends the link and asks its program to end.
func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	waits := filepath.Join(t.TempDir(), "waits") // for the signal
	out, err := runTest(t, ctx, Commands{A: []string{"/bin/sh", "-c",
		"trap 'echo asked; kill $!; exit' TERM; sleep 600 & echo ready; : > " + waits + "; wait"}}, func() {
		go func() {
			for _, err := os.Stat(waits); err != nil && ctx.Err() == nil; _, err = os.Stat(waits) {
				time.Sleep(10 * time.Millisecond)
			}
			cancel()
		}()
	})
	if err != nil || out != "ready\nasked\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestRealtime: the process has real-time priority while a link is up, also once another is closed.
// Its commands never have it.
func TestRealtime(t *testing.T) {
	c := testConfig(t)
	c.Realtime = true
	policies := func() string {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, task := range tasks {
			id, _ := strconv.Atoi(task.Name())
			if attr, err := unix.SchedGetAttr(id, 0); err == nil {
				all = append(all, fmt.Sprint(attr.Policy))
			}
		}
		slices.Sort(all)
		return strings.Join(slices.Compact(all), " ")
	}
	before := policies()
	var during string
	var b bytes.Buffer
	_, err := Run(context.Background(), c, Commands{A: []string{"/bin/sh", "-c", "cut -d' ' -f41 /proc/self/stat"}, Stdout: &b, Stderr: &b},
		func(*Link) func() {
			other := testConfig(t)
			other.Realtime = true
			if l, err := Start(other); err != nil {
				t.Error(err)
			} else if _, err := l.Close(); err != nil {
				t.Error(err)
			}
			during = policies()
			return func() {}
		})
	if errors.Is(err, fs.ErrPermission) {
		t.Skipf("no real-time priority here: %v", err)
	}
	if err != nil || before != "0" || during != "2" || b.String() != "0\n" {
		t.Errorf("policies %s, then %s, of the command %q, %v, want 0, 2 and 0", before, during, b.String(), err)
	}
	if after := policies(); after != "0" {
		t.Errorf("policies %s after Close, want 0", after)
	}
}

// TestForceRemovesLeftovers: a link whose namespaces exist fails with a hint for both, and replaces
// them with Force.
func TestForceRemovesLeftovers(t *testing.T) {
	c := testConfig(t)
	c.MakeNamespaces = true
	for i := range c.Sides {
		c.Sides[i].Netns = fmt.Sprintf("tcpwheel-left-%d-%d", os.Getpid(), i)
		if _, err := tun.AddNamespace(c.Sides[i].Netns); err != nil {
			t.Skipf("no named namespace here: %v", err)
		}
	}
	if l, err := Start(c); err == nil || !strings.Contains(err.Error(), "use --force to remove "+c.Sides[0].Netns+" and "+c.Sides[1].Netns) {
		t.Errorf("%v: error %v, want one with a hint", l, err)
	}
	c.Force = true
	l, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Close(); err != nil {
		t.Error(err)
	}
	for i := range c.Sides {
		if err := tun.RemoveNamespace(c.Sides[i].Netns); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("namespace %s: %v, want none", c.Sides[i].Netns, err)
		}
	}
}
