package underloss

import (
	"net"
	"testing"

	"tcpwheel/netstack/programs"
)

// proxy accepts connections and joins each with one that dial makes: to a server that takes no
// listener, but a net.Pipe.
func proxy(t *testing.T, l net.Listener, dial func() (net.Conn, error)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		server, err := dial()
		if err != nil {
			t.Error(err)
			c.Close()
			return
		}
		go programs.Splice(c, server)
	}
}
