package netstack

import (
	"io"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
)

// eventually waits until f returns true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for range 12_000 {
		if f() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: not after a minute", what)
}

func forAll(t *testing.T, f func(t *testing.T, n *pairNet)) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) { f(t, newPair(t, pairConfig{a: p.a, b: p.b})) })
	}
}

// TestTimeWaitReuse reconnects from a port whose connection is in TIME-WAIT.
func TestTimeWaitReuse(t *testing.T) {
	n := newPair(t, pairConfig{})
	l := n.listen(false)
	at, proto := n.b.at(false)
	local := tcpip.FullAddress{NIC: 1, Addr: n.a.addr4, Port: 4000}
	for i := range 3 {
		a, err := gonet.DialTCPWithBind(t.Context(), n.a.stack, local, at, proto)
		if err != nil {
			t.Fatalf("dial %d: %v", i, err)
		}
		b, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		// The listener's side closes first and enters TIME-WAIT.
		b.Close()
		if _, err := a.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("read: %v, want the end", err)
		}
		a.Close()
		eventually(t, "a is gone", func() bool { return len(n.a.stack.RegisteredEndpoints()) == 0 })
		time.Sleep(2 * time.Millisecond) // so that the next incarnation's timestamps differ
	}
}
