package browser

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tcpwheel/cmd/tcpwheel/internal/cli"
	"tcpwheel/pcaps/samples"
)

// madeSite makes the static page, once for all tests.
var madeSite = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "tcpwheel-site"); err != nil {
		return "", err
	}
	make := exec.Command("go", "run", "./cmd/tcpwheel/internal/site/make", dir)
	make.Dir = filepath.Join("..", "..", "..")
	if out, err := make.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if made {
		if dir, err := madeSite(); err == nil {
			os.RemoveAll(dir)
		}
	}
	os.Exit(status)
}

// made says that a test made the page.
var made bool

// siteDir returns the folder of the static page.
func siteDir(t *testing.T) string {
	t.Helper()
	made = true
	dir, err := madeSite()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// openSite opens the static page from a web server.
func openSite(t *testing.T, width, height int64, hash string) context.Context {
	t.Helper()
	web := httptest.NewServer(http.FileServer(http.Dir(siteDir(t))))
	t.Cleanup(web.Close)
	return open(t, web.URL+"/"+hash, width, height)
}

// printed returns what the command prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, talk bytes.Buffer
	cli.Run(args, strings.NewReader(""), &out, &talk)
	return out.String()
}

// drop drops a file on the page, and waits until it is done with it.
func drop(t *testing.T, ctx context.Context, name string, content []byte) (done string) {
	t.Helper()
	evaluate[bool](t, ctx, `(() => {
		const bytes = Uint8Array.from(atob("`+base64.StdEncoding.EncodeToString(content)+`"), c => c.charCodeAt(0)), data = new DataTransfer();
		data.items.add(new File([bytes], `+strconv.Quote(name)+`));
		document.body.dataset.done = "";
		document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
		return true;
	})()`)
	return finished(t, ctx)
}

// finished waits until the page has replayed a capture, or failed.
func finished(t *testing.T, ctx context.Context) string {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`new Promise(done => { let n = 0; const wait = setInterval(() => {
			if (["replay", "failed"].includes(document.body.dataset.done) || ++n > 150) { clearInterval(wait); done(true); } }, 100); })`, chromedp.EvalAwaitPromise)); err != nil || !ok {
			t.Fatal(err)
		}
		if done := evaluate[string](t, ctx, `document.body.dataset.done`); done == "replay" || done == "failed" {
			return done
		}
	}
	t.Fatalf("the page is not done: %s", evaluate[string](t, ctx, `document.getElementById("s-state").textContent`))
	return ""
}

func output(t *testing.T, ctx context.Context, of string) string {
	t.Helper()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`job.outputs.`+of+`.text()`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestSiteGivesTheCommandsBytes analyses and replays the samples in the page: its JSON is that of
// the command, and so is that of public captures, where they are at hand.
func TestSiteGivesTheCommandsBytes(t *testing.T) {
	ctx := openSite(t, 1400, 900, "")
	for i, s := range samples.List() {
		if i > 3 && os.Getenv("TCPWHEEL_LONG") == "" {
			break
		}
		name := "sample:" + s.Name
		evaluate[bool](t, ctx, `(document.body.dataset.done = "", document.querySelector("[data-sample='`+s.Name+`']").click(), true)`)
		if done := finished(t, ctx); done != "replay" {
			t.Errorf("%s: %s", name, evaluate[string](t, ctx, `document.getElementById("s-state").textContent`))
			continue
		}
		if got, want := output(t, ctx, "analyze"), printed(t, "analyze", "--json", name); got != want || want == "" {
			t.Errorf("%s: the page's JSON of analyze differs from the command's:\n%.2000s\nwant\n%.2000s", name, got, want)
		}
		if got, want := output(t, ctx, "replay"), printed(t, "replay", "--json", name); got != want || want == "" {
			t.Errorf("%s: the page's JSON of replay differs from the command's:\n%.2000s\nwant\n%.2000s", name, got, want)
		}
	}
	if _, err := os.Stat(publicCaptures); err != nil || os.Getenv("TCPWHEEL_LONG") == "" {
		return
	}
	t.Chdir(publicCaptures)
	files, err := filepath.Glob("*.pcap*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures in %s: %v", publicCaptures, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		drop(t, ctx, name, content)
		if got, want := output(t, ctx, "analyze"), printed(t, "analyze", "--json", name); got != want {
			t.Errorf("%s: the page's JSON of analyze differs from the command's", name)
		}
		if got, want := output(t, ctx, "replay"), printed(t, "replay", "--json", name); got != want {
			t.Errorf("%s: the page's JSON of replay differs from the command's", name)
		}
		t.Logf("%s: %d bytes, %s", name, len(content), evaluate[string](t, ctx, `document.getElementById("s-state").textContent`))
	}
}

const publicCaptures = "../../../../shared/captures"

// sample returns the content of a sample's capture.
func sample(t *testing.T, name string) []byte {
	t.Helper()
	f, err := samples.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSiteAsOneFile opens the file to mail, without a server: a capture is dropped, its report has
// sentences, tables that sort and diagrams, and its outputs can be saved.
func TestSiteAsOneFile(t *testing.T) {
	ctx := open(t, "file://"+filepath.Join(siteDir(t), "tcpwheel.html"), 1400, 900)
	if done := drop(t, ctx, "burst.pcapng.gz", sample(t, "burst/a.pcapng.gz")); done != "replay" {
		t.Fatalf("the page says %s", evaluate[string](t, ctx, `document.getElementById("s-state").textContent`))
	}
	screenshot(t, ctx, "site-1400")
	if text := evaluate[string](t, ctx, `document.getElementById("s-report").innerText`); !strings.Contains(text, "Connections") || !strings.Contains(text, "waited") && !strings.Contains(text, "lost") {
		t.Errorf("the report says %.500s", text)
	}
	if n := evaluate[float64](t, ctx, `document.querySelectorAll("#s-report svg, #s-replay svg").length`); n < 3 {
		t.Errorf("%v diagrams, want 3 or more", n)
	}
	if sorted := evaluate[string](t, ctx, `(document.querySelector("#s-report table.sort th button").click(), document.querySelector("#s-report table.sort th").getAttribute("aria-sort"))`); sorted != "descending" {
		t.Errorf("after a click a table is sorted %q", sorted)
	}
	evaluate[bool](t, ctx, `(window.saved = {}, save = (blob, name) => { window.saved[name] = blob; }, true)`)
	for what, name := range map[string]string{"json": "burst.json", "annotated": "burst-annotated.pcapng", "html": "burst.html"} {
		evaluate[bool](t, ctx, `(document.querySelector("[data-what='`+what+`']").click(), true)`)
		await(t, ctx, name, `window.saved["`+name+`"] && window.saved["`+name+`"].size > 100 && !job.running`)
	}
	if magic, err := chromedp.Run(ctx, chromedp.Evaluate[string](`window.saved["burst-annotated.pcapng"].slice(0, 4).arrayBuffer().then(b => [...new Uint8Array(b)].join())`,
		chromedp.EvalAwaitPromise)); err != nil || magic != "10,13,13,10" {
		t.Errorf("the annotated capture begins with %s, %v, want pcapng", magic, err)
	}
}

// TestSiteRefusesWithASentence drops what is no capture: the page says so in a sentence.
func TestSiteRefusesWithASentence(t *testing.T) {
	ctx := openSite(t, 1400, 900, "")
	for name, content := range map[string][]byte{
		"text.pcap": []byte("this is no capture at all"), "empty.pcap": {}, "zeros.pcapng": make([]byte, 100_000),
		"lies.pcapng": append([]byte{0x0a, 0x0d, 0x0d, 0x0a, 0xff, 0xff, 0xff, 0x7f, 0x4d, 0x3c, 0x2b, 0x1a}, make([]byte, 1000)...),
	} {
		if done := drop(t, ctx, name, content); done != "failed" {
			t.Errorf("%s: done with %q, want a refusal", name, done)
		}
		if text := evaluate[string](t, ctx, `document.getElementById("s-state").textContent`); !strings.Contains(text, name) || len(text) > 300 {
			t.Errorf("%s: the page says %q", name, text)
		}
	}
}

// TestSiteStops stops a capture that takes long, and reads another one. While it reads, the page
// shows how far it is.
func TestSiteStops(t *testing.T) {
	ctx := openSite(t, 1400, 900, "")
	evaluate[bool](t, ctx, `(() => { window.shown = []; new MutationObserver(() => window.shown.push(document.getElementById("s-state").textContent)).observe(document.getElementById("s-state"), {childList: true});
		const head = Uint8Array.from([0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0]), packet = new Uint8Array(1516);
		new DataView(packet.buffer).setUint32(8, 1500, true); new DataView(packet.buffer).setUint32(12, 1500, true);
		const many = new Uint8Array(1516 * 20000); for (let i = 0; i < 20000; i++) many.set(packet, i * 1516);
		take(new File([head, ...Array(4).fill(many)], "long.pcap")); return true; })()`)
	await(t, ctx, "progress", `window.shown.some(x => /reading long.pcap: \d+ %/.test(x))`)
	evaluate[bool](t, ctx, `(document.getElementById("s-stop").click(), true)`)
	await(t, ctx, "that it stopped", `document.getElementById("s-state").textContent.startsWith("Stopped.") || document.body.dataset.done === "replay"`)
	if done := drop(t, ctx, "burst.pcapng.gz", sample(t, "burst/a.pcapng.gz")); done != "replay" {
		t.Errorf("after a stop a capture is %s", done)
	}
}

// TestSiteDemo runs the demo in the page: the address repeats a run, and keys work.
func TestSiteDemo(t *testing.T) {
	ctx := openSite(t, 1400, 900, "#demo?seed=9&lanes=per-segment%2Cbsd&initial=delay%3D30ms%2Closs%3D0%25&actions=1s%3Atail%3D1")
	await(t, ctx, "the run of the address", `demo && demo.frame && demo.frame.seed === 9 && demo.frame.begun.join() === "per-segment,bsd"`)
	await(t, ctx, "its loss and repair", `demo.frame.losses && demo.frame.losses[0].lanes.every(l => l.repaired_s > 0)`)
	if err := chromedp.Do(ctx, chromedp.KeyEvent("d")); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, "what key d does", `demo.frame.actions.split("tail").length === 3`)
	if url := evaluate[string](t, ctx, `document.getElementById("address").value`); !strings.Contains(url, "/#demo?seed=9&lanes=per-segment%2Cbsd") {
		t.Errorf("the address is %s", url)
	}
	if !evaluate[bool](t, ctx, `demo.lanes.every(l => l.spots.every(s => Math.hypot(s.x - l.ring.clientWidth / 2, s.y - l.ring.dataset.h / 2) > textRadius - 1))`) {
		t.Error("signs of timers lie on the words inside the ring")
	}
	screenshot(t, ctx, "site-demo-1400")
}

// TestSiteOnAPhone looks at the page at 390 pixels, each of its parts: nothing is wider.
func TestSiteOnAPhone(t *testing.T) {
	ctx := openSite(t, 390, 800, "")
	if done := drop(t, ctx, "burst.pcapng.gz", sample(t, "burst/a.pcapng.gz")); done != "replay" {
		t.Fatalf("the page is %s", done)
	}
	for _, tab := range []string{"capture", "demo"} {
		evaluate[bool](t, ctx, `(document.getElementById("s-tab-`+tab+`").click(), true)`)
		if tab == "demo" {
			await(t, ctx, "its lanes", `demo && demo.lanes.length === 2 && demo.lanes.every(l => l.marks.length > 5)`)
		}
		screenshot(t, ctx, "site-"+tab+"-390")
		if wide := evaluate[float64](t, ctx, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("%s is %v pixels wide, want 390", tab, wide)
		}
	}
}

// TestSitePolicy reads the policy: no other origin, and none at all in the single file.
func TestSitePolicy(t *testing.T) {
	for name, connect := range map[string]string{"index.html": "connect-src 'self'", "tcpwheel.html": "connect-src 'none'"} {
		text, err := os.ReadFile(filepath.Join(siteDir(t), name))
		if err != nil {
			t.Fatal(err)
		}
		head := string(text[:2000])
		if !strings.Contains(head, "default-src 'none'; "+connect+";") {
			t.Errorf("%s has the policy in %s", name, head)
		}
		for _, word := range []string{"localStorage", "sessionStorage", "indexedDB", "document.cookie", "serviceWorker"} {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s stores something: it has %s in it", name, word)
			}
		}
	}
}

// TestSiteLarge reads the capture that TCPWHEEL_LARGE names, and logs time and memory. It asserts
// no time: 200 MB within 60 s and 1 GB is the goal.
func TestSiteLarge(t *testing.T) {
	file := os.Getenv("TCPWHEEL_LARGE")
	if file == "" {
		t.Skip("TCPWHEEL_LARGE names no capture")
	}
	ctx := openSite(t, 1400, 900, "")
	if err := chromedp.Do(ctx, chromedp.SetUploadFiles("#s-file", []string{file})); err != nil {
		t.Fatal(err)
	}
	done := finished(t, ctx)
	t.Logf("%s: %s", done, evaluate[string](t, ctx, `document.getElementById("s-state").textContent`))
	if memory := evaluate[float64](t, ctx, `+document.body.dataset.memory || 0`); memory > 1e9 {
		t.Errorf("the program took %v bytes, want 1 GB at most", memory)
	}
}
