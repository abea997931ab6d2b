package sockets

import (
	"os"

	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// AwaitReset waits until the connection has failed, by a reset or a timeout, and returns why, or until it is closed here, and returns
// nil. It is for who has read the end of the stream, and so reads no more, but goes on to write: to learn that it is in vain.
// A reset after the peer's end is EPIPE, as in Linux, and is told once. Deadlines do not concern it.
func (c *Conn) AwaitReset() error {
	for {
		seq := c.rd.events.Load()
		if c.closed() {
			return nil
		}
		if err := c.failedBefore(); err != nil {
			return c.opError("read", err)
		}
		c.wait(&c.rd, seq)
	}
}

// failedBefore returns why the connection has failed, nil if it has not. After the peer's end, gVisor's TCP has a reset close a
// connection as if all were well, but for the error that it keeps.
func (c *Conn) failedBefore() error {
	if no := c.failure.Load(); no != nil {
		return os.NewSyscallError("read", *no)
	}
	switch gtcp.EndpointState(c.ep.State()) {
	case gtcp.StateError, gtcp.StateClose:
		if err := c.ep.LastError(); err != nil {
			return c.failed("read", err)
		}
	}
	return nil
}
