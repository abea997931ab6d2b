package interop

import (
	"flag"
	"os"
	"testing"

	"tcpwheel/netstack/leaktest"
)

// TestMain fails if a goroutine or a packet buffer is left after all tests. These mostly wait, for timers and for packets on
// their way, so that many may do so at once.
func TestMain(m *testing.M) {
	if f := flag.Lookup("test.parallel"); f != nil {
		_ = f.Value.Set("32") // the command line says otherwise if it says anything
	}
	os.Exit(leaktest.Main(m, "tcpwheel/"))
}
