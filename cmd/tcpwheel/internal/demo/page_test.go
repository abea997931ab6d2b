package demo

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browse starts a demo without losses and opens its page in a headless browser. It skips without a
// browser.
func browse(t *testing.T, width, height int64) (context.Context, *Server) {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("no browser: install chromium to test the page")
	}
	c := DefaultConditions()
	c.Loss = 0
	run, err := NewRun(1, nil, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		run.Close()
		t.Fatal(err)
	}
	s := NewServer(run, l.Addr())
	web := &http.Server{Handler: s.Handler()}
	go web.Serve(l)
	drive, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Drive(drive); close(ended) }()
	t.Cleanup(func() { web.Close(); stop(); <-ended; s.Close() })

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(s.URL(l.Addr()))); err != nil {
		t.Fatal(err)
	}
	return ctx, s
}

// await evaluates a condition in the page until it holds.
func await(t *testing.T, ctx context.Context, what, condition string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](condition)); err == nil && ok {
			return
		}
	}
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText.slice(0, 2000)`))
	t.Fatalf("the page does not show %s within 20 s:\n%s", what, text)
}

// screenshot keeps a picture of the page where TCPWHEEL_SCREENSHOTS names a folder.
func screenshot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("TCPWHEEL_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o666); err != nil {
		t.Fatal(err)
	}
}

func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	x, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return x
}

func click(t *testing.T, ctx context.Context, id string) {
	t.Helper()
	evaluate[bool](t, ctx, `(document.getElementById("`+id+`").click(), true)`)
}

// TestPage drops a packet by the button, and finds its repair by the right timer in the page.
func TestPage(t *testing.T) {
	ctx, s := browse(t, 1400, 900)
	await(t, ctx, "three lanes", `document.querySelectorAll(".lane").length === 3`)
	await(t, ctx, "running timers", `+document.querySelector(".lane").dataset.timers > 5`)

	click(t, ctx, "tail1")
	await(t, ctx, "a repaired loss in each lane", `frame.losses && frame.losses[0].lanes.every(l => l.repaired_ns > 0)`)
	outcomes := evaluate[string](t, ctx, `document.getElementById("outcomes").innerText`)
	for _, want := range []string{"tail loss probe, set for", "retransmission timer, set for", "ticks of 500 ms"} {
		if !strings.Contains(outcomes, want) {
			t.Errorf("the page says of the loss %q, want %q in it", outcomes, want)
		}
	}
	if text := evaluate[string](t, ctx, `document.getElementById("loss").innerText`); !strings.Contains(text, "bsd after") {
		t.Errorf("the page says %q, want what 4.4BSD's timers did", text)
	}
	await(t, ctx, "the action in its address", `location.hash.includes("tail")`)

	click(t, ctx, "pause")
	await(t, ctx, "the pause", `frame.paused`)
	screenshot(t, ctx, "demo-1400")
	s.mu.Lock()
	view := s.run.Lanes[0].view(s.rec[0])
	s.mu.Unlock()
	running := 0
	for _, x := range view.Wheel.Timers {
		running += int(x[2])
	}
	if got := evaluate[string](t, ctx, `document.querySelector(".lane").dataset.timers`); got != itoa(running) {
		t.Errorf("the ring shows %s timers, the engine has %d", got, running)
	}
	before := evaluate[float64](t, ctx, `frame.time_ns`)
	click(t, ctx, "step")
	await(t, ctx, "a step", `frame.time_ns > `+strings.TrimSuffix(itoa(int(before)), ".0"))

	evaluate[bool](t, ctx, `(document.querySelector("[name=loss]").value = "90%", document.querySelector("#conditions").requestSubmit(), true)`)
	await(t, ctx, "why a value is refused", `document.getElementById("said").textContent.includes("want a probability")`)
	evaluate[bool](t, ctx, `(document.querySelector("[name=loss]").value = "5%", document.querySelector("#conditions").requestSubmit(), true)`)
	await(t, ctx, "the new loss", `frame.conditions.includes("loss=5%")`)

	evaluate[bool](t, ctx, `(lanes[1].policy.value = "rfc6298", lanes[1].policy.onchange(), true)`)
	await(t, ctx, "another policy", `frame.lanes[1].lane === "rfc6298"`)

	click(t, ctx, "zero")
	await(t, ctx, "the beginning", `frame.time_ns === 0 || frame.restarts > 0`)
	if errors := evaluate[string](t, ctx, `document.getElementById("said").textContent`); errors != "" {
		t.Errorf("the page says %q", errors)
	}
}

// TestPageOnAPhone looks at the page at 400 pixels: nothing is wider than the screen.
func TestPageOnAPhone(t *testing.T) {
	ctx, _ := browse(t, 400, 800)
	await(t, ctx, "three lanes", `document.querySelectorAll(".lane").length === 3`)
	await(t, ctx, "a diagram", `+document.querySelector(".lane").dataset.timers > 5`)
	screenshot(t, ctx, "demo-400")
	if wide := evaluate[float64](t, ctx, `document.documentElement.scrollWidth`); wide > 400 {
		t.Errorf("the page is %v pixels wide, want 400", wide)
	}
}
