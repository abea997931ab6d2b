package tun

import (
	"io"
	"net"
	"testing"
)

// BenchmarkTransfer moves data between a stack's TCP and the kernel's over one device at MTU 1500.
func BenchmarkTransfer(b *testing.B) {
	for _, tcp := range tunTCPs {
		for _, offload := range []string{"on", "off"} {
			for _, from := range []string{"kernel", "stack"} {
				b.Run("tcp="+tcp.name+"/offload="+offload+"/from="+from, func(b *testing.B) {
					p := newTunPairOf(b, tcp.factory, Options{NoOffload: offload == "off"}, nil)
					k, s := p.dialStack(tunStack4.Addr())
					defer k.Close()
					defer s.Close()
					if from == "kernel" {
						benchTransfer(b, k, s)
					} else {
						benchTransfer(b, s, k)
					}
				})
			}
		}
	}
}

func benchTransfer(b *testing.B, w, r net.Conn) {
	const piece = 1 << 20
	b.SetBytes(piece)
	b.ReportAllocs()
	go func() {
		buf := make([]byte, 256<<10)
		for {
			if _, err := w.Write(buf); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 256<<10)
	for b.Loop() {
		for got := 0; got < piece; {
			n, err := r.Read(buf[:min(len(buf), piece-got)])
			if err != nil {
				b.Fatal(err)
			}
			got += n
		}
	}
	b.StopTimer()
	w.Close()
	io.Copy(io.Discard, r)
}
