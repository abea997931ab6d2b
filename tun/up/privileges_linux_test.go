package up

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcpwheel/tun"
)

// TestPrivileges: a host that runs has no capabilities in any thread and gains none, and still
// writes further files of a capture and serves. A program with cgo keeps its capabilities, so the
// test runs again in one without.
func TestPrivileges(t *testing.T) {
	const inside = "TCPWHEEL_PRIVILEGES"
	if os.Getenv(inside) == "" {
		if testing.Short() {
			t.Skip("builds the tests again, without cgo")
		}
		cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-run", "^TestPrivileges$", ".")
		cmd.Env = append(os.Environ(), inside+"=1", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	s := newTestHost(t, Config{Capture: filepath.Join(t.TempDir(), "x.pcapng"), CaptureLimits: CaptureLimits{Files: 2, FileBytes: 1 << 20}})
	c := s.mustDial(stackAddrs[0].Addr(), HTTPPort)
	s.dropPrivileges()
	if _, err := c.Write([]byte("GET /bytes/3000000 HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, c); err != nil || n < 3_000_000 {
		t.Errorf("%d bytes, %v", n, err)
	}
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(tasks) < 2 {
		t.Fatalf("%q, %v", tasks, err)
	}
	for _, name := range tasks {
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		for _, want := range []string{"NoNewPrivs:\t1", "CapPrm:\t0000000000000002", "CapEff:\t0000000000000002"} { // CAP_DAC_OVERRIDE
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: %s, want %q", name, text, want)
			}
		}
	}
	if _, err := tun.NewNamespace(); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a new namespace: %v, want that it is not permitted", err)
	}
}
