package programs

import (
	"io"
	"net"
	"strconv"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/waiter"
)

// ToHost connects to the host's loopback at the request's port, and splices. It resets the request
// if nothing listens there.
func ToHost(r Request) {
	host, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(r.ID().LocalPort))))
	if err != nil {
		r.Complete(true)
		return
	}
	var wq waiter.Queue
	ep, failed := r.CreateEndpoint(&wq)
	r.Complete(failed != nil)
	if failed != nil {
		host.Close()
		return
	}
	Splice(gonet.NewTCPConn(&wq, ep), host)
}

// Splice copies between two connections until both directions have ended, and closes both. The end
// of one direction is passed on.
func Splice(a, b net.Conn) {
	var wg sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if c, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
			c.CloseWrite()
			return
		}
		to.Close()
		from.Close()
	}
	wg.Go(func() { pass(a, b) })
	wg.Go(func() { pass(b, a) })
	wg.Wait()
	a.Close()
	b.Close()
}
