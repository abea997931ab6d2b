package up

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/refs"
)

// TestMain fails if a goroutine or a packet buffer is left after all tests.
func TestMain(m *testing.M) {
	refs.SetLeakMode(refs.LeaksPanic)
	code := m.Run()
	if code == 0 {
		if left := goroutinesLeft(); left != "" {
			fmt.Fprintln(os.Stderr, "goroutines are left:\n"+left)
			code = 1
		}
		refs.DoLeakCheck()
	}
	os.Exit(code)
}

// goroutinesLeft returns the stacks of goroutines that run code of a site, after some time to end.
func goroutinesLeft() string {
	var left []string
	for range 100 {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		left = left[:0]
		for _, g := range strings.Split(string(buf), "\n\n") {
			if !strings.Contains(g, "TestMain") && (strings.Contains(g, "tcpwheel/") || strings.Contains(g, "gvisor.dev")) {
				left = append(left, g)
			}
		}
		if len(left) == 0 {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return strings.Join(left, "\n\n")
}
