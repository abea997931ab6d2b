package capture_test

import (
	"io"
	"net"
	"testing"

	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

// TestLiveGopacketSource feeds the tracker from gopacket's packet socket on the loopback interface,
// where the kernel's TCP sends 20,000 bytes. This interface shows each packet twice; the tracker
// finds the copies.
func TestLiveGopacketSource(t *testing.T) {
	if lo, err := net.InterfaceByName("lo"); err != nil || lo.Flags&net.FlagUp == 0 {
		t.Skip("the loopback interface is down")
	}
	handle, err := pcapgo.NewEthernetHandle("lo")
	if err != nil {
		t.Skipf("packet sockets are for root: %v", err)
	}
	defer handle.Close()
	if err := handle.SetCaptureLength(1 << 17); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server := l.Addr().(*net.TCPAddr).AddrPort()

	const size = 20_000
	seen, transferred := make(chan struct{}), make(chan error, 1)
	go func() { transferred <- transfer(l, size, seen) }()

	var conns []*track.Conn
	r := capture.NewPacketReader(handle, uint16(layers.LinkTypeEthernet), "lo")
	tracker := track.New(track.Config{Done: func(c *track.Conn) { conns = append(conns, c) }})
	clients := map[uint16]bool{}
	for len(clients) < 2 { // the second connection ends the test
		p, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if p.Dst == server && p.Header.Flags == tcp.SYN {
			clients[p.Src.Port()] = true
		}
		if (p.Src == server || p.Dst == server) && len(clients) == 1 {
			tracker.Add(p)
		}
	}
	tracker.Close()
	close(seen)
	if err := <-transferred; err != nil {
		t.Fatal(err)
	}
	if stats, err := handle.Stats(); err != nil || stats.Drops > 0 {
		t.Skipf("the kernel dropped packets, of other programs too: %+v, %v", stats, err)
	}
	if len(conns) != 1 {
		t.Fatalf("%d connections, want 1", len(conns))
	}
	c := conns[0]
	if down := &c.Flows[1]; down.Src != server || down.Bytes != size || c.Copies != c.Packets/2 || down.Retransmissions != 0 || len(down.Episodes) != 0 {
		t.Errorf("from %v %d bytes in %d packets, %d copies of %d, %d retransmissions; want from %v %d bytes, every second a copy",
			down.Src, down.Bytes, down.DataPackets, c.Copies, c.Packets, down.Retransmissions, server, size)
	}
}

// transfer sends size bytes from l to a client, and again until another connection was seen: the
// kernel may drop the packets that open one.
func transfer(l net.Listener, size int, seen <-chan struct{}) error {
	for {
		select {
		case <-seen:
			return nil
		default:
		}
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		s, err := l.Accept()
		if err != nil {
			return err
		}
		if _, err := s.Write(make([]byte, size)); err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			return err
		}
	}
}
