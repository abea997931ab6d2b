package tail

import (
	"os"
	"testing"

	"tcpwheel/netstack/leaktest"
	"tcpwheel/tun/netns"
)

func TestMain(m *testing.M) {
	netns.TestsAtOnce(8)
	os.Exit(leaktest.Main(m, "tcpwheel/"))
}
