package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// open opens an address in a headless browser. It skips without a browser.
func open(t testing.TB, url string, width, height int64) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("no browser: install chromium to test pages")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(limit))
	if os.Getenv("TCPWHEEL_DARK") != "" {
		options = append(options, chromedp.Flag("blink-settings", "preferredColorScheme=0"))
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// limit is how long a browser may take to start, and a page to show something. Only a failure takes
// so long.
const limit = 3 * time.Minute

// await evaluates a condition in the page until it holds. A page draws what it has got in its next
// frame, so a test awaits what is drawn, too.
func await(t testing.TB, ctx context.Context, what, condition string) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](condition)); err == nil && ok {
			return
		}
	}
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText.slice(0, 2000)`))
	t.Fatalf("the page does not show %s within %v:\n%s", what, limit, text)
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

func evaluate[T any](t testing.TB, ctx context.Context, expression string) T {
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
