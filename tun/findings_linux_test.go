package tun

import (
	"testing"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// TestFdbasedGivesNoGSOWithoutASocket shows a limit of gVisor (docs/findings.md): fdbased offers
// GSO only on sockets. A TUN descriptor is none, so every packet over TUN is one segment. The pipe
// here takes the place of the TUN device, which needs root.
func TestFdbasedGivesNoGSOWithoutASocket(t *testing.T) {
	supported := func(fd int) stack.SupportedGSO {
		t.Helper()
		e, err := fdbased.New(&fdbased.Options{FDs: []int{fd}, MTU: 1500, GSOMaxSize: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		return e.(stack.GSOEndpoint).SupportedGSO()
	}
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range append(pipe[:], pair[:]...) {
		defer unix.Close(fd)
	}
	if got := supported(pipe[0]); got != stack.GSONotSupported {
		t.Errorf("fdbased supports GSO %v on a pipe: docs/findings.md is out of date", got)
	}
	if got := supported(pair[0]); got != stack.HostGSOSupported {
		t.Errorf("fdbased supports GSO %v on a socket, want the host's", got)
	}
}
