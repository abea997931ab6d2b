// Command forwarder proxies every TCP connection of a guest to the host: the guest's stack may
// connect to any address, and the forwarder connects to the host's loopback at the same port. Here
// the guest is a stack in the same process, which fetches a URL from the host.
//
//	forwarder -tcp ours http://10.99.0.1:8000/
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

// Forwarder is a guest and the stack that proxies its connections.
type Forwarder struct {
	guest, proxy *stack.Stack
}

// New makes a forwarder on TCP t. The guest has gVisor's TCP.
func New(t programs.TCP) (*Forwarder, error) {
	proxy, guest, err := programs.NewPair(t, netip.MustParsePrefix("10.6.0.1/24"), netip.MustParsePrefix("10.6.0.2/24"))
	if err != nil {
		return nil, err
	}
	programs.Forward(proxy, t, true, programs.ToHost)
	return &Forwarder{guest, proxy}, nil
}

// Dial connects from the guest.
func (f *Forwarder) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return gonet.DialContextTCP(ctx, f.guest, programs.Address(to), ipv4.ProtocolNumber)
}

// Close ends both stacks.
func (f *Forwarder) Close() {
	f.guest.Destroy()
	f.proxy.Destroy()
}

// Client returns an HTTP client in the guest.
func (f *Forwarder) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			to, err := netip.ParseAddrPort(addr)
			if err != nil {
				return nil, err
			}
			return f.Dial(ctx, to)
		},
	}}
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "forwarder:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("forwarder", flag.ContinueOnError)
	tcp := flags.String("tcp", "ours", "gvisor or ours")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%d arguments, want a URL", flags.NArg())
	}
	f, err := New(programs.TCP(*tcp))
	if err != nil {
		return err
	}
	defer f.Close()
	answer, err := f.Client().Get(flags.Arg(0))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(out, answer.Body)
	return err
}
