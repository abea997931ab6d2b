package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"tcpwheel/cmd/tcpwheel/internal/demo"
	"tcpwheel/cmd/tcpwheel/internal/lanes"
	"tcpwheel/wheel"
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

// serve starts a demo without losses, and serves its page until the test ends.
func serve(t *testing.T) (url string) {
	t.Helper()
	c := lanes.DefaultConditions()
	c.Loss = 0
	run, err := lanes.NewRun(1, nil, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, url := serveRun(t, run)
	drive, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { s.Drive(drive); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	return url
}

// browse opens the page of a demo without losses.
func browse(t *testing.T, width, height int64) (ctx context.Context, url string) {
	t.Helper()
	url = serve(t)
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

// TestPage drops a packet by the button, and finds its repair by the right timer in the page.
func TestPage(t *testing.T) {
	ctx, url := browse(t, 1400, 900)
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
	running := 0
	for _, x := range latest(t, url).Lanes[0].Wheel.Timers {
		running += int(x[2])
	}
	if got := evaluate[string](t, ctx, `document.querySelector(".lane").dataset.timers`); got != strconv.Itoa(running) {
		t.Errorf("the ring shows %s timers, the engine has %d", got, running)
	}
	before := evaluate[float64](t, ctx, `frame.time_ns`)
	click(t, ctx, "step")
	await(t, ctx, "a step", `frame.time_ns > `+strconv.Itoa(int(before)))

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
	click(t, ctx, "tail1")
	await(t, ctx, "a repaired loss", `frame.losses && frame.losses[0].lanes.every(l => l.repaired_ns > 0)`)
	screenshot(t, ctx, "demo-400")
	if wide := evaluate[float64](t, ctx, `document.documentElement.scrollWidth`); wide > 400 {
		t.Errorf("the page is %v pixels wide, want 400", wide)
	}
}

// TestWhatIsUnderThePointer goes through timers and packets by keys: each says when it was armed
// and by which rule, and how it ended.
func TestWhatIsUnderThePointer(t *testing.T) {
	ctx, _ := browse(t, 1400, 900)
	await(t, ctx, "packets with timers that ended", `lanes.length === 3 && [...lanes[0].notes.values()].some(n => n.ended_ns)`)
	const timers = `lanes[0].spots.map(s => s.text()).join("\n\n")`
	for _, want := range []string{"retransmission timer of a segment", "armed ", " ago for ", "expires in ", "for each segment: one RTO after it left",
		"stopped: ", "by the ACK of all before byte"} {
		await(t, ctx, "a timer with "+want, timers+`.includes("`+want+`")`)
	}
	click(t, ctx, "pause")
	await(t, ctx, "the pause", `frame.paused`)
	packets := evaluate[string](t, ctx, `lanes[0].marks.map(s => s.text()).join("\n\n")`)
	for _, want := range []string{"its own timer: armed for ", "ended after ", "by the ACK of all before byte", "RFC 6298 §5 (5.1)"} {
		if !strings.Contains(packets, want) {
			t.Errorf("no packet says %q", want)
		}
	}
	if bsd := evaluate[string](t, ctx, `lanes[2].spots.map(s => s.text()).join("\n\n")`); !strings.Contains(bsd, "ticks of 500 ms") {
		t.Errorf("4.4BSD's timers say %s", bsd)
	}
	tip := evaluate[string](t, ctx, `(lanes[0].ring.focus(), lanes[0].ring.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"})),
		document.getElementById("tip").innerText)`)
	if !strings.Contains(tip, "timer") {
		t.Errorf("after an arrow key the page shows %q, want a timer", tip)
	}
}

// TestAddressRepeatsTheRun opens the address of another page: the run is that of before.
func TestAddressRepeatsTheRun(t *testing.T) {
	url := serve(t)
	ctx := open(t, url+"#seed=9&lanes=per-segment%2Cbsd&initial=delay%3D30ms%2Closs%3D0%25&actions=1s%3Atail%3D1", 1400, 900)
	await(t, ctx, "the run of the address", `frame && frame.seed === 9 && frame.begun.join() === "per-segment,bsd" && frame.conditions.includes("delay=30ms")`)
	await(t, ctx, "its loss", `frame.losses && frame.losses[0].lanes.every(l => l.repaired_ns > 0)`)
	if f := latest(t, url); f.Seed != 9 || f.Actions != "1s:tail=1" {
		t.Errorf("seed %d, actions %q", f.Seed, f.Actions)
	}
}

// BenchmarkDrawing draws frames of three lanes of some 1,000 timers in the browser. 20 a second
// must fit into a core with what BenchmarkFrame measures.
func BenchmarkDrawing(b *testing.B) {
	c := lanes.DefaultConditions()
	c.Loss = 0
	for name, value := range map[string]string{"delay": "2s", "rate": "1Gbit"} {
		if err := c.Set(name, value); err != nil {
			b.Fatal(err)
		}
	}
	run, err := lanes.NewRun(1, []string{"per-segment@1ms", "per-segment@10ms", "per-segment@100ms"}, c, nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := run.AdvanceTo(wheel.Time(85 * time.Second)); err != nil {
		b.Fatal(err)
	}
	_, url := serveRun(b, run)
	ctx := open(b, url, 1400, 900)
	await(b, ctx, "1,000 timers a lane", `frame && frame.lanes.every(l => l.wheel.timers.length > 500)`)
	const draw = `(n => { const t = performance.now(); for (let i = 0; i < n; i++) { JSON.parse(JSON.stringify(frame)); show(frame); } return performance.now() - t; })`
	took := evaluate[float64](b, ctx, fmt.Sprintf("%s(%d)", draw, b.N))
	b.ReportMetric(took/float64(b.N), "ms/frame")
	b.ReportMetric(evaluate[float64](b, ctx, `Math.min(...frame.lanes.map(l => l.wheel.timers.length))`), "timers/lane")
	b.ReportMetric(0, "ns/op") // the browser's start is in it
}
