package interop

import (
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
)

var echoCount = flag.Int("echoes", 0, "echoes with each peer; 0 is 3, or 30 with TCPWHEEL_LONG")

// TestEchoesDoNotStall: 8 MiB flow to an echo server and back while readers pause, so that windows
// close. Buffers are those of the default and small ones in turn. netstack/virtual has the same
// test in virtual time, with gVisor's TCP too. What the machine was late does not count.
func TestEchoesDoNotStall(t *testing.T) {
	echoes := *echoCount
	if echoes == 0 {
		echoes = 3
		if isLong() {
			echoes = 30
		}
	}
	late := watchLateness()
	defer late.close()
	for _, who := range withKernel {
		for i, p := range []plan{{}, smallBuffers} {
			t.Run(who.a+"-"+who.b+[]string{"", "-small-buffers"}[i], func(t *testing.T) {
				p.fast = true
				n := newNetwork(t, who, p)
				start, longest := time.Now(), time.Duration(0)
				for i := range (echoes + 1) / 2 {
					client, server := n.connect(i%2 == 1)
					if i%4 >= 2 {
						client, server = server, client
					}
					began, before := time.Now(), n.counters(t)
					stall, end := echo(t, client, server, uint64(i))
					longest = max(longest, stall)
					if _, _, sum := late.between(end.Add(-stall), end); stall-sum > 2*time.Second {
						t.Errorf("echo %d: nothing arrived for %v, while the machine was late for %v; %s; %s",
							i, stall, sum, late.describe(began), n.countedSince(before))
					}
				}
				t.Logf("%d echoes, nothing arrived for %v at most; %s; %s", (echoes+1)/2, longest, late.describe(start),
					n.countedSince(tcp.Counters{}))
			})
		}
	}
}

// echo sends 8 MiB from client to server and back. It returns the longest time without new data at
// either end, and when that ended.
func echo(t *testing.T, client, server conn, seed uint64) (longest time.Duration, end time.Time) {
	t.Helper()
	const size = 8 << 20
	var mu sync.Mutex
	last := time.Now()
	pausing := func(c net.Conn, seed uint64) io.Reader {
		return &pausingReader{c, rand.New(rand.NewPCG(seed, 0)), func() {
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			if d := now.Sub(last); d > longest {
				longest, end = d, now
			}
			last = now
		}}
	}
	echoed := make(chan error, 2)
	go func() {
		_, err := io.Copy(server, pausing(server, seed))
		server.CloseWrite()
		echoed <- err
	}()
	go func() {
		_, err := client.Write(make([]byte, size))
		client.CloseWrite()
		echoed <- err
	}()
	n, err := io.Copy(io.Discard, pausing(client, seed+1))
	if err != nil || n != size {
		t.Errorf("read %d of %d bytes: %v", n, size, err)
	}
	for range 2 {
		if err := <-echoed; err != nil {
			t.Error(err)
		}
	}
	client.Close()
	server.Close()
	return longest, end
}

// pausingReader pauses now and then, and reads pieces of all sizes.
type pausingReader struct {
	c    net.Conn
	rng  *rand.Rand
	read func()
}

func (r *pausingReader) Read(b []byte) (int, error) {
	if r.rng.IntN(16) == 0 {
		time.Sleep(time.Duration(r.rng.IntN(2000)) * time.Microsecond)
	}
	n, err := r.c.Read(b[:1+r.rng.IntN(len(b))])
	r.read()
	return n, err
}
