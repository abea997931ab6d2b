package cli

import (
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/pcaps/watch"
	"tcpwheel/wheel"
)

// watchedLoad returns a Watcher of n packets of the load, 2,000 packets a second of virtual time.
func watchedLoad(t *testing.T, c watch.Config, n int) *watch.Watcher {
	t.Helper()
	r, file := io.Pipe()
	go func() {
		out, err := pcapng.NewWriter(file, "")
		if err == nil {
			_, err = out.AddInterface("", 1)
		}
		l := &load{rng: rand.New(rand.NewPCG(1, 2))}
		for i := range n {
			if err != nil {
				break
			}
			f := l.next()
			at := wheel.Time(time.Hour).Add(time.Duration(i) * 500 * time.Microsecond)
			err = out.WritePacket(0, at, f, uint32(len(f)), "")
		}
		file.CloseWithError(err)
	}()
	w := watch.New(c)
	if err := watch.Pipe(t.Context(), w, r, "load"); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWatchMemoryIsBounded watches 60,000 packets and 240,000 in connections with losses: four
// times as many take no more memory.
func TestWatchMemoryIsBounded(t *testing.T) {
	var heap [2]uint64
	for i, n := range []int{60_000, 240_000} {
		w := watchedLoad(t, watch.Config{MaxConns: 256, Interface: "eth0"}, n)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap[i] = m.HeapAlloc
		if s := w.Snapshot(); s.Connections == 0 || s.Total.All.Episodes < n/2000 {
			t.Errorf("%d connections, %d episodes", s.Connections, s.Total.All.Episodes)
		}
		w.Close()
	}
	t.Logf("%d kB after 60,000 packets, %d kB after 240,000", heap[0]>>10, heap[1]>>10)
	if heap[1] > heap[0]+1<<20 {
		t.Errorf("memory grew from %d kB to %d kB", heap[0]>>10, heap[1]>>10)
	}
}
