package interop

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"tcpwheel/netstack/leaktest"
)

// fewer returns n, or an eighth of it where each access to memory is watched, or the tests are to be short.
func fewer(n int) int {
	if raced || testing.Short() {
		return n / 8
	}
	return n
}

// TestMain fails if a goroutine or a packet buffer is left after all tests. These mostly wait, for timers and for packets on
// their way, so that many may do so at once.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil {
		_ = f.Value.Set(strconv.Itoa(fewer(32))) // the command line says otherwise if it says anything
	}
	os.Exit(leaktest.Main(m, "tcpwheel/"))
}
