package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"tcpwheel/cmd/tcpwheel/internal/demo"
	"tcpwheel/cmd/tcpwheel/internal/lanes"
)

// serveRun serves the page of a run until the test ends, and returns its address.
func serveRun(t testing.TB, run *lanes.Run) (*demo.Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		run.Close()
		t.Fatal(err)
	}
	s := demo.NewServer(run, l.Addr())
	web := &http.Server{Handler: s.Handler()}
	go web.Serve(l)
	t.Cleanup(func() { web.Close(); s.Close() })
	return s, s.URL(l.Addr())
}

// newRun makes a run without losses.
func newRun(t *testing.T) *lanes.Run {
	t.Helper()
	c := lanes.DefaultConditions()
	c.Loss = 0
	run, err := lanes.NewRun(1, []string{"per-segment", "linux", "bsd"}, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// drive starts a demo, and serves its page until the test ends.
func drive(t *testing.T, run *lanes.Run) (url string) {
	t.Helper()
	s, url := serveRun(t, run)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { s.Drive(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	return url
}

// browse opens the page of a demo without losses.
func browse(t *testing.T, width, height int64) (ctx context.Context, url string) {
	t.Helper()
	url = drive(t, newRun(t))
	return open(t, url, width, height), url
}

// shown is what the tests read in a frame, next to what the page shows of it.
type shown struct {
	Seed    uint64
	Actions string
	Lanes   []struct {
		Wheel struct{ Timers [][3]float64 }
	}
}

// latest returns the frame that a page at the address gets first.
func latest(t testing.TB, url string) (f shown) {
	t.Helper()
	page, _, _ := strings.Cut(url, "?")
	answer, err := http.Get(page + "frames")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// setSpeed chooses a speed as a user does.
func setSpeed(t *testing.T, ctx context.Context, speed string) {
	t.Helper()
	evaluate[bool](t, ctx, `(document.getElementById("speed").value = "`+speed+`", document.getElementById("speed").onchange({target: document.getElementById("speed")}), true)`)
}

// TestPage drops a packet by the button, and finds its repair by the right timer in the page.
func TestPage(t *testing.T) {
	ctx, url := browse(t, 1400, 900)
	await(t, ctx, "three lanes", `document.querySelectorAll(".lane").length === 3`)
	await(t, ctx, "running timers", `+document.querySelector(".lane").dataset.timers > 5`)

	click(t, ctx, "tail1")
	await(t, ctx, "a repaired loss in each lane", `demo.frame.losses && demo.frame.losses[0].lanes.every(l => l.repaired_s > 0)`)
	// The page draws a frame later than it has it.
	for _, want := range []string{"tail loss probe, set for", "retransmission timer, set for"} {
		await(t, ctx, "of the loss: "+want, `document.getElementById("outcomes").innerText.includes("`+want+`")`)
	}
	await(t, ctx, "what 4.4BSD's timers did", `document.getElementById("loss").innerText.includes("with bsd after")`)
	await(t, ctx, "the action in its address", `location.hash.includes("tail")`)

	click(t, ctx, "pause")
	await(t, ctx, "the pause", `demo.frame.paused`)
	screenshot(t, ctx, "demo-1400")
	running := 0
	for _, x := range latest(t, url).Lanes[0].Wheel.Timers {
		running += int(x[2])
	}
	await(t, ctx, strconv.Itoa(running)+" timers, as many as the engine has", `document.querySelector(".lane").dataset.timers === "`+strconv.Itoa(running)+`"`)
	before := evaluate[float64](t, ctx, `demo.frame.time_s`)
	click(t, ctx, "step")
	await(t, ctx, "a step", `demo.frame.time_s > `+strconv.FormatFloat(before, 'f', -1, 64))

	evaluate[bool](t, ctx, `(document.querySelector("[name=loss]").value = "90%", document.querySelector("#conditions").requestSubmit(), true)`)
	await(t, ctx, "why a value is refused", `document.getElementById("said").textContent.includes("want a probability")`)
	evaluate[bool](t, ctx, `(document.querySelector("[name=loss]").value = "5%", document.querySelector("#conditions").requestSubmit(), true)`)
	await(t, ctx, "the new loss", `demo.frame.conditions.includes("loss=5%")`)

	evaluate[bool](t, ctx, `(demo.lanes[1].policy.value = "rfc6298@2ms", demo.lanes[1].policy.onchange(), true)`)
	await(t, ctx, "another policy", `demo.frame.lanes[1].lane === "rfc6298@2ms"`)

	await(t, ctx, "the command", `/^tcpwheel demo --seed 1 --lanes [^ ]*rfc6298@2ms,bsd --loss 0% --actions [^ ]*:loss=5%$/.test(document.getElementById("command").value)`)
	await(t, ctx, "no error", `document.getElementById("said").textContent === ""`)
}

// TestComparisons goes through what the page compares, by keys: the heading says it, both wheels are
// above the fold, a loss has the same scale in both lanes, and everything has a name for a screen
// reader.
func TestComparisons(t *testing.T) {
	run, err := lanes.NewRun(1, nil, lanes.DefaultConditions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := open(t, drive(t, run), 1280, 800)
	heading := func(words string) {
		t.Helper()
		await(t, ctx, words, `document.getElementById("heading").textContent.includes("`+words+`") && demo.lanes.length === 2`)
	}
	heading("with a clock of 500 ms and with a clock of 1 ms")
	await(t, ctx, "running timers", `+document.querySelector(".lane").dataset.timers > 2`)
	if low := evaluate[float64](t, ctx, `Math.max(...demo.lanes.map(l => l.ring.getBoundingClientRect().bottom))`); low > 800 {
		t.Errorf("the wheels end at %v pixels, want 800 at most", low)
	}
	for key, words := range map[string]string{"2": "with a least timeout of 1 s and with none", "5": "4.4BSD’s timers as they were"} {
		if err := chromedp.Do(ctx, chromedp.KeyEvent(key)); err != nil {
			t.Fatal(err)
		}
		heading(words)
		await(t, ctx, "what is chosen", `document.querySelector("#comparisons [aria-pressed=true]").textContent === document.getElementById("comparisons").children[`+key+` - 1].textContent`)
	}
	for _, key := range []string{"5", "d"} {
		if err := chromedp.Do(ctx, chromedp.KeyEvent(key)); err != nil {
			t.Fatal(err)
		}
		heading("4.4BSD’s timers as they were")
	}
	await(t, ctx, "all in which 4.4BSD differs", `document.querySelectorAll("#differ li").length >= 8 && document.getElementById("differ").innerText.includes("They differ in ")`)
	await(t, ctx, "the loss in both lanes", `demo.frame.losses && demo.frame.losses[0].lanes.every(l => l.repaired_s > 0)`)
	for name, n := range accessible(t, ctx) {
		if strings.HasSuffix(name, " ") || n > 1 {
			t.Errorf("%d elements are called %q, want a name for each", n, name)
		}
	}
}

// accessible counts what a screen reader finds on the page and can be used or is a picture, by role
// and name.
func accessible(t *testing.T, ctx context.Context) map[string]int {
	t.Helper()
	tree, err := chromedp.Run(ctx, func(ctx context.Context, of *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
		return cdp.Call(ctx, of, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil || n.Name == nil {
			continue
		}
		role, name := strings.Trim(string(n.Role.Value), `"`), strings.Trim(string(n.Name.Value), `"`)
		if slices.Contains([]string{"button", "textbox", "combobox", "image", "heading", "toolbar"}, role) {
			names[role+" "+strings.TrimSpace(name)]++
		}
	}
	if len(names) < 20 {
		t.Errorf("%d names, want 20 at least: %v", len(names), names)
	}
	return names
}

// TestWhatIsUnderThePointer goes through timers and packets by keys: each says when it was armed
// and by which rule, and how it ended.
func TestWhatIsUnderThePointer(t *testing.T) {
	ctx, _ := browse(t, 1400, 900)
	await(t, ctx, "packets", `demo.lanes.length === 3 && demo.lanes[0].marks.length > 5`)
	const timers = `demo.lanes[0].spots.map(s => s.text()).join("\n\n")`
	for _, want := range []string{"retransmission timer of a segment", "armed ", " ago for ", "expires in ", "for each segment: one RTO after it left",
		"stopped: ", "by the ACK of all before byte"} {
		await(t, ctx, "a timer with "+want, timers+`.includes("`+want+`")`)
	}
	await(t, ctx, "a packet with its bytes", `/bytes \d+ to \d+, sent at /.test(demo.lanes[0].marks.map(s => s.text()).join("\n\n"))`)
	await(t, ctx, "4.4BSD's timers", `demo.lanes[2].spots.map(s => s.text()).join("\n\n").includes("ticks of 500 ms")`)
	await(t, ctx, "a timer after an arrow key", `(demo.lanes[0].ring.focus(), demo.lanes[0].ring.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"})),
		document.getElementById("tip").innerText.includes("timer"))`)
}

// TestAddressRepeatsTheRun opens the address of another page: the run is that of before.
func TestAddressRepeatsTheRun(t *testing.T) {
	url := drive(t, newRun(t))
	ctx := open(t, url+"#seed=9&lanes=per-segment%2Cbsd&initial=delay%3D30ms%2Closs%3D0%25&actions=1s%3Atail%3D1", 1400, 900)
	await(t, ctx, "the run of the address", `demo.frame && demo.frame.seed === 9 && demo.frame.begun.join() === "per-segment,bsd" && demo.frame.conditions.includes("delay=30ms")`)
	await(t, ctx, "its loss", `demo.frame.losses && demo.frame.losses[0].lanes.every(l => l.repaired_s > 0)`)
	if f := latest(t, url); f.Seed != 9 || f.Actions != "1s:tail=1" {
		t.Errorf("seed %d, actions %q", f.Seed, f.Actions)
	}
}

// TestKeysWorkAfterAClick clicks a button with the mouse, and then presses keys.
func TestKeysWorkAfterAClick(t *testing.T) {
	ctx, _ := browse(t, 1400, 900)
	await(t, ctx, "a frame", `demo.frame && demo.lanes.length === 3`)
	if err := chromedp.Do(ctx, chromedp.Click("#drop1")); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, "the first loss", `demo.frame.actions.includes("drop=1")`)
	for key, want := range map[string]string{"d": `demo.frame.actions.includes("tail=1")`, " ": `demo.frame.paused`} {
		if err := chromedp.Do(ctx, chromedp.KeyEvent(key)); err != nil {
			t.Fatal(err)
		}
		await(t, ctx, "what key "+key+" does", want)
	}
}

// TestNothingIsClipped looks for tables, forms and texts wider than their place, at two widths, after
// a loss: nothing is wider than the screen either.
func TestNothingIsClipped(t *testing.T) {
	for _, width := range []int64{1400, 390} {
		ctx, _ := browse(t, width, 900)
		await(t, ctx, "three seconds", `demo.frame && demo.frame.time_s > 3`)
		click(t, ctx, "tail1")
		await(t, ctx, "a repaired loss", `demo.frame.losses && demo.frame.losses[0].lanes.every(l => l.repaired_s > 0)`)
		screenshot(t, ctx, "demo-"+strconv.FormatInt(width, 10))
		if wide := evaluate[float64](t, ctx, `document.documentElement.scrollWidth`); wide > float64(width) {
			t.Errorf("the page is %v pixels wide, want %d", wide, width)
		}
		clipped := evaluate[string](t, ctx, `[...document.querySelectorAll(".demo *")].filter(e => e.checkVisibility({contentVisibilityAuto: true}) && !e.closest("#share") && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 &&
			!/INPUT|CANVAS/.test(e.tagName) && getComputedStyle(e).display !== "inline").map(e => e.tagName + "." + e.className + " " + e.textContent.slice(0, 40)).join("; ")`)
		if clipped != "" {
			t.Errorf("at %d pixels these are wider than their place: %s", width, clipped)
		}
	}
}

// TestTextsOfADiagramAreApart notes where the diagrams of packets have texts, while a tenth of the
// packets is lost: no cause of a retransmission lies on another text, or on a packet.
func TestTextsOfADiagramAreApart(t *testing.T) {
	c := lanes.DefaultConditions()
	c.Loss = 0.1
	run, err := lanes.NewRun(1, []string{"per-segment", "linux", "bsd"}, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := open(t, drive(t, run), 1400, 900)
	await(t, ctx, "lanes", `demo.frame && demo.lanes.length === 3`)
	evaluate[bool](t, ctx, `(() => { window.causes = 0; window.over = [];
		const { fillText, clearRect } = CanvasRenderingContext2D.prototype, drawings = new Map();
		// A drawing is complete when the next one begins.
		CanvasRenderingContext2D.prototype.clearRect = function (...a) {
			const lane = demo.lanes.find(l => l.seq === this.canvas), texts = drawings.get(this.canvas) || [];
			if (lane) for (const s of texts) if (/^(ACKs|.* timer|.* probe)$/.test(s.text)) {
				window.causes++;
				for (const m of lane.marks) if (m.x > s.from && m.x < s.to && m.y > s.y - 8 && m.y < s.y) window.over.push(s.text + " on a packet");
				for (const o of texts) if (o !== s && s.from < o.to && o.from < s.to && Math.abs(s.y - o.y) < 8) window.over.push(s.text + " on " + o.text);
			}
			drawings.set(this.canvas, []); clearRect.apply(this, a);
		};
		CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
			fillText.call(this, text, x, y);
			const width = this.measureText(text).width, from = x - width * ({ center: 0.5, right: 1 }[this.textAlign] || 0);
			drawings.get(this.canvas)?.push({ text, from, to: from + width, y });
		};
		return true; })()`)
	await(t, ctx, "500 causes of retransmissions", `window.causes > 500`)
	if over := evaluate[string](t, ctx, `[...new Set(window.over)].slice(0, 5).join("; ")`); over != "" {
		t.Errorf("texts lie on others: %s", over)
	}
}
