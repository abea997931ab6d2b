package testnet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"tcpwheel/netstack/testnet"
)

// echoUDP answers each datagram with itself.
func echoUDP(c net.PacketConn) {
	b := make([]byte, 2000)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		c.WriteTo(b[:n], from)
	}
}

// TestUDP: datagrams pass between hosts over both IP versions, and meet the losses of the path.
func TestUDP(t *testing.T) {
	for _, network := range []string{"udp", "udp4", "udp6"} {
		bubble(t, testnet.Path{Delay: 10 * time.Millisecond, Up: "loss=packets:2"}, func(t *testing.T, n *testnet.Net) {
			server := n.Host(testnet.Server).ListenPacket(":53")
			go echoUDP(server)
			c, err := n.Dial(network, "server:53")
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 100)
			for i := range 3 {
				if _, err := c.Write([]byte("hello")); err != nil {
					t.Fatal(err)
				}
				c.SetReadDeadline(time.Now().Add(time.Second))
				begin := n.Now()
				switch got, err := c.Read(b); {
				case i == 1 && !errors.Is(err, os.ErrDeadlineExceeded):
					t.Errorf("%s: reading the answer to a lost datagram: %v", network, err)
				case i != 1 && (err != nil || string(b[:got]) != "hello" || (n.Now()-begin).Round(time.Millisecond) != 20*time.Millisecond):
					t.Errorf("%s: %q, %v after %v", network, b[:got], err, n.Now()-begin)
				}
			}
			if a := c.RemoteAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(); a.Is6() != (network == "udp6") {
				t.Errorf("%s has dialed %v", network, a)
			}
			if c := n.Counts(); c.Lost != 1 {
				t.Error(c)
			}
			read := make(chan error)
			go func() {
				c.SetReadDeadline(time.Time{})
				_, err := c.Read(b)
				read <- err
			}()
			time.Sleep(time.Second)
			c.Close()
			if err := <-read; !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: reading a closed socket: %v", network, err)
			}
			if err := c.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: closing it again: %v", network, err)
			}
			if _, err := n.Dial(network, "mail:53"); err == nil {
				t.Error("dialed an unknown host")
			}
		})
	}
}

// TestUDPBehindNAT: the NAT of a path translates datagrams, too, and forgets.
func TestUDPBehindNAT(t *testing.T) {
	bubble(t, testnet.Path{Delay: 10 * time.Millisecond, NAT: 30 * time.Second}, func(t *testing.T, n *testnet.Net) {
		server := n.Host(testnet.Server).ListenPacket(":53")
		c, err := n.Dial("udp", "server:53")
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		c.Write([]byte("hello"))
		_, from, err := server.ReadFrom(b)
		if err != nil || from.String() != "203.0.113.1:40000" {
			t.Errorf("from %v, %v", from, err)
		}
		for _, wait := range []time.Duration{20 * time.Second, 40 * time.Second} {
			time.Sleep(wait)
			server.WriteTo([]byte("news"), from)
			c.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := c.Read(b); (err == nil) != (wait < 30*time.Second) {
				t.Errorf("news after %v of silence: %v", wait, err)
			}
		}
	})
}

// TestIPv6: TCP over IPv6 is repaired as over IPv4; positions in the stream and ECN marks are found
// there, too.
func TestIPv6(t *testing.T) {
	path := testnet.Path{Delay: 20 * time.Millisecond, Down: "loss=ranges:50000-50001@1 rate=20Mbit mark=10"}
	bubble(t, path, func(t *testing.T, n *testnet.Net) {
		l := n.Listen(":80")
		go http.Serve(l, page(100_000))
		client := n.HTTPClient()
		var remote net.Addr
		client.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
			c, err := n.DialContext(ctx, "tcp6", address)
			if err == nil {
				remote = c.RemoteAddr()
			}
			return c, err
		}
		if got, err := get(client, "http://server/"); got != 100_000 || err != nil {
			t.Fatal(got, err)
		}
		if c := n.Counts(); c.Lost != 1 || c.FastRetransmits+c.Probes == 0 || remote.String() != "[fd09::2]:80" {
			t.Errorf("%v: %v, want one loss and its repair", remote, c)
		}
	})
}

// TestResolver: names are looked up over the path, by both kinds of query; an answer that is lost
// costs the resolver's timeout. Two bubbles use package net's resolver one after the other.
func TestResolver(t *testing.T) {
	for _, lost := range []string{"", "loss=packets:1"} {
		bubble(t, testnet.Path{Delay: 10 * time.Millisecond, Down: lost}, func(t *testing.T, n *testnet.Net) {
			r := n.Host(testnet.Client).Resolver()
			for network, want := range map[string]string{"ip4": "10.9.0.2", "ip6": "fd09::2"} {
				addrs, err := r.LookupNetIP(t.Context(), network, "server")
				if err != nil || len(addrs) != 1 || addrs[0].Unmap() != netip.MustParseAddr(want) {
					t.Errorf("%s of server: %v, %v, want %s", network, addrs, err, want)
				}
			}
			if took := n.Now(); (lost != "") != (took > time.Second) {
				t.Errorf("the look-ups with %q took %v", lost, took)
			}
			_, err := r.LookupHost(t.Context(), "mail")
			if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
				t.Errorf("looking up an unknown host: %v", err)
			}
			d := n.Host(testnet.Client).Dialer()
			d.Resolver = r
			l := n.Listen(":80")
			c, err := d.Dial("tcp", "server:80")
			if err != nil {
				t.Fatal(err)
			}
			if s, err := l.Accept(); err != nil {
				t.Error(err)
			} else {
				s.Close()
			}
			io.Copy(io.Discard, c)
		})
	}
}
