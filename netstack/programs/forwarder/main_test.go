package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/programs"
)

const (
	size  = 8 << 20
	limit = 3 * time.Minute // only a failure takes so long
)

var both = []programs.TCP{programs.GVisor, programs.Ours}

// hostPort returns the address by which the guest reaches a port of the host.
func hostPort(l net.Listener) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("10.99.0.1"), uint16(l.Addr().(*net.TCPAddr).Port))
}

// TestForwarder runs echo both ways and HTTP from the guest to the host, and a refused connection.
func TestForwarder(t *testing.T) {
	for _, tcp := range both {
		t.Run(string(tcp), func(t *testing.T) {
			f, err := New(tcp)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go programs.Echo(l)
			c, err := f.Dial(t.Context(), hostPort(l))
			if err != nil {
				t.Fatal(err)
			}
			if err := programs.BothWays(c, size, limit); err != nil {
				t.Error(err)
			}

			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }))
			defer web.Close()
			var out strings.Builder
			url := "http://" + hostPort(web.Listener).String() + "/hello"
			if err := run([]string{"-tcp", string(tcp), url}, &out); err != nil || out.String() != "/hello" {
				t.Errorf("HTTP: %q, %v", out.String(), err)
			}

			l.Close()
			if c, err := f.Dial(t.Context(), hostPort(l)); err == nil {
				c.Close()
				t.Error("a port where nothing listens accepts a connection")
			}
		})
	}
}
