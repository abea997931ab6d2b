// Command gateway connects a guest on gVisor's TCP with the host. A port of the host's loopback is
// exposed: its connections go on to the guest. The guest's own connections to the gateway go on to
// the host's loopback.
//
//	gateway -tcp ours -expose 127.0.0.1:8080 -port 80
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/programs"
)

var (
	gatewayAddr = netip.MustParseAddr("10.7.0.1")
	guestAddr   = netip.MustParseAddr("10.7.0.2")
)

// Gateway is a guest and the stack between it and the host.
type Gateway struct {
	guest, stack *stack.Stack
}

// New makes a gateway on TCP t. The guest has gVisor's TCP.
func New(t programs.TCP) (*Gateway, error) {
	s, guest, err := programs.NewPair(t, netip.PrefixFrom(gatewayAddr, 24), netip.PrefixFrom(guestAddr, 24))
	if err != nil {
		return nil, err
	}
	programs.Forward(s, t, programs.ToHost)
	return &Gateway{guest, s}, nil
}

// Expose passes the connections of a listener of the host on to a port of the guest, until the
// listener is closed.
func (g *Gateway) Expose(l net.Listener, port uint16) error {
	for {
		host, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			guest, err := gonet.DialTCP(g.stack, programs.Address(netip.AddrPortFrom(guestAddr, port)), ipv4.ProtocolNumber)
			if err != nil {
				host.Close()
				return
			}
			programs.Splice(host, guest)
		}()
	}
}

// ListenInGuest listens at a port of the guest.
func (g *Gateway) ListenInGuest(port uint16) (net.Listener, error) {
	return gonet.ListenTCP(g.guest, programs.Address(netip.AddrPortFrom(guestAddr, port)), ipv4.ProtocolNumber)
}

// DialFromGuest connects from the guest to the host's loopback.
func (g *Gateway) DialFromGuest(ctx context.Context, port uint16) (net.Conn, error) {
	return gonet.DialContextTCP(ctx, g.guest, programs.Address(netip.AddrPortFrom(gatewayAddr, port)), ipv4.ProtocolNumber)
}

// Close ends both stacks.
func (g *Gateway) Close() {
	g.guest.Destroy()
	g.stack.Destroy()
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	tcp := flags.String("tcp", "ours", "gvisor or ours")
	expose := flags.String("expose", "127.0.0.1:8080", "address of the host")
	port := flags.Uint("port", 80, "port of the guest")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *port == 0 || *port > 65535 {
		return fmt.Errorf("port %d, want 1 to 65535", *port)
	}
	g, err := New(programs.TCP(*tcp))
	if err != nil {
		return err
	}
	defer g.Close()
	in, err := g.ListenInGuest(uint16(*port))
	if err != nil {
		return err
	}
	go http.Serve(in, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the guest\n") }))
	l, err := net.Listen("tcp", *expose)
	if err != nil {
		return err
	}
	return g.Expose(l, uint16(*port))
}
