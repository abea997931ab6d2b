package underloss

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tcpwheel/netstack/testnet"
)

// lossy is the path of these tests.
var lossy = testnet.Path{Delay: 20 * time.Millisecond, Loss: "5%"}

// inBubble runs a test with a network in a bubble, and wants losses if the path has some.
func inBubble(t *testing.T, path testnet.Path, test func(t *testing.T, n *testnet.Net), o ...testnet.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := testnet.New(t, path, o...)
		test(t, n)
		c := n.Counts()
		t.Logf("after %v: %v", n.Now(), c)
		if path.Loss != "" && c.Lost == 0 {
			t.Error("no loss")
		}
	})
}

// TestHTTP2 downloads pages at the same time over one connection of HTTP/2, without and with TLS.
func TestHTTP2(t *testing.T) {
	certificate := httptest.NewTLSServer(nil)
	certificate.Close()
	for _, test := range []struct {
		url       string
		protocols func(*http.Protocols)
		version   string
	}{
		{"http://server/", func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }, "HTTP/2.0"},
		{"https://server/", func(p *http.Protocols) { p.SetHTTP2(true) }, "HTTP/2.0"},
		{"https://server/", func(p *http.Protocols) { p.SetHTTP1(true) }, "HTTP/1.1"},
	} {
		t.Run(strings.SplitN(test.url, ":", 2)[0]+test.version, func(t *testing.T) {
			inBubble(t, lossy, func(t *testing.T, n *testnet.Net) {
				var p http.Protocols
				test.protocols(&p)
				server := &http.Server{Protocols: &p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					io.WriteString(w, strings.Repeat("x", 50_000))
				})}
				client := n.HTTPClient()
				transport := client.Transport.(*http.Transport)
				transport.Protocols = &p
				if strings.HasPrefix(test.url, "https") {
					server.TLSConfig = certificate.TLS.Clone()
					transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
					go server.ServeTLS(n.Listen(":443"), "", "")
				} else {
					go server.Serve(n.Listen(":80"))
				}
				var all sync.WaitGroup
				for range 10 {
					all.Go(func() {
						for range 5 {
							r, err := client.Get(test.url)
							if err != nil {
								t.Error(err)
								return
							}
							got, err := io.Copy(io.Discard, r.Body)
							r.Body.Close()
							if got != 50_000 || err != nil || r.Proto != test.version {
								t.Errorf("%d bytes by %s, %v", got, r.Proto, err)
							}
						}
					})
				}
				all.Wait()
			})
		})
	}
}
