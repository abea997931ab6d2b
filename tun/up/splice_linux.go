package up

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// kernelConn is a connection of the kernel's.
type kernelConn struct{ *net.TCPConn }

// AwaitReset implements duplex. The poller tells of a reset as it tells of octets; reading goes on to tell of the end.
func (c kernelConn) AwaitReset() error {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil // it is closed
	}
	var reset error
	_ = raw.Read(func(fd uintptr) bool { // whose error is that it was closed
		if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR); err == nil && n != 0 {
			reset = os.NewSyscallError("read", unix.Errno(n))
		}
		return reset != nil
	})
	return reset
}
