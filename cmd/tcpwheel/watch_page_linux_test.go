package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tcpwheel/netstack/sim"
	"tcpwheel/pcaps/watch"
	"tcpwheel/wheel"
)

// watchedLoad returns a Watcher of a minute of the load, 2,000 packets a second of virtual time.
func watchedLoad(t *testing.T) *watch.Watcher {
	t.Helper()
	var file bytes.Buffer
	out, err := sim.NewPcapng(&file, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.AddInterface("", 1); err != nil {
		t.Fatal(err)
	}
	l := &load{rng: rand.New(rand.NewPCG(1, 2))}
	for i := range 120_000 {
		f := l.next()
		at := wheel.Time(time.Hour).Add(time.Duration(i) * 500 * time.Microsecond)
		if err := out.WritePacket(0, at, f, uint32(len(f)), ""); err != nil {
			t.Fatal(err)
		}
	}
	w := watch.New(watch.Config{Interface: "eth0"})
	if err := watch.Pipe(t.Context(), w, &file, "load"); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWatchPage opens the page in a browser, wide and as on a phone: it shows the snapshot, nothing
// is wider than the screen, and no script fails. TCPWHEEL_SCREENSHOTS names a folder for pictures.
func TestWatchPage(t *testing.T) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no browser: install chromium to test the page")
	}
	w := watchedLoad(t)
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
