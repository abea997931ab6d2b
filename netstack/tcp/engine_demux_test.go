package tcp

import (
	"net/netip"
	"strings"
	"testing"
)

func TestInputFindsItsConnection(t *testing.T) {
	e := newTestEngine(t, nil)
	engineListen(t, e, ListenConfig{Backlog: 8})
	a, aNxt, aRcv := engineHandshake(t, e, 0, 40001, 1000)
	b, _, _ := engineHandshake(t, e, 0, 40002, 2000)
	if a == b || e.socketCount() != 2 {
		t.Fatalf("two clients have %d connections, want 2", e.socketCount())
	}
	data := engineSegment(PSH|ACK, aNxt, aRcv, 10)
	data.Src = netip.AddrPortFrom(engineClient.Addr(), 40001)
	data.Header.Options = Options{HasTimestamps: true, TSVal: 1002}
	s, v := e.Input(0, data)
	if want := (Disposition{Len: 10, InOrder: 10}); s != a || v != want {
		t.Errorf("data of the first: taken by socket %d with %+v, want 1 with %+v", s.ID(), v, want)
	}
	if a.Conn().Received() != 10 || b.Conn().Received() != 0 {
		t.Errorf("received %d and %d, want 10 and 0", a.Conn().Received(), b.Conn().Received())
	}
	engineCheck(t, e)
}

func TestSpecificListenerWins(t *testing.T) {
	e := newTestEngine(t, nil)
	all := map[string]*Listener{}
	for _, local := range []string{"192.0.2.1:80", "0.0.0.0:80", "[::]:80", "[2001:db8::1]:443"} {
		l, err := e.Listen(netip.MustParseAddrPort(local), ListenConfig{Backlog: 4})
		if err != nil {
			t.Fatal(err)
		}
		all[local] = l
	}
	for i, test := range []struct{ dst, want string }{
		{"192.0.2.1:80", "192.0.2.1:80"},
		{"192.0.2.2:80", "0.0.0.0:80"},
		{"[::ffff:192.0.2.1]:80", "192.0.2.1:80"},
		{"[2001:db8::1]:80", "[::]:80"},
		{"[2001:db8::1]:443", "[2001:db8::1]:443"},
		{"192.0.2.1:443", ""},
		{"[2001:db8::2]:443", ""},
	} {
		dst := netip.MustParseAddrPort(test.dst)
		src := netip.AddrPortFrom(engineClient.Addr(), uint16(1000+i))
		if dst.Addr().Is6() && !dst.Addr().Is4In6() {
			src = netip.AddrPortFrom(netip.MustParseAddr("2001:db8::7"), uint16(1000+i))
		}
		before := map[*Listener]int{}
		for _, l := range all {
			before[l] = l.backlog.HalfOpen
		}
		s, _ := e.Input(0, &Packet{Src: src, Dst: dst, Header: Header{Seq: 1, Flags: SYN, Window: 1000}})
		got := ""
		for local, l := range all {
			if l.backlog.HalfOpen > before[l] {
				got = local
			}
		}
		if got != test.want || (s != nil) != (test.want != "") {
			t.Errorf("SYN to %s: taken by the listener %q, want %q", test.dst, got, test.want)
		}
	}
	engineCheck(t, e)
}

func TestListenErrors(t *testing.T) {
	e := newTestEngine(t, nil)
	engineListen(t, e, ListenConfig{Backlog: 1})
	bad := e.cfg.Conn
	bad.RecvBuffer = 0
	for _, test := range []struct {
		local string
		cfg   ListenConfig
		want  string
	}{
		{"192.0.2.1:80", ListenConfig{Backlog: 1}, "tcp: 192.0.2.1:80 has a listener already"},
		{"[::ffff:192.0.2.1]:80", ListenConfig{Backlog: 1}, "tcp: 192.0.2.1:80 has a listener already"},
		{"192.0.2.1:0", ListenConfig{Backlog: 1}, "tcp: local port 0, want 1..65535"},
		{"192.0.2.1:81", ListenConfig{Backlog: -1}, "tcp: backlog -1, want 0 or more"},
		{"224.0.0.1:81", ListenConfig{Backlog: 1}, "tcp: local address 224.0.0.1, want none that is multicast"},
		{"192.0.2.1:81", ListenConfig{Backlog: 1, DeferAccept: -1}, "tcp: accept deferred by -1ns, want 0s or more"},
		{"192.0.2.1:81", ListenConfig{Backlog: 1, Conn: &bad}, "tcp: recv-buffer 0, want 1 to 1073725440"},
	} {
		if _, err := e.Listen(netip.MustParseAddrPort(test.local), test.cfg); err == nil || err.Error() != test.want {
			t.Errorf("Listen(%s, %+v) = %v, want %s", test.local, test.cfg, err, test.want)
		}
	}
}

func TestDialErrors(t *testing.T) {
	e := newTestEngine(t, nil)
	if _, err := e.Dial(0, engineClient, engineServer, nil); err != nil {
		t.Fatal(err)
	}
	coarse := e.cfg.Conn
	coarse.Policy.Tick = e.cfg.Conn.Policy.Tick / 3
	for _, test := range []struct {
		local, remote string
		cfg           *Config
		want          string
	}{
		{"198.51.100.7:40000", "192.0.2.1:80", nil, "tcp: 198.51.100.7:40000 to 192.0.2.1:80 has a connection already, in SYN-SENT"},
		{"0.0.0.0:1", "192.0.2.1:80", nil, "tcp: local address 0.0.0.0, want none that is unspecified"},
		{"198.51.100.7:1", "0.0.0.0:80", nil, "tcp: remote address 0.0.0.0, want none that is unspecified"},
		{"198.51.100.7:1", "[2001:db8::1]:80", nil, "tcp: local address 198.51.100.7 and remote address 2001:db8::1, want one family"},
		{"198.51.100.7:1", "224.0.0.9:80", nil, "tcp: remote address 224.0.0.9, want none that is multicast"},
		{"198.51.100.7:1", "255.255.255.255:80", nil, "tcp: remote address 255.255.255.255, want none that is broadcast"},
		{"198.51.100.7:1", "192.0.2.1:0", nil, "tcp: remote port 0, want 1..65535"},
		{"198.51.100.7:1", "192.0.2.1:80", &coarse, "tcp: policy "},
	} {
		_, err := e.Dial(0, netip.MustParseAddrPort(test.local), netip.MustParseAddrPort(test.remote), test.cfg)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("Dial(%s, %s) = %v, want %s", test.local, test.remote, err, test.want)
		}
	}
	if _, err := e.Dial(0, netip.AddrPort{}, engineServer, nil); err == nil {
		t.Error("Dial from no address succeeded")
	}
	if n := e.socketCount(); n != 1 {
		t.Errorf("%d connections, want 1: a failed Dial leaves none", n)
	}
	engineCheck(t, e)
}

func TestEphemeralPorts(t *testing.T) {
	// RFC 6056 §3.3.3: for one destination ports increase by one; others start elsewhere.
	e := newTestEngine(t, nil)
	local := netip.AddrPortFrom(engineClient.Addr(), 0)
	dial := func(e *Engine, remote string) uint16 {
		s, err := e.Dial(0, local, netip.MustParseAddrPort(remote), nil)
		if err != nil {
			t.Fatal(err)
		}
		port := s.Local().Port()
		if port < ephemeralMin || port > 60999 {
			t.Errorf("port %d, want 32768..60999", port)
		}
		return port
	}
	a1, a2 := dial(e, "192.0.2.1:80"), dial(e, "192.0.2.1:80")
	if a2 != a1+1 && a2 != ephemeralMin {
		t.Errorf("ports %d and %d to one end, want them to follow each other", a1, a2)
	}
	if b := dial(e, "192.0.2.2:80"); b == a2+1 {
		t.Errorf("port %d to another address follows the sequence of the first", b)
	}
	if again := dial(newTestEngine(t, nil), "192.0.2.1:80"); again != a1 {
		t.Errorf("port %d with the same key and seed, want %d again", again, a1)
	}
	if other := dial(newTestEngine(t, func(c *EngineConfig) { c.Key[0] = 99 }), "192.0.2.1:80"); other == a1 {
		t.Errorf("port %d with another key too", other)
	}
	for range ephemeralPorts - 2 {
		if _, err := e.Dial(0, local, engineServer, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Dial(0, local, engineServer, nil); err == nil {
		t.Error("a port was found where all are taken")
	}
}
