// Package leaktest, for the tests of this module, fails a package whose tests leave a goroutine or
// a packet buffer behind. The tests of netstack, tun and experiments use it.
package leaktest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/refs"
)

// Main runs the tests of a package and returns the exit status. Call it from TestMain.
//
// If the tests pass, Main waits up to a minute for goroutines to end that run code of gVisor or of
// a package whose path contains one of paths; it fails if one is left. If a packet buffer is left,
// gVisor's refs package panics and prints where the buffer was made. Benchmarks run without that
// check, as it costs a lock and a stack trace for each buffer.
func Main(m *testing.M, paths ...string) int {
	flag.Parse()
	if bench := flag.Lookup("test.bench"); bench == nil || bench.Value.String() == "" {
		refs.SetLeakMode(refs.LeaksPanic)
	}
	code := m.Run()
	if code == 0 {
		if left := goroutines(append(paths, "gvisor.dev")); left != "" {
			fmt.Fprintln(os.Stderr, "goroutines left behind:\n"+left)
			code = 1
		}
		refs.DoLeakCheck()
	}
	return code
}

// goroutines returns the stacks of the goroutines that run code of one of the paths, except the
// tests' own.
func goroutines(paths []string) string {
	var left []string
	for range 6000 {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		left = left[:0]
		for _, g := range strings.Split(string(buf), "\n\n") {
			of := func(path string) bool { return strings.Contains(g, path) }
			if !strings.Contains(g, "TestMain") && slices.ContainsFunc(paths, of) {
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
