package nc

import (
	"os"
	"testing"

	"tcpwheel/netstack/leaktest"
)

// TestMain fails if a goroutine or a packet buffer is left after all tests.
func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "tcpwheel/")) }
