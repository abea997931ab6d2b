package interop

import (
	"os"
	"testing"

	"tcpwheel/netstack/leaktest"
	"tcpwheel/tun/netns"
)

// isLong reports whether to run everything, and not just a part that takes some seconds.
func isLong() bool { return os.Getenv("TCPWHEEL_LONG") != "" && !raced && !testing.Short() }

// fewer returns n in a long run, else an eighth of it.
func fewer(n int) int {
	if isLong() {
		return n
	}
	return n / 8
}

// TestMain fails if a goroutine or a packet buffer is left after all tests. The tests mostly wait,
// for timers and packets, so many run at once.
func TestMain(m *testing.M) {
	if raced {
		netns.TestsAtOnce(4)
	} else {
		netns.TestsAtOnce(32)
	}
	os.Exit(leaktest.Main(m, "tcpwheel/"))
}
