package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
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

// pair makes both ends of a tunnel, which is closed with the test.
func pair(t *testing.T, tcp programs.TCP) (a, b *Tunnel) {
	t.Helper()
	var udp [2]*net.UDPConn
	for i := range udp {
		var err error
		if udp[i], err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	var ends [2]*Tunnel
	for i := range ends {
		var err error
		ends[i], err = New(tcp, netip.MustParsePrefix(fmt.Sprintf("10.5.0.%d/24", i+1)), udp[i], udp[1-i].LocalAddr().(*net.UDPAddr))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(ends[i].Close)
	}
	return ends[0], ends[1]
}

// TestTunnel runs echo both ways and HTTP through a tunnel.
func TestTunnel(t *testing.T) {
	for _, tcp := range both {
		t.Run(string(tcp), func(t *testing.T) {
			a, b := pair(t, tcp)
			echo, err := a.Listen(netip.MustParseAddrPort("10.5.0.1:7"))
			if err != nil {
				t.Fatal(err)
			}
			defer echo.Close()
			go programs.Echo(echo)
			c, err := b.Dial(t.Context(), netip.MustParseAddrPort("10.5.0.1:7"))
			if err != nil {
				t.Fatal(err)
			}
			if err := programs.BothWays(c, size, limit); err != nil {
				t.Error(err)
			}
			web, err := a.Listen(netip.MustParseAddrPort("10.5.0.1:80"))
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			go http.Serve(web, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }))
			c, err = b.Dial(t.Context(), netip.MustParseAddrPort("10.5.0.1:80"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			io.WriteString(c, "GET /hello HTTP/1.0\r\n\r\n")
			if answer, err := io.ReadAll(c); err != nil || !bytes.HasSuffix(answer, []byte("/hello")) {
				t.Errorf("HTTP: %q, %v", answer, err)
			}
		})
	}
}

// TestRun refuses wrong arguments.
func TestRun(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-addr x", "ParsePrefix"}, {"-peer 127.0.0.1:1 -tcp tahoe", `tcp "tahoe", want gvisor or ours`},
	} {
		if err := run(strings.Fields(c.args), nil, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("run(%s) = %v, want %s", c.args, err, c.want)
		}
	}
}
