// Package leaktest fails the tests of a package that leave a goroutine or a packet buffer behind.
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

// Main runs the tests of a package and returns the status to exit with. If they pass, a goroutine must not be left that runs code
// of gVisor or of a package whose path contains one of the paths, after a minute to end; and refs panics if a packet
// buffer is left, with where it was made. When benchmarks run, buffers are not watched, which costs a lock for all and a stack for each.
func Main(m *testing.M, paths ...string) int {
	flag.Parse()
	if bench := flag.Lookup("test.bench"); bench == nil || bench.Value.String() == "" {
		refs.SetLeakMode(refs.LeaksPanic)
	}
	code := m.Run()
	if code == 0 {
		if left := goroutines(append(paths, "gvisor.dev")); left != "" {
			fmt.Fprintln(os.Stderr, "goroutines are left:\n"+left)
			code = 1
		}
		refs.DoLeakCheck()
	}
	return code
}

// goroutines returns the stacks of the goroutines, but for the one of the tests themselves, that run code of one of the paths.
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
