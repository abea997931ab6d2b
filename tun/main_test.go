package tun

import (
	"fmt"
	"os"
	"testing"

	"gvisor.dev/gvisor/pkg/refs"
)

// TestMain fails if a packet buffer is left after all tests: refs panics with the place where it
// was made.
func TestMain(m *testing.M) {
	refs.SetLeakMode(refs.LeaksPanic)
	code := m.Run()
	if code == 0 {
		refs.DoLeakCheck()
		fmt.Println("no packet buffer is left")
	}
	os.Exit(code)
}
