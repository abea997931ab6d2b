package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// figure is a diagram with its caption, legend and data.
type figure struct {
	SVG     htmlpage.Markup
	Title   string
	Caption string
	Legend  []legendItem
	Data    string // as CSV
	Name    string // file name for the data
	Fit     bool   // narrow enough for a phone
	Wide    bool   // it opens the page
}

// legendItem is a colour, by its CSS class, and its meaning.
type legendItem struct{ Class, Text string }

// legendOf lists classes and their words in the order of a legend.
var legendOf = []legendItem{
	{"d", "data"}, {"r", "R retransmitted"}, {"o", "O reordered"}, {"x", "not captured"}, {"a", "acknowledged"},
	{"w", "end of the window"}, {"s", "S selectively acknowledged"}, {"ds", "D duplicate reported"}, {"z", "Z window closed"},
	{"p", "◆ PSH"}, {"k", "K keepalive, P window probe"}, {"f", "SYN, FIN, RST"},
}

// Sizes of figures, in SVG units.
const (
	figureWidth  = 760
	fitWidth     = 470 // of a figure that fits a phone
	marginLeft   = 58
	marginRight  = 14
	marginTop    = 26
	marginBottom = 40
)

// maxTitles is the most retransmissions of a figure that have a title under the pointer.
const maxTitles = 300

// plotter draws marks.
type plotter struct {
	c      *htmlpage.Canvas
	f      frame
	origin wheel.Time
	detail bool // arrows, PSH, duplicate ACKs
	used   map[string]bool
	taken  [][2]float64     // places of labels
	said   map[int64]string // headers of packets
	line   timeline         // the time axis if gaps are cut from it, else nil
}

func (p *plotter) x(t wheel.Time) float64 {
	if p.line != nil {
		return p.line.at(t.Sub(p.origin).Seconds())
	}
	return p.f.x.At(t.Sub(p.origin).Seconds())
}

func (p *plotter) y(place int64) float64 { return p.f.y.At(float64(place)) }

// label writes a letter unless its place is taken.
func (p *plotter) label(class string, x, y float64, text string) {
	p.used[class] = true
	for i := len(p.taken) - 1; i >= 0 && i >= len(p.taken)-64; i-- {
		if q := p.taken[i]; math.Abs(q[0]-x) < 5+3*float64(len(text)) && math.Abs(q[1]-y) < 9 {
			return
		}
	}
	p.taken = append(p.taken, [2]float64{x, y})
	anchor, half := "m", 3.5*float64(len(text))
	switch {
	case x-half < p.f.x.From-4:
		anchor = ""
		x += 3
	case x+half > p.f.x.To+4:
		anchor = "e"
	}
	p.c.Text("l "+class, anchor, x, y, text)
}

// column merges vertical lines into one for each pixel.
type column struct {
	d           strings.Builder
	x, from, to float64
	any         bool
}

func (k *column) add(x, y1, y2 float64) {
	lo, hi := min(y1, y2), max(y1, y2)
	if hi-lo < 1 {
		mid := (lo + hi) / 2
		lo, hi = mid-0.5, mid+0.5
	}
	x = math.Round(2*x) / 2
	if k.any && k.x == x && lo <= k.to+1 && hi >= k.from-1 {
		k.from, k.to = min(k.from, lo), max(k.to, hi)
		return
	}
	k.flush()
	k.any, k.x, k.from, k.to = true, x, lo, hi
}

func (k *column) flush() {
	if k.any {
		k.d.WriteString("M" + htmlpage.Num(k.x) + " " + htmlpage.Num(k.from) + "V" + htmlpage.Num(k.to))
	}
	k.any = false
}

// draw draws the marks.
func (p *plotter) draw(marks []mark, timers string) {
	p.acks(marks)
	p.plain(marks)
	titles := 0
	for i := range marks {
		m := &marks[i]
		if m.kind != resent {
			continue
		}
		p.used["r"] = true
		x, y1, y2 := p.x(m.at), p.y(m.start), p.y(m.end)
		if titles++; titles > maxTitles {
			p.c.Line("r", x, y1, x, min(y2, y1-1.5))
			continue
		}
		title := resentTitle(m, timers)
		if said := p.said[m.packet]; said != "" && m.merged == 0 {
			title += "\n" + said
		}
		p.c.Titled(title, func() {
			p.c.Line("r", x, y1, x, min(y2, y1-1.5))
			p.label("r", x, min(y1, y2)-3, "R")
		})
	}
}

// plain draws all marks except ACKs and retransmissions.
func (p *plotter) plain(marks []mark) {
	var data, lost, overtaken, blocks, dups column
	var arrows strings.Builder
	for i := range marks {
		m := &marks[i]
		x, y1, y2 := p.x(m.at), p.y(m.start), p.y(m.end)
		switch m.kind {
		case sent:
			p.used["d"] = true
			if x2 := p.x(m.until); x2-x >= 1 {
				data.flush()
				data.d.WriteString("M" + htmlpage.Num(x) + " " + htmlpage.Num(y1) + "L" + htmlpage.Num(x2) + " " + htmlpage.Num(y2))
			} else {
				data.add(x, y1, y2)
			}
			if p.detail && y1-y2 >= 7 {
				fmt.Fprintf(&arrows, "M%s %sl-2.5 3M%s %sl2.5 3M%s %sl-2.5-3M%s %sl2.5-3", htmlpage.Num(x), htmlpage.Num(y2), htmlpage.Num(x), htmlpage.Num(y2), htmlpage.Num(x), htmlpage.Num(y1), htmlpage.Num(x), htmlpage.Num(y1))
			}
			if p.detail && m.flags.Has(tcp.PSH) && m.merged == 0 {
				p.used["p"] = true
				fmt.Fprintf(p.c, `<path class="p" d="M%s %sl3-3 3 3-3 3z"/>`, htmlpage.Num(x-3), htmlpage.Num(y2))
			}
			p.flags(m, x, y2)
		case late:
			p.used["o"] = true
			overtaken.add(x, y1, y2)
			p.label("o", x, min(y1, y2)-3, "O")
		case missing:
			p.used["x"] = true
			lost.add(x, y1, y2)
		case sacked:
			p.used["s"] = true
			blocks.add(x, y1, y2)
			if p.detail {
				p.label("s", x, min(y1, y2)-3, "S")
			}
		case dsacked:
			dups.add(x, y1, y2)
			p.label("ds", x, min(y1, y2)-3, "D")
		case keepalive:
			p.label("k", x, y1-3, "K")
		case probe:
			p.label("k", x, y1-3, "P")
		case reset:
			p.label("f", x, y1-3, "RST")
		}
	}
	for _, k := range []struct {
		class string
		k     *column
	}{{"x", &lost}, {"d", &data}, {"o", &overtaken}, {"s", &blocks}, {"ds", &dups}} {
		k.k.flush()
		p.c.Path(k.class, &k.k.d)
	}
	p.c.Path("d", &arrows)
}

// flags names a SYN and a FIN.
func (p *plotter) flags(m *mark, x, y float64) {
	if m.flags.Has(tcp.SYN) {
		p.label("f", x, y-4, "SYN")
	}
	if m.flags.Has(tcp.FIN) {
		p.label("f", x, y-4, "FIN")
	}
}

// acks draws the lines of the cumulative ACK and of the window's end.
func (p *plotter) acks(marks []mark) {
	var line, window, ticks strings.Builder
	var lastX, lastY, winX, winY float64
	drawn, open, closed := false, false, wheel.Time(-1)
	var place int64
	for i := range marks {
		m := &marks[i]
		if m.kind != acked {
			continue
		}
		p.used["a"] = true
		x, y := p.x(m.at), p.y(m.start)
		if !drawn {
			line.WriteString("M" + htmlpage.Num(x) + " " + htmlpage.Num(y))
			drawn, place, lastX, lastY = true, m.start, x, y
		}
		x = max(x, lastX)
		switch {
		case m.start < place: // an old one
		case m.start == place && p.detail && m.merged == 0:
			ticks.WriteString("M" + htmlpage.Num(x) + " " + htmlpage.Num(y) + "v4")
		case math.Abs(y-lastY) >= 0.5 || x-lastX >= 40:
			line.WriteString("H" + htmlpage.Num(x) + "V" + htmlpage.Num(y))
			lastX, lastY = x, y
		}
		place = max(place, m.start)
		if m.end < 0 {
			open = false
			continue
		}
		p.used["w"] = true
		y = p.y(m.end)
		switch {
		case !open:
			window.WriteString("M" + htmlpage.Num(x) + " " + htmlpage.Num(y))
			open, winX, winY = true, x, y
		case math.Abs(y-winY) >= 0.5 || x-winX >= 40:
			window.WriteString("H" + htmlpage.Num(max(x, winX)) + "V" + htmlpage.Num(y))
			winX, winY = x, y
		}
		switch {
		case m.end == m.start && closed < 0:
			closed = m.at
			p.label("z", x, y+11, "Z")
		case m.end > m.start && closed >= 0:
			from := p.x(closed)
			p.c.Rect("zb", from, p.f.y.To, x-from, p.f.y.From-p.f.y.To)
			closed = -1
		}
	}
	if drawn {
		line.WriteString("H" + htmlpage.Num(max(lastX, p.f.x.To)))
	}
	if open {
		window.WriteString("H" + htmlpage.Num(max(winX, p.f.x.To)))
	}
	p.c.Path("w", &window)
	p.c.Path("a", &line)
	p.c.Path("a", &ticks)
}

// legend returns the items for the marks in the figure.
func (p *plotter) legend() (items []legendItem) {
	for _, item := range legendOf {
		if p.used[item.Class] {
			items = append(items, item)
		}
	}
	return items
}

// resentTitle describes a retransmission.
func resentTitle(m *mark, timers string) string {
	if m.merged > 0 {
		return fmt.Sprintf("%d retransmissions", m.merged+1)
	}
	r := m.rexmit
	text := fmt.Sprintf("packet %d: %s", r.Packet, causeText(r, timers))
	if r.FirstPacket > 0 {
		text += fmt.Sprintf(", of packet %d", r.FirstPacket)
	}
	return text + fmt.Sprintf(", %s after the previous transmission; %s", track.SpanText(r.Sent.Sub(r.PrevSent)), verdictText(r.Spurious, r.Evidence))
}

// causeText says what caused a retransmission, and in brackets the stack whose timers fit.
func causeText(r *track.Retransmission, timers string) string {
	of := ""
	if timers != "" {
		of = " (" + timers + ")"
	}
	switch {
	case r.Kind == track.SYN:
		return "the handshake's timer"
	case r.Kind == track.RTO && r.GoBack:
		return "behind a timeout"
	case r.Kind == track.RTO:
		return "the retransmission timer" + of
	case r.Kind == track.TLP:
		return "the tail loss probe's timer" + of
	case r.Kind == track.Fast:
		return "ACKs, no timer"
	case r.Kind == track.Probe:
		return "the timer of a closed window"
	}
	return "unknown cause"
}

// verdictText says whether a retransmission was necessary, and by which evidence.
func verdictText(v track.Verdict, e track.Evidence) string {
	by := ""
	if e != track.NoEvidence {
		by = " (" + e.String() + ")"
	}
	switch v {
	case track.Spurious:
		return "spurious" + by
	case track.Necessary:
		return "needed" + by
	}
	return "spurious or not: unknown"
}

// within returns the marks that touch a stretch of time, in order, and the last ACK before it,
// where lines begin.
func within(marks []mark, s stretch) []mark {
	var in []mark
	var before *mark
	for i := range marks {
		m := &marks[i]
		switch {
		case m.at > s.to || m.until < s.from:
			if m.kind == acked && m.at < s.from && (before == nil || m.at >= before.at) {
				before = m
			}
		default:
			in = append(in, *m)
		}
	}
	slices.SortStableFunc(in, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	if before != nil {
		first := *before
		first.at = max(first.at, s.from)
		in = slices.Insert(in, 0, first)
	}
	return in
}

// dataOf returns marks as CSV.
func dataOf(marks []mark, origin wheel.Time) string {
	var t table
	t.row("time_s", "what", "packet", "start", "end", "kind", "spurious", "merged")
	for i := range marks {
		m := &marks[i]
		kind, spurious, end := "", "", strconv.FormatInt(m.end, 10)
		if m.rexmit != nil {
			kind, spurious = m.rexmit.Kind.String(), m.rexmit.Spurious.String()
		}
		if m.kind == acked && m.end < 0 {
			end = ""
		}
		t.row(micro(m.at.Sub(origin).Seconds()), markNames[m.kind], strconv.FormatInt(m.packet, 10), strconv.FormatInt(m.start, 10), end,
			kind, spurious, strconv.Itoa(int(m.merged)))
	}
	return t.b.String()
}

// overview draws a flow from its first mark to its last.
func (d *drawing) overview(i int, origin wheel.Time) (figure, bool) {
	f, t := &d.conn.Flows[i], &d.trace.flows[i]
	marks := within(t.marks, stretch{math.MinInt64, math.MaxInt64})
	data := 0
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	var window int64
	for k := range marks {
		m := &marks[k]
		switch m.kind {
		case sent, resent, late, missing:
			data++
			lo, hi = min(lo, m.start), max(hi, m.end)
		case acked:
			window = max(window, m.end)
		}
	}
	if data == 0 {
		return figure{}, false
	}
	// Leave out a window that is far away, to save space.
	if window > hi {
		hi = min(window, hi+(hi-lo)/3)
	}
	first, last := marks[0].at, marks[len(marks)-1].until
	label := fmt.Sprintf("time-sequence diagram of %v to %v", f.Src, f.Dst)
	c := htmlpage.NewCanvas(figureWidth, 380, label)
	p := plotter{c: c, origin: origin, said: d.said, used: map[string]bool{}, detail: len(marks) <= 160, f: frame{
		x: htmlpage.NewScale(first.Sub(origin).Seconds(), last.Sub(origin).Seconds(), marginLeft, figureWidth-marginRight),
		y: htmlpage.NewScale(float64(lo), float64(hi)+float64(hi-lo)/20, 380-marginBottom, marginTop),
	}}
	p.line = newTimeline(first, last, d.gaps, origin, p.f.x.From, p.f.x.To)
	ticks := p.line.ticks(8)
	grid(c, p.f, p.f.y.From, ticks, ticks, 6, bytesTick, "seconds since the capture began", "sequence, bytes")
	p.line.drawGaps(c, p.f.y.To, p.f.y.From)
	p.inside(func() { p.draw(marks, f.Timers().Best) })
	caption := ""
	if t.merged > 0 {
		caption = fmt.Sprintf("%d marks are merged with neighbours; retransmissions are not.", t.merged)
	}
	return figure{
		SVG: c.End(), Title: fmt.Sprintf("%v → %v", f.Src, f.Dst), Caption: caption, Legend: p.legend(), Data: dataOf(marks, origin),
		Name: fmt.Sprintf("conn%d-flow%d.csv", d.conn.ID, i),
	}, true
}

// inside draws with clipping at the frame.
func (p *plotter) inside(content func()) {
	x, y := p.f.x.From-6, p.f.y.To-14
	w, h := p.f.x.To-p.f.x.From+12, p.f.y.From-p.f.y.To+20
	box := htmlpage.Num(x) + ` ` + htmlpage.Num(y) + ` ` + htmlpage.Num(w) + ` ` + htmlpage.Num(h)
	p.c.Raw(`<svg x="` + htmlpage.Num(x) + `" y="` + htmlpage.Num(y) + `" width="` + htmlpage.Num(w) + `" height="` + htmlpage.Num(h) + `" viewBox="` + box + `">`)
	content()
	p.c.Raw(`</svg>`)
}
