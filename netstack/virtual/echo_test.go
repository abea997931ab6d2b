package virtual_test

import (
	"bytes"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
)

var (
	echoCount = flag.Int("echoes", 0, "echoes with each pair of TCPs; 0 is 1, or 20 with TCPWHEEL_LONG")
	// Seed 3 stalls if ACKs are beyond the edge of gVisor's window.
	echoFirst = flag.Uint64("echo.first", 3, "seed of the first echo")
)

// echoes is how many echoes TestEchoesDoNotStall makes with each pair of TCPs.
func echoes() int {
	switch {
	case *echoCount > 0:
		return *echoCount
	case os.Getenv("TCPWHEEL_LONG") != "":
		return 20
	}
	return 1
}

// TestEchoesDoNotStall: bulk data flows both ways while readers pause and windows close. A peer
// whose window's edge retracts by the rounding of its scale, such as gVisor, must not bring both
// directions to a halt.
func TestEchoesDoNotStall(t *testing.T) {
	ours, gvisor := virtual.TCP{}, virtual.TCP{GVisor: true}
	for _, pair := range []struct {
		name string
		tcp  [2]virtual.TCP
	}{
		{"ours echoes gVisor's", [2]virtual.TCP{ours, gvisor}},
		{"gVisor echoes ours", [2]virtual.TCP{gvisor, ours}},
		{"ours echoes ours", [2]virtual.TCP{ours, ours}},
	} {
		t.Run(pair.name, func(t *testing.T) {
			t.Parallel()
			stalls := 0
			for i := range uint64(echoes()) {
				seed := *echoFirst + i
				e := newEcho(pair.tcp, seed)
				if e.run(t); e.stall > time.Second {
					stalls++
					t.Errorf("seed %d: nothing arrived for %v", seed, e.stall)
				}
			}
			t.Logf("%d echoes, %d stalls", echoes(), stalls)
		})
	}
}

// echo is a transfer of 8 MiB from end 1 to end 0 and back.
type echo struct {
	cfg   virtual.Config
	rng   *rand.Rand
	pause time.Duration // most that a reader pauses
	piece int           // largest write of the client

	net   *virtual.Net
	last  time.Duration // when data last arrived at either end
	stall time.Duration // longest time without new data
}

// newEcho varies buffers, pauses and writes by the seed.
func newEcho(tcp [2]virtual.TCP, seed uint64) *echo {
	rng := rand.New(rand.NewPCG(seed, 0))
	link := sim.LinkConfig{Delay: []time.Duration{0, 20 * time.Microsecond, time.Millisecond}[rng.IntN(3)]}
	for i := range tcp {
		tcp[i].SendBuffer = []int{0, 1 << 20, 100_003}[rng.IntN(3)]
		tcp[i].RecvBuffer = []int{0, 0, 1 << 20, 65536}[rng.IntN(4)]
	}
	return &echo{
		cfg:   virtual.Config{Seed: seed, TCP: tcp, Link: [2]sim.LinkConfig{link, link}},
		rng:   rng,
		pause: []time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond}[rng.IntN(3)],
		piece: []int{8 << 20, 32 << 10, 3000}[rng.IntN(3)],
	}
}

func (e *echo) run(t *testing.T) {
	t.Helper()
	var err error
	if e.net, err = virtual.New(e.cfg); err != nil {
		t.Fatal(err)
	}
	defer e.net.Close()
	const size = 8 << 20
	talk(t, e.net, func(c *sockets.Conn) {
		if err := e.copy(c, c, 32<<10, 32<<10); err != nil {
			t.Errorf("echo: %v", err)
		}
	}, func(c *sockets.Conn) {
		e.net.Tasks.Go(func() {
			if err := e.copy(c, bytes.NewReader(make([]byte, size)), size, e.piece); err != nil {
				t.Errorf("write: %v", err)
			}
			c.CloseWrite()
		})
		w := &counter{}
		if err := e.copy(w, c, 64<<10, 64<<10); err != nil || w.n != size {
			t.Errorf("read %d of %d bytes, %v", w.n, size, err)
		}
	})
}

// copy copies from r to w, with reads of up to max bytes.
func (e *echo) copy(w io.Writer, r io.Reader, size, piece int) error {
	buf := make([]byte, size)
	_, reads := r.(*sockets.Conn)
	for {
		if reads && e.rng.IntN(4) == 0 {
			e.net.Tasks.Sleep(time.Duration(1 + e.rng.Int64N(int64(e.pause))))
		}
		n, err := r.Read(buf[:1+e.rng.IntN(len(buf))])
		if reads && n > 0 {
			now := time.Duration(e.net.Now())
			e.stall = max(e.stall, now-e.last)
			e.last = now
		}
		for b := buf[:n]; len(b) > 0; {
			k := min(len(b), 1+e.rng.IntN(piece))
			if _, err := w.Write(b[:k]); err != nil {
				return err
			}
			b = b[k:]
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// counter counts the bytes written to it.
type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}
