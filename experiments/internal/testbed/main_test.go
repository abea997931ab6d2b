package testbed

import (
	"os"
	"testing"

	"tcpwheel/netstack/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "tcpwheel/")) }
