package testnet_test

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"tcpwheel/netstack/testnet"
)

// echo accepts connections and returns what comes on them. It reports the peer of each.
func echo(l net.Listener, peers chan<- string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		peers <- c.RemoteAddr().String()
		go func() {
			b := make([]byte, 100)
			for {
				k, err := c.Read(b)
				if err != nil {
					return
				}
				c.Write(b[:k])
			}
		}()
	}
}

// TestNAT: a NAT gives each connection a port of its own, and forgets idle ones. The client then
// learns of it only when it speaks: its packet comes from another port, and the server resets it.
func TestNAT(t *testing.T) {
	path := testnet.Path{Delay: 10 * time.Millisecond, NAT: 30 * time.Second}
	bubble(t, path, func(t *testing.T, n *testnet.Net) {
		peers := make(chan string, 10)
		go echo(n.Listen(":7"), peers)
		say := func(c net.Conn) error {
			if _, err := c.Write([]byte("hello")); err != nil {
				return err
			}
			b := make([]byte, 5)
			_, err := c.Read(b)
			if err == nil && string(b) != "hello" {
				err = fmt.Errorf("echo %q", b)
			}
			return err
		}
		var conns []net.Conn
		for i := range 3 {
			c, err := n.Dial("tcp", "server:7")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := <-peers, fmt.Sprintf("203.0.113.1:%d", 40000+i); got != want {
				t.Errorf("connection %d comes from %s, want %s", i, got, want)
			}
			conns = append(conns, c)
		}
		for range 3 { // it lasts as long as it speaks
			time.Sleep(29 * time.Second)
			for _, c := range conns[:2] {
				if err := say(c); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(31 * time.Second)
		for i, c := range conns {
			if err := say(c); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("connection %d after a silence of 31 s: %v, want a reset", i, err)
			}
		}
		if c, err := n.Dial("tcp", "server:7"); err != nil || say(c) != nil {
			t.Errorf("a new connection: %v", err)
		}
	})
}

// TestNATKeepsOthersOut: other hosts cannot dial one behind a NAT.
func TestNATKeepsOthersOut(t *testing.T) {
	bubble(t, testnet.Path{NAT: time.Minute}, func(t *testing.T, n *testnet.Net) {
		n.Host(testnet.Client).Listen(":7")
		d := n.Host(testnet.Server).Dialer()
		d.Timeout = 10 * time.Second
		for _, address := range []string{"client:7", "203.0.113.1:7"} {
			if _, err := d.Dial("tcp", address); err == nil || !err.(net.Error).Timeout() {
				t.Errorf("dialing %s: %v, want a timeout", address, err)
			}
		}
		n.SetPath(testnet.Path{})
		if _, err := d.Dial("tcp", "client:7"); err != nil {
			t.Errorf("without the NAT: %v", err)
		}
	})
}
