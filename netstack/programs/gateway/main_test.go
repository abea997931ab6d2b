package main

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"tcpwheel/netstack/programs"
)

const (
	size  = 8 << 20
	limit = 3 * time.Minute // only a failure takes so long
)

var both = []programs.TCP{programs.GVisor, programs.Ours}

// TestGateway runs echo both ways in either direction, and HTTP through the exposed port.
func TestGateway(t *testing.T) {
	for _, tcp := range both {
		t.Run(string(tcp), func(t *testing.T) {
			g, err := New(tcp)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			expose := func(port uint16, serve func(net.Listener)) string {
				t.Helper()
				in, err := g.ListenInGuest(port)
				if err != nil {
					t.Fatal(err)
				}
				out, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { in.Close(); out.Close() })
				go serve(in)
				go g.Expose(out, port)
				return out.Addr().String()
			}
			echo := expose(7, func(l net.Listener) { programs.Echo(l) })
			c, err := net.Dial("tcp", echo)
			if err != nil {
				t.Fatal(err)
			}
			if err := programs.BothWays(c, size, limit); err != nil {
				t.Errorf("host to guest: %v", err)
			}

			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go programs.Echo(l)
			if c, err = g.DialFromGuest(t.Context(), uint16(l.Addr().(*net.TCPAddr).Port)); err != nil {
				t.Fatal(err)
			}
			if err := programs.BothWays(c, size, limit); err != nil {
				t.Errorf("guest to host: %v", err)
			}

			web := expose(80, func(l net.Listener) {
				http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }))
			})
			answer, err := http.Get("http://" + web + "/hello")
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "/hello" {
				t.Errorf("HTTP: %q, %v", body, err)
			}
		})
	}
}
