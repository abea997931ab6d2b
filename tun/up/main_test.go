package up

import (
	"os"
	"testing"

	"tcpwheel/netstack/leaktest"
	"tcpwheel/tun/netns"
)

// TestMain fails if a goroutine or a packet buffer is left after all tests.
// The tests mostly wait, so many run at once.
func TestMain(m *testing.M) {
	netns.TestsAtOnce(16)
	os.Exit(leaktest.Main(m, "tcpwheel/"))
}
