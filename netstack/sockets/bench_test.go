package sockets_test

import (
	"context"
	"io"
	"net"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
)

// apis are this package and gVisor's gonet on the same stack.
var apis = []struct {
	name    string
	connect func(s *stack.Stack) (a, b net.Conn, err error)
}{
	{"sockets", func(s *stack.Stack) (net.Conn, net.Conn, error) {
		a, b, err := pipe(s)
		return a, b, err
	}},
	{"gonet", func(s *stack.Stack) (net.Conn, net.Conn, error) {
		at := tcpip.FullAddress{Addr: tcpip.AddrFrom4([4]byte{127, 0, 0, 1})}
		l, err := gonet.ListenTCP(s, at, ipv4.ProtocolNumber)
		if err != nil {
			return nil, nil, err
		}
		defer l.Close()
		at.Port = uint16(l.Addr().(*net.TCPAddr).Port)
		a, err := gonet.DialContextTCP(context.Background(), s, at, ipv4.ProtocolNumber)
		if err != nil {
			return nil, nil, err
		}
		b, err := l.Accept()
		return a, b, err
	}},
}

// connected returns both ends of a connection of a stack with itself.
func connected(b *testing.B, connect func(s *stack.Stack) (x, y net.Conn, err error)) (x, y net.Conn) {
	x, y, err := connect(newLoop(b, netstack.NewProtocol))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		x.Close()
		y.Close()
	})
	return x, y
}

// BenchmarkRoundTrip sends one byte each way; both ends wait in Read.
func BenchmarkRoundTrip(b *testing.B) {
	for _, api := range apis {
		b.Run("api="+api.name, func(b *testing.B) {
			x, y := connected(b, api.connect)
			go func() {
				buf := make([]byte, 1)
				for {
					if _, err := y.Read(buf); err != nil {
						return
					}
					if _, err := y.Write(buf); err != nil {
						return
					}
				}
			}()
			buf := make([]byte, 1)
			b.ReportAllocs()
			for b.Loop() {
				x.Write(buf)
				if _, err := x.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadWrite writes and reads one byte; neither call waits.
func BenchmarkReadWrite(b *testing.B) {
	for _, api := range apis {
		b.Run("api="+api.name, func(b *testing.B) {
			x, y := connected(b, api.connect)
			buf := make([]byte, 1)
			b.ReportAllocs()
			for b.Loop() {
				x.Write(buf)
				if _, err := y.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCopy lets io.Copy read a connection into io.Discard.
func BenchmarkCopy(b *testing.B) {
	for _, api := range apis {
		b.Run("api="+api.name, func(b *testing.B) {
			x, y := connected(b, api.connect)
			done := make(chan struct{})
			go func() {
				defer close(done)
				io.Copy(struct{ io.Writer }{io.Discard}, y)
			}()
			buf := make([]byte, 256<<10)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Write(buf); err != nil {
					b.Fatal(err)
				}
			}
			x.Close()
			<-done
		})
	}
}

// BenchmarkConnect dials and accepts, on one listener.
func BenchmarkConnect(b *testing.B) {
	for _, api := range apis {
		b.Run("api="+api.name, func(b *testing.B) {
			s := newLoop(b, netstack.NewProtocol)
			tw := tcpip.TCPTimeWaitTimeoutOption(1)
			if err := s.SetTransportProtocolOption(netstack.ProtocolNumber, &tw); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				x, y, err := api.connect(s)
				if err != nil {
					b.Fatal(err)
				}
				x.Close()
				y.Close()
			}
		})
	}
}

// TestAllocations: writing and reading allocate only what the endpoint does: a view per segment,
// and the packet that sends it.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("under the race detector pools forget things at random")
	}
	s := newLoop(t, netstack.NewProtocol)
	per := func(connect func(s *stack.Stack) (a, b net.Conn, err error)) float64 {
		x, y, err := connect(s)
		if err != nil {
			t.Fatal(err)
		}
		defer y.Close()
		defer x.Close()
		buf := make([]byte, 1)
		return testing.AllocsPerRun(1000, func() {
			x.Write(buf)
			y.Read(buf)
		})
	}
	var ours, gonets float64
	for range 5 { // background work allocates too, so try again
		ours, gonets = per(apis[0].connect), per(apis[1].connect)
		if ours <= gonets-2 {
			return
		}
	}
	t.Errorf("a write and a read make %v allocations, and gonet's %v: want two less at least", ours, gonets)
}
