package sockets_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
)

// TestNotSentLowat lets a program write to a reader that does not read. It may write no more than
// the peer's window, the bound, and one part of a write. When the peer reads, everything arrives,
// and the writer never has more than that unsent.
func TestNotSentLowat(t *testing.T) {
	const size, lowat, part = 4 << 20, 20_000, 100_000 / 2
	for _, tt := range []struct {
		name  string
		write int
	}{{"small writes", 1000}, {"one write", size}} {
		t.Run(tt.name, func(t *testing.T) {
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(i * 7 >> 3)
			}
			most := uint64(0)
			inVirtual(t, virtual.TCP{RecvBuffer: 100_000, SendBuffer: size}, func(v *virtualNet, c *sockets.Conn) {
				if err := c.SetNotSentLowat(lowat); err != nil {
					t.Error(err)
				}
				watch := v.Clock.AfterFunc
				var look func()
				look = func() {
					info, _ := c.Info()
					if most = max(most, info.NotSent); info.State == tcp.StateEstablished {
						watch(time.Millisecond, look)
					}
				}
				look()
				for left := data; len(left) > 0; {
					n, err := c.Write(left[:min(len(left), tt.write)])
					if err != nil {
						t.Error(err)
						return
					}
					left = left[n:]
				}
			}, func(v *virtualNet, c *sockets.Conn) {
				v.Tasks.Sleep(10 * time.Second)
				got, err := io.ReadAll(c)
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes and %v, want the %d written", len(got), err, size)
				}
			})
			if bound := uint64(lowat + min(part, tt.write)); most < lowat/2 || most > bound {
				t.Errorf("%d bytes were unsent, want %d to %d", most, lowat/2, bound)
			}
		})
	}
}

// TestWriteRecord checks that records are not merged, and that what is between them is.
func TestWriteRecord(t *testing.T) {
	var before, after uint64
	inVirtual(t, virtual.TCP{}, func(v *virtualNet, c *sockets.Conn) {
		segments := func() uint64 {
			info, _ := c.Info()
			return uint64(info.DataSegsOut)
		}
		if err := c.SetNoDelay(false); err != nil {
			t.Error(err)
		}
		burst := func(write func([]byte) (int, error)) uint64 {
			from := segments()
			for range 50 {
				if _, err := write(make([]byte, 100)); err != nil {
					t.Error(err)
				}
			}
			v.Tasks.Sleep(time.Second)
			return segments() - from
		}
		before, after = burst(c.Write), burst(c.WriteRecord)
	}, func(_ *virtualNet, c *sockets.Conn) {
		if n, err := io.Copy(io.Discard, c); n != 10_000 || err != nil {
			t.Errorf("%d bytes and %v, want 10000", n, err)
		}
	})
	if before > 10 || after != 50 {
		t.Errorf("50 writes left as %d segments, and 50 records as %d; want a few, and 50", before, after)
	}
}
