package cli

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tcpwheel/netstack/sim"
	"tcpwheel/pcaps/watch"
	"tcpwheel/wheel"
)

// watchedLoad returns a Watcher of n packets of the load, 2,000 packets a second of virtual time.
func watchedLoad(t *testing.T, c watch.Config, n int) *watch.Watcher {
	t.Helper()
	r, file := io.Pipe()
	go func() {
		out, err := sim.NewPcapng(file, "")
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

// TestWatchPage opens the page in a browser, wide and as on a phone: it shows the snapshot, nothing
// is wider than the screen, and no script fails. TCPWHEEL_SCREENSHOTS names a folder for pictures.
func TestWatchPage(t *testing.T) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no browser: install chromium to test the page")
	}
	w := watchedLoad(t, watch.Config{Interface: "eth0"}, 120_000)
	s := httptest.NewServer(w.Handler())
	defer s.Close()
	defer s.CloseClientConnections()
	allocator, cancel := chromedp.NewExecAllocator(context.Background(),
		append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)...)
	defer cancel()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	want := w.Snapshot().Total.All.Episodes
	for _, width := range []int64{400, 1400} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(s.URL)); err != nil {
			t.Fatal(err)
		}
		const shown = `document.querySelector("#total tr.all td:nth-child(6)")?.textContent || ""`
		got := ""
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && got == ""; time.Sleep(50 * time.Millisecond) {
			got, _ = chromedp.Run(ctx, chromedp.Evaluate[string](shown))
		}
		if got != strconv.Itoa(want) || want < 100 {
			t.Errorf("%d pixels: the page shows %q recoveries, want %d", width, got, want)
		}
		if wide, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth`)); err != nil || int64(wide) > width {
			t.Errorf("the page is %d pixels wide, want %d at most; %v", wide, width, err)
		}
		hosts, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.getElementById("hosts").innerText`))
		if err != nil || !strings.Contains(hosts, "10.99.2.1") {
			t.Errorf("hosts: %q, %v", hosts, err)
		}
		if dir := os.Getenv("TCPWHEEL_SCREENSHOTS"); dir != "" {
			picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "watch-"+strconv.Itoa(int(width))+".png"), picture, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}
