package up

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// kernelConn is a connection of the kernel.
type kernelConn struct{ *net.TCPConn }

// AwaitReset implements duplex. The poller signals a reset as it signals data.
func (c kernelConn) AwaitReset() error {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil // closed
	}
	var reset error
	_ = raw.Read(func(fd uintptr) bool { // its error is that the connection was closed
		if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR); err == nil && n != 0 {
			reset = os.NewSyscallError("read", unix.Errno(n))
		}
		return reset != nil
	})
	return reset
}
