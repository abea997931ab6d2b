package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

var update = flag.Bool("update", false, "rewrite what golden files expect")

// captured returns what is captured at the sender of so many flows, over a link of 20 ms in each
// direction that loses so.
func captured(t testing.TB, flows int, octets uint64, losses string) []byte {
	t.Helper()
	l, err := sim.ParseLosses(losses)
	if err != nil {
		t.Fatal(err)
	}
	link := sim.LinkConfig{Rate: 10_000_000, Delay: 20 * time.Millisecond, Loss: l}
	f, err := host.NewFlows(host.FlowsConfig{Seed: 1, Flows: flows, Bytes: octets, Duration: time.Minute, Link: link, Policy: "linux"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	out, err := pcapng.NewWriter(&b, "")
	if err != nil {
		t.Fatal(err)
	}
	epoch := wheel.Time(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	for _, way := range []struct {
		name  string
		point sim.CapturePoint
	}{{"s1>r1", sim.AtSender}, {"r1>s1", sim.AtReceiver}} {
		via, _ := f.World.Net.LinkNamed(way.name)
		tap, err := sim.NewCapture(out, "s1", pcapng.LinkTypeRaw, f.World.Serializer(), way.point, epoch)
		if err != nil {
			t.Fatal(err)
		}
		f.World.Net.Tap(via, tap)
	}
	for f.Run(f.World.Net.Now().Add(time.Second)) {
	}
	return b.Bytes()
}

// read feeds a capture to a section and to notes. Either may be nil.
func read(t testing.TB, b []byte, s *Section, n *Notes) {
	t.Helper()
	r, err := capture.NewReader(bytes.NewReader(b), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tracker := track.New(track.Config{
		Event: func(ev *track.Event) {
			if s != nil {
				s.Event(ev)
			}
			if n != nil {
				n.Event(ev)
			}
		},
		Done: func(c *track.Conn) {
			if s != nil {
				s.Add(c, nil)
			}
			if n != nil {
				n.Add(c, nil)
			}
		},
	})
	for {
		p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tracker.Add(p)
	}
	tracker.Close()
	if s != nil {
		st := r.Stats()
		s.End(Facts{First: st.First, Last: st.Last, Packets: st.Packets, TCP: st.TCP})
	}
}

// pageOf returns the page of a capture.
func pageOf(t testing.TB, name string, b []byte, l Limits) string {
	t.Helper()
	p := NewPage(l)
	read(t, b, p.Begin(name), nil)
	var out strings.Builder
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// lossy loses a tail, a burst, and a retransmission.
const lossy = "packets:20,60-62,146-147"

var (
	svgs     = regexp.MustCompile(`(?s)<svg viewBox="0 0 .*?</svg>\n?</div>`)
	labels   = regexp.MustCompile(`aria-label="([^"]*)"`)
	headings = regexp.MustCompile(`<h[1-4][^>]*>([^<]*)</h[1-4]>`)
	classes  = regexp.MustCompile(`<(path|rect|text) class="([a-z0-9 ]+)"`)
)

// TestPageIsGolden holds the page to its outline: headings, rows, and what is in each diagram.
func TestPageIsGolden(t *testing.T) {
	page := pageOf(t, "lossy.pcapng", captured(t, 1, 200_000, lossy), Limits{})
	golden(t, "outline.golden", outline(page))
}

// TestPageOpensWithTheAnswer wants the two sentences, then one figure, then the tables, each with
// T_rec and the time lost before other durations.
func TestPageOpensWithTheAnswer(t *testing.T) {
	page := pageOf(t, "lossy.pcapng", captured(t, 1, 200_000, lossy), Limits{})
	at := 0
	for _, want := range []string{
		`<p class="answer">`, " were lost in ", "waiting for timers. The longest stall took ", "from packet ", `aria-label="Recovery times by kind"`,
		"<th>episodes</th><th>T_rec median", "<th>conn</th><th>packet</th><th>at, s</th><th class=\"w\">kind</th><th>T_rec</th><th>lost", "<th>conn</th><th>time lost</th><th>longest T_rec",
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("no %q after %q", want, page[max(0, at-40):at])
		}
		at += i + len(want)
	}
}

// outline returns the headings of a page, how many rows it has, and what is in its diagrams.
func outline(page string) string {
	var got strings.Builder
	for _, h := range headings.FindAllStringSubmatch(page, -1) {
		fmt.Fprintln(&got, "heading:", h[1])
	}
	fmt.Fprintln(&got, "rows:", strings.Count(page, "<tr><td"))
	for _, svg := range svgs.FindAllString(page, -1) {
		count := map[string]int{}
		var order []string
		for _, c := range classes.FindAllStringSubmatch(svg, -1) {
			name := c[1] + "." + strings.ReplaceAll(c[2], " ", ".")
			if count[name]++; count[name] == 1 {
				order = append(order, name)
			}
		}
		fmt.Fprintf(&got, "diagram %s:", labels.FindStringSubmatch(svg)[1])
		for _, name := range order {
			fmt.Fprintf(&got, " %s=%d", name, count[name])
		}
		fmt.Fprintln(&got)
	}
	for _, c := range regexp.MustCompile(`<figcaption>([^<]*)`).FindAllStringSubmatch(page, -1) {
		fmt.Fprintln(&got, "caption:", c[1])
	}
	return got.String()
}

// golden compares with a file in testdata, which -update rewrites.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// TestDiagramsAreWellFormed parses each SVG as strictly as XML, and wants no number that is none.
func TestDiagramsAreWellFormed(t *testing.T) {
	page := pageOf(t, "lossy.pcapng", captured(t, 3, 100_000, "bernoulli:0.05"), Limits{})
	all := svgs.FindAllString(page, -1)
	if len(all) < 8 {
		t.Fatalf("%d diagrams, want at least 8", len(all))
	}
	wellFormed(t, all)
}

// wellFormed parses SVGs.
func wellFormed(t *testing.T, all []string) {
	t.Helper()
	for _, svg := range all {
		d := xml.NewDecoder(strings.NewReader(strings.TrimSuffix(strings.TrimSpace(svg), "</div>")))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v in %.300s", err, svg)
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("a number is none: %.300s", svg)
		}
	}
}

// TestPageNeedsNothingElse wants no reference to anything outside, and a policy that forbids it.
func TestPageNeedsNothingElse(t *testing.T) {
	page := pageOf(t, "lossy.pcapng", captured(t, 1, 200_000, lossy), Limits{})
	for _, word := range []string{"http:", "https:", "//cdn", " src=", "url(", "@import", "<link", "<iframe", "<img", "javascript:"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q in it", word)
		}
	}
	script := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(script) != 1 {
		t.Fatalf("%d scripts, want 1", len(script))
	}
	sum := sha256.Sum256([]byte(script[0][1]))
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if len(policy) != 2 {
		t.Fatal("no policy")
	}
	got := strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(policy[1])
	for _, want := range []string{"default-src 'none'", "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"} {
		if !strings.Contains(got, want) {
			t.Errorf("policy %s, want %s in it", got, want)
		}
	}
}

// TestNamesAreEscaped has a file whose name and notes are code.
func TestNamesAreEscaped(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>'` + "`{{.}}`</title></svg>-->"
	p := NewPage(Limits{})
	s := p.Begin(evil)
	read(t, captured(t, 1, 50_000, lossy), s, nil)
	s.facts.Notes = []string{evil}
	page := written(t, p)
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts, want 1", n)
	}
	for _, word := range []string{"<img", "alert(1)</script", "-->"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q in it", word)
		}
	}
	if strings.Count(page, "</title>") != strings.Count(page, "<title>") {
		t.Error("titles are not closed as often as they are opened")
	}
}

// TestSameCaptureSamePage makes the page twice.
func TestSameCaptureSamePage(t *testing.T) {
	b := captured(t, 20, 50_000, "bernoulli:0.05")
	l := Limits{Memory: 4000, Conns: 5, Rows: 8}
	if first, second := pageOf(t, "a", b, l), pageOf(t, "a", b, l); first != second {
		t.Error("two pages of the same capture differ")
	}
}

// TestPageIsBounded has more of everything than a page shows: it says so, and stays small. No
// retransmission is lost.
func TestPageIsBounded(t *testing.T) {
	b := captured(t, 40, 400_000, "bernoulli:0.03")
	p := NewPage(Limits{Conns: 3, Zooms: 2, Rows: 10, Marks: 200, Memory: 8000})
	s := p.Begin("big.pcapng")
	most := 0
	counted := func() { most = max(most, s.marks) }
	r, err := capture.NewReader(bytes.NewReader(b), "test")
	if err != nil {
		t.Fatal(err)
	}
	tracker := track.New(track.Config{
		Event: func(ev *track.Event) { s.Event(ev); counted() },
		Done:  func(c *track.Conn) { s.Add(c, nil) },
	})
	for {
		pk, err := r.Next()
		if err != nil {
			break
		}
		tracker.Add(pk)
	}
	tracker.Close()
	s.End(Facts{})
	if most > 8000+8 {
		t.Errorf("%d marks at once, want at most 8000", most)
	}
	if len(s.drawn) != 3 || len(s.rows) != 10 || len(s.events) != 10 {
		t.Errorf("%d connections drawn, %d and %d rows, want 3, 10 and 10", len(s.drawn), len(s.rows), len(s.events))
	}
	for i := range s.drawn {
		d := &s.drawn[i]
		if n := len(d.trace.flows[0].marks); n > 200 {
			t.Errorf("%d marks, want at most 200", n)
		}
		again := int64(0)
		for _, m := range d.trace.flows[0].marks {
			if m.kind == resent {
				again += int64(m.merged) + 1
			}
		}
		if want := d.conn.Flows[0].Retransmissions; again != want {
			t.Errorf("connection %d: %d retransmissions are drawn, want %d", d.conn.ID, again, want)
		}
	}
	var out strings.Builder
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 600_000 {
		t.Errorf("%d bytes, want at most 600,000", out.Len())
	}
	for _, want := range []string{"The 10 longest of ", "The 10 of 40 connections that lost the most time.", "The 3 of 40 connections that lost the most time are drawn below", "marks are merged"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestNoLossIsSaid has a capture without any, and one without packets.
func TestNoLossIsSaid(t *testing.T) {
	if page := pageOf(t, "clean", captured(t, 1, 20_000, "none"), Limits{}); !strings.Contains(page, ">No loss.</p>") {
		t.Error("the page does not say that there is no loss")
	}
	p := NewPage(Limits{})
	p.Begin("empty").End(Facts{})
	var out strings.Builder
	if err := p.Write(&out); err != nil || !strings.Contains(out.String(), "No loss.") {
		t.Errorf("an empty capture: %v", err)
	}
}
