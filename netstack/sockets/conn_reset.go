package sockets

import (
	"os"

	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// AwaitReset waits until the connection has failed, and returns the error: a reset or a timeout. It
// returns nil if the Conn is closed here.
//
// It is for a program that has read io.EOF and still writes: it learns that the peer is gone. As in
// Linux, a reset after the peer's FIN is EPIPE, and is reported once. Deadlines have no effect.
func (c *Conn) AwaitReset() error {
	for {
		seq := c.rd.events.Load()
		if c.closed() {
			return nil
		}
		if err := c.checkFailure(); err != nil {
			return c.opError("read", err)
		}
		c.wait(&c.rd, seq)
	}
}

// checkFailure returns why the connection has failed, or nil. After the peer's FIN, gVisor's TCP
// closes a reset connection as if normally, but keeps the error.
func (c *Conn) checkFailure() error {
	if no := c.failure.Load(); no != nil {
		return os.NewSyscallError("read", *no)
	}
	switch gtcp.EndpointState(c.ep.State()) {
	case gtcp.StateError, gtcp.StateClose:
		if err := c.ep.LastError(); err != nil {
			return c.recordFailure("read", err)
		}
	}
	return nil
}
