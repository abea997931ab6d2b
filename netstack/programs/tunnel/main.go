// Command tunnel is a userspace tunnel: a stack whose packets travel in UDP datagrams. It serves
// echo at port 7 of its address in the tunnel, or sends standard input to the peer's and prints the
// answer.
//
//	tunnel -addr 10.5.0.1/24 -udp 127.0.0.1:5001 -peer 127.0.0.1:5002
//	tunnel -addr 10.5.0.2/24 -udp 127.0.0.1:5002 -peer 127.0.0.1:5001 -dial 10.5.0.1:7
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/programs"
)

// mtu leaves room for the headers of UDP and IP.
const mtu = 1420

// Tunnel is an end of a tunnel.
type Tunnel struct {
	stack *stack.Stack
	link  *channel.Endpoint
	udp   *net.UDPConn
	peer  *net.UDPAddr
	stop  context.CancelFunc
}

// New makes an end that receives at udp and sends to peer.
func New(t programs.TCP, addr netip.Prefix, udp *net.UDPConn, peer *net.UDPAddr) (*Tunnel, error) {
	link := channel.New(512, mtu, "")
	s, err := programs.NewStack(t, link, addr)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	x := &Tunnel{stack: s, link: link, udp: udp, peer: peer, stop: stop}
	udp.SetReadBuffer(4 << 20)
	go x.send(ctx)
	go x.receive()
	return x, nil
}

func (x *Tunnel) send(ctx context.Context) {
	for pkt := x.link.ReadContext(ctx); pkt != nil; pkt = x.link.ReadContext(ctx) {
		view := pkt.ToView()
		x.udp.WriteToUDP(view.AsSlice(), x.peer) // a lost datagram is a lost packet
		view.Release()
		pkt.DecRef()
	}
}

func (x *Tunnel) receive() {
	b := make([]byte, 1<<16)
	for {
		n, from, err := x.udp.ReadFromUDP(b)
		if err != nil {
			return
		}
		if !from.IP.Equal(x.peer.IP) || from.Port != x.peer.Port {
			continue
		}
		pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(b[:n])})
		x.link.InjectInbound(ipv4.ProtocolNumber, pkt)
		pkt.DecRef()
	}
}

// Dial connects through the tunnel.
func (x *Tunnel) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return gonet.DialContextTCP(ctx, x.stack, programs.Address(to), ipv4.ProtocolNumber)
}

// Listen listens in the tunnel.
func (x *Tunnel) Listen(at netip.AddrPort) (net.Listener, error) {
	return gonet.ListenTCP(x.stack, programs.Address(at), ipv4.ProtocolNumber)
}

// Close ends the tunnel.
func (x *Tunnel) Close() {
	x.stop()
	x.udp.Close()
	x.stack.Destroy()
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tunnel:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	f := flag.NewFlagSet("tunnel", flag.ContinueOnError)
	tcp := f.String("tcp", "ours", "gvisor or ours")
	addr := f.String("addr", "10.5.0.1/24", "address in the tunnel")
	at := f.String("udp", "127.0.0.1:0", "where datagrams arrive")
	to := f.String("peer", "", "where datagrams go")
	dial := f.String("dial", "", "address in the tunnel to connect to")
	if err := f.Parse(args); err != nil {
		return err
	}
	prefix, err := netip.ParsePrefix(*addr)
	if err != nil {
		return err
	}
	local, err := net.ResolveUDPAddr("udp", *at)
	if err != nil {
		return err
	}
	peer, err := net.ResolveUDPAddr("udp", *to)
	if err != nil {
		return err
	}
	udp, err := net.ListenUDP("udp", local)
	if err != nil {
		return err
	}
	x, err := New(programs.TCP(*tcp), prefix, udp, peer)
	if err != nil {
		return err
	}
	defer x.Close()
	if *dial == "" {
		l, err := x.Listen(netip.AddrPortFrom(prefix.Addr(), 7))
		if err != nil {
			return err
		}
		return programs.Echo(l)
	}
	target, err := netip.ParseAddrPort(*dial)
	if err != nil {
		return err
	}
	c, err := x.Dial(context.Background(), target)
	if err != nil {
		return err
	}
	defer c.Close()
	go func() {
		io.Copy(c, in)
		c.(interface{ CloseWrite() error }).CloseWrite()
	}()
	_, err = io.Copy(out, c)
	return err
}
