package interop

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"tcpwheel/netstack/leaktest"
)

// fewer returns n, or an eighth of it under the race detector or with -short.
func fewer(n int) int {
	if raced || testing.Short() {
		return n / 8
	}
	return n
}

// TestMain fails if a goroutine or a packet buffer is left after all tests. The tests mostly wait,
// for timers and packets, so many run at once.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil {
		_ = f.Value.Set(strconv.Itoa(fewer(32))) // the command line overrides it
	}
	os.Exit(leaktest.Main(m, "tcpwheel/"))
}
