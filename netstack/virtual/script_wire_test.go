package virtual

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim/script"
	"tcpwheel/netstack/tcp"
)

// TestScriptHostChecksData checks that the host notices wrong bytes in a read and in a packet.
func TestScriptHostChecksData(t *testing.T) {
	local, remote := netip.MustParseAddrPort("192.168.0.1:80"), netip.MustParseAddrPort("192.0.2.1:5000")
	open := func() (*scriptHost, *scriptSocket) {
		cfg := script.HostConfig{Local: local.Addr(), Remote: remote.Addr()}
		cfg.Engine.Conn, cfg.Engine.MTU, cfg.Now = netstack.DefaultConfig().Conn, 1500, 1
		h, err := NewScriptHost(cfg)
		if err != nil {
			t.Fatal(err)
		}
		l, err := h.Socket(script.SocketConfig{Conn: cfg.Engine.Conn})
		if err != nil {
			t.Fatal(err)
		}
		if errno := l.Bind(local) + l.Listen(1); errno != "" {
			t.Fatal(errno)
		}
		arrive := func(seq, ack tcp.Seq, flags tcp.Flags, n uint32) {
			header := tcp.Header{SrcPort: remote.Port(), DstPort: local.Port(), Seq: seq, Ack: ack, Flags: flags, Window: 65535}
			h.Input(&script.Arrival{Src: remote, Dst: local, Header: header.AppendTo(nil), Len: n})
		}
		arrive(100, 0, tcp.SYN, 0)
		iss := h.Packets()[0].Header.Seq
		arrive(101, iss+1, tcp.ACK, 50)
		s, _, _, errno := l.Accept()
		if errno != "" {
			t.Fatal(errno)
		}
		return h.(*scriptHost), s.(*scriptSocket)
	}
	check := func(h *scriptHost, want string) {
		t.Helper()
		if err := h.Check(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Check() = %v, want %q", err, want)
		}
	}

	h, s := open()
	n, _ := s.Read(1000)
	s.Write(500, 0)
	h.Packets()
	if check(h, ""); n != 50 {
		t.Errorf("read %d bytes, want 50", n)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}

	h, s = open()
	h.flow(local, remote).received[0]++ // the stream began elsewhere
	s.Read(1000)
	check(h, "a read has 50 bytes that are not those of its position")
	h.Close()

	h, s = open()
	if _, err := s.ep.Write(strings.NewReader("other bytes"), tcpip.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.Packets()
	check(h, "a packet has 11 bytes that are not those of its position")
	h.Close()
}

// TestScriptHostTimers checks that a host which is closed with a connection leaves no timer.
func TestScriptHostTimers(t *testing.T) {
	h, err := NewScriptHost(script.HostConfig{
		Local: netip.MustParseAddr("fd00::1"), Remote: netip.MustParseAddr("fd00::2"),
		Engine: tcp.EngineConfig{Conn: netstack.DefaultConfig().Conn, MTU: 1500},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Socket(script.SocketConfig{Conn: netstack.DefaultConfig().Conn})
	if err != nil {
		t.Fatal(err)
	}
	if errno := s.Bind(netip.MustParseAddrPort("[fd00::1]:5000")); errno != "" {
		t.Fatal(errno)
	}
	if errno := s.Connect(netip.MustParseAddrPort("[fd00::2]:80")); errno != "EINPROGRESS" {
		t.Fatal(errno)
	}
	if at, ok := h.NextTimeout(); !ok || time.Duration(at) > 2*time.Second || h.Connections() != 1 {
		t.Errorf("the next timeout is at %v (%v) with %d connections, want the SYN's", at, ok, h.Connections())
	}
	if err := h.Close(); err != nil || h.Connections() != 0 {
		t.Errorf("Close() = %v with %d connections left", err, h.Connections())
	}
}
