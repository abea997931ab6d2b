package netstack

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// TestSwap compiles a program for gVisor's TCP twice: as it is, and with nothing but the import
// path of gVisor's tcp package changed.
func TestSwap(t *testing.T) {
	const program, imported = "testdata/swap/swap.go", `"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"`
	src, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), imported); n != 1 {
		t.Fatalf("%s imports gVisor's tcp %d times, want once", program, n)
	}
	dir := t.TempDir()
	swapped, overlay := filepath.Join(dir, "swap.go"), filepath.Join(dir, "overlay.json")
	src = []byte(strings.Replace(string(src), imported, `tcp "tcpwheel/netstack"`, 1))
	path, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: swapped}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{swapped: src, overlay: replace} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"build", "./testdata/swap"}, {"build", "-overlay", overlay, "./testdata/swap"}} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestGVisorsForwarderPanics shows what happens to a program that swaps NewProtocol alone.
func TestGVisorsForwarderPanics(t *testing.T) {
	s := stack.New(stack.Options{TransportProtocols: []stack.TransportProtocolFactory{NewProtocol}})
	defer s.Destroy()
	defer func() {
		if recover() == nil {
			t.Error("gVisor's tcp.NewForwarder did not panic; the package comment says that it does")
		}
	}()
	gtcp.NewForwarder(s, 0, 1, func(*gtcp.ForwarderRequest) {})
}
