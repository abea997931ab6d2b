package underloss

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"testing"

	"golang.org/x/crypto/ssh"

	"tcpwheel/netstack/testnet"
)

// serveSSH accepts connections and runs the command "cat" for them.
func serveSSH(t *testing.T, l net.Listener) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Error(err)
		return
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Error(err)
		return
	}
	cfg := &ssh.ServerConfig{NoClientAuth: true}
	cfg.AddHostKey(signer)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, channels, requests, err := ssh.NewServerConn(c, cfg)
			if err != nil {
				t.Error(err)
				return
			}
			go ssh.DiscardRequests(requests)
			for request := range channels {
				ch, requests, err := request.Accept()
				if err != nil {
					return
				}
				go func() {
					for r := range requests {
						r.Reply(r.Type == "exec", nil)
					}
				}()
				go func() {
					io.Copy(ch, ch)
					ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{0}))
					ch.Close()
				}()
			}
		}()
	}
}

// TestSSH: sessions of x/crypto/ssh copy a megabyte there and back.
func TestSSH(t *testing.T) {
	inBubble(t, lossy, func(t *testing.T, n *testnet.Net) {
		go serveSSH(t, n.Listen(":22"))
		c, err := n.Dial("tcp", "server:22")
		if err != nil {
			t.Fatal(err)
		}
		conn, channels, requests, err := ssh.NewClientConn(c, "server:22", &ssh.ClientConfig{HostKeyCallback: ssh.InsecureIgnoreHostKey()})
		if err != nil {
			t.Fatal(err)
		}
		client := ssh.NewClient(conn, channels, requests)
		defer client.Close()
		for i := range 2 {
			session, err := client.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			data := bytes.Repeat(fmt.Append(nil, "line ", i, "\n"), 150_000)
			session.Stdin = bytes.NewReader(data)
			got, err := session.Output("cat")
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes came back of %d, %v", len(got), len(data), err)
			}
		}
	})
}
