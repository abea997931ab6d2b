package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// legendItem is a colour, by its CSS class, and its meaning.
type legendItem struct{ class, text string }

// legendOf lists classes and their words in the order of a legend.
var legendOf = []legendItem{
	{"data", "data"}, {"again", "R retransmitted"}, {"late", "O reordered"}, {"lost", "not captured"}, {"acked", "acknowledged"},
	{"window", "end of the window"}, {"sack", "S selectively acknowledged"}, {"dup", "D duplicate reported"}, {"zero", "Z window closed"},
	{"push", "◆ PSH"}, {"probe", "K keepalive, P window probe"}, {"flag", "SYN, FIN, RST"},
}

// maxTitles is the most retransmissions of a figure that have a title under the pointer.
const maxTitles = 300

// plotter draws marks in a frame.
type plotter struct {
	*figure.Plot
	origin wheel.Time
	detail bool // arrows, PSH, duplicate ACKs
	used   map[string]bool
	taken  [][2]float64     // places of labels
	said   map[int64]string // headers of packets
}

func (p *plotter) x(t wheel.Time) float64 { return p.X.At(t.Sub(p.origin).Seconds()) }
func (p *plotter) y(place int64) float64  { return p.Y.At(float64(place)) }

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
	case x-half < p.X.From-4:
		anchor = ""
		x += 3
	case x+half > p.X.To+4:
		anchor = "e"
	}
	p.Text("l "+class, anchor, x, y, text)
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
		k.d.WriteString("M" + figure.Num(k.x) + " " + figure.Num(k.from) + "V" + figure.Num(k.to))
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
		p.used["again"] = true
		x, y1, y2 := p.x(m.at), p.y(m.start), p.y(m.end)
		if titles++; titles > maxTitles {
			p.Line("again", x, y1, x, min(y2, y1-1.5))
			continue
		}
		title := resentTitle(m, timers)
		if said := p.said[m.packet]; said != "" && m.merged == 0 {
			title += "\n" + said
		}
		p.Titled(title, func() {
			p.Line("again", x, y1, x, min(y2, y1-1.5))
			p.label("again", x, min(y1, y2)-3, "R")
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
			p.used["data"] = true
			if x2 := p.x(m.until); x2-x >= 1 {
				data.flush()
				data.d.WriteString("M" + figure.Num(x) + " " + figure.Num(y1) + "L" + figure.Num(x2) + " " + figure.Num(y2))
			} else {
				data.add(x, y1, y2)
			}
			if p.detail && y1-y2 >= 7 {
				fmt.Fprintf(&arrows, "M%s %sl-2.5 3M%s %sl2.5 3M%s %sl-2.5-3M%s %sl2.5-3", figure.Num(x), figure.Num(y2), figure.Num(x), figure.Num(y2), figure.Num(x), figure.Num(y1), figure.Num(x), figure.Num(y1))
			}
			if p.detail && m.flags.Has(tcp.PSH) && m.merged == 0 {
				p.used["push"] = true
				fmt.Fprintf(p, `<path class="push" d="M%s %sl3-3 3 3-3 3z"/>`, figure.Num(x-3), figure.Num(y2))
			}
			p.flags(m, x, y2)
		case late:
			p.used["late"] = true
			overtaken.add(x, y1, y2)
			p.label("late", x, min(y1, y2)-3, "O")
		case missing:
			p.used["lost"] = true
			lost.add(x, y1, y2)
		case sacked:
			p.used["sack"] = true
			blocks.add(x, y1, y2)
			if p.detail {
				p.label("sack", x, min(y1, y2)-3, "S")
			}
		case dsacked:
			dups.add(x, y1, y2)
			p.label("dup", x, min(y1, y2)-3, "D")
		case keepalive:
			p.label("probe", x, y1-3, "K")
		case probe:
			p.label("probe", x, y1-3, "P")
		case reset:
			p.label("flag", x, y1-3, "RST")
		}
	}
	for _, k := range []struct {
		class string
		k     *column
	}{{"lost", &lost}, {"data", &data}, {"late", &overtaken}, {"sack", &blocks}, {"dup", &dups}} {
		k.k.flush()
		p.Path(k.class, &k.k.d)
	}
	p.Path("data", &arrows)
}

// flags names a SYN and a FIN.
func (p *plotter) flags(m *mark, x, y float64) {
	if m.flags.Has(tcp.SYN) {
		p.label("flag", x, y-4, "SYN")
	}
	if m.flags.Has(tcp.FIN) {
		p.label("flag", x, y-4, "FIN")
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
		p.used["acked"] = true
		x, y := p.x(m.at), p.y(m.start)
		if !drawn {
			line.WriteString("M" + figure.Num(x) + " " + figure.Num(y))
			drawn, place, lastX, lastY = true, m.start, x, y
		}
		x = max(x, lastX)
		switch {
		case m.start < place: // an old one
		case m.start == place && p.detail && m.merged == 0:
			ticks.WriteString("M" + figure.Num(x) + " " + figure.Num(y) + "v4")
		case math.Abs(y-lastY) >= 0.5 || x-lastX >= 40:
			line.WriteString("H" + figure.Num(x) + "V" + figure.Num(y))
			lastX, lastY = x, y
		}
		place = max(place, m.start)
		if m.end < 0 {
			open = false
			continue
		}
		p.used["window"] = true
		y = p.y(m.end)
		switch {
		case !open:
			window.WriteString("M" + figure.Num(x) + " " + figure.Num(y))
			open, winX, winY = true, x, y
		case math.Abs(y-winY) >= 0.5 || x-winX >= 40:
			window.WriteString("H" + figure.Num(max(x, winX)) + "V" + figure.Num(y))
			winX, winY = x, y
		}
		switch {
		case m.end == m.start && closed < 0:
			closed = m.at
			p.label("zero", x, y+11, "Z")
		case m.end > m.start && closed >= 0:
			from := p.x(closed)
			p.Rect("closed", from, p.Y.To, x-from, p.Y.From-p.Y.To)
			closed = -1
		}
	}
	if drawn {
		line.WriteString("H" + figure.Num(max(lastX, p.X.To)))
	}
	if open {
		window.WriteString("H" + figure.Num(max(winX, p.X.To)))
	}
	p.Path("window", &window)
	p.Path("acked", &line)
	p.Path("acked", &ticks)
}

// legend returns the entries of a legend for the marks in the figure.
func (p *plotter) legend(of []legendItem) (items []figure.Item) {
	for _, item := range of {
		if p.used[item.class] {
			items = append(items, p.Item(item.class, item.text))
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
func verdictText(v track.Spuriousness, e track.Evidence) string {
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
	return t.text()
}

// overview draws a flow from its first mark to its last.
func (d *drawing) overview(i int, origin wheel.Time) (picture, bool) {
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
		return picture{}, false
	}
	// Leave out a window that is far away, to save space.
	if window > hi {
		hi = min(window, hi+(hi-lo)/3)
	}
	first, last := marks[0].at, marks[len(marks)-1].until
	fig := figure.Figure{
		Name: fmt.Sprintf("conn%d-flow%d", d.conn.ID, i), Title: fmt.Sprintf("%v → %v", f.Src, f.Dst), Wide: true, Height: 314,
		X: d.timeAxis(first, last, origin), Y: figure.Over(sequenceAxis, float64(lo), float64(hi)+float64(hi-lo)/20),
		Draw: func(frame *figure.Plot) []figure.Item {
			p := plotter{Plot: frame, origin: origin, said: d.said, used: map[string]bool{}, detail: len(marks) <= 160}
			p.Inside(func() { p.draw(marks, f.Timers().Best) })
			return p.legend(legendOf)
		},
	}
	if t.merged > 0 {
		fig.Caption = fmt.Sprintf("%d marks are merged with neighbours; retransmissions are not.", t.merged)
	}
	return picture{fig, dataOf(marks, origin)}, true
}

const sequenceAxis = "sequence, bytes"
