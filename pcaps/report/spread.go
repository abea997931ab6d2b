package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// curve is one distribution of a figure.
type curve struct {
	name  string
	class string // c0 to c7
	all   []time.Duration
	n     int // number of spans
}

// distribution draws cumulative distributions of spans on a logarithmic axis.
func distribution(title, axis, name string, curves []curve) (figure, bool) {
	lo, hi := time.Duration(0), time.Duration(0)
	for _, k := range curves {
		for _, d := range k.all {
			if d > 0 && (lo == 0 || d < lo) {
				lo = d
			}
			hi = max(hi, d)
		}
	}
	if lo == 0 {
		return figure{}, false
	}
	const height = 300
	c := htmlpage.NewCanvas(fitWidth, height, title)
	f := frame{
		x: htmlpage.NewLogScale(lo.Seconds(), hi.Seconds(), marginLeft-8, fitWidth-marginRight-12),
		y: htmlpage.NewScale(0, 100, height-marginBottom, marginTop),
	}
	axes(c, f, 8, 5, spanTick, func(v float64) string { return plainTick(v) + " %" }, axis, "share, cumulative")
	var t table
	t.row("curve", "span_s", "share")
	fig := figure{Title: title, Name: name, Fit: true}
	for _, k := range curves {
		if len(k.all) == 0 {
			continue
		}
		var d strings.Builder
		lastX := -1.0
		y := f.y.At(0)
		for i, span := range k.all {
			share := float64(i+1) / float64(len(k.all))
			t.row(k.name, strconv.FormatFloat(span.Seconds(), 'g', 9, 64), strconv.FormatFloat(share, 'f', 4, 64))
			x := f.x.At(max(span, lo).Seconds())
			if d.Len() == 0 {
				d.WriteString("M" + htmlpage.Num(x) + " " + htmlpage.Num(y))
			}
			// Merge steps within a pixel.
			if i+1 < len(k.all) && x-lastX < 0.5 && lastX >= 0 {
				continue
			}
			y = f.y.At(100 * share)
			d.WriteString("H" + htmlpage.Num(x) + "V" + htmlpage.Num(y))
			lastX = x
		}
		d.WriteString("H" + htmlpage.Num(f.x.To))
		median := k.all[len(k.all)/2]
		c.Titled(fmt.Sprintf("%s: %d, median %s", k.name, k.n, track.SpanText(median)), func() { c.Path("c "+k.class, &d) })
		fig.Legend = append(fig.Legend, legendItem{k.class, fmt.Sprintf("%s (%d)", k.name, k.n)})
	}
	fig.SVG, fig.Data = c.End(), t.b.String()
	return fig, true
}

// recoveries draws the distributions of recovery times by kind.
func (s *Section) recoveries() (figure, bool) {
	var curves []curve
	for kind := range s.kinds {
		if k := &s.kinds[kind]; k.tRec.Len() > 0 {
			curves = append(curves, curve{track.Kind(kind).String(), "c" + strconv.Itoa(kind%8), k.tRec.inOrder(), k.tRec.Len()})
		}
	}
	return distribution("Recovery times by kind", "T_rec, from first transmission to ACK", "recovery-times.csv", curves)
}

// roundTrips draws the RTT samples of a connection over time.
func (d *drawing) roundTrips(origin wheel.Time) (figure, bool) {
	var first, last wheel.Time
	n, hi := 0, time.Duration(0)
	for i := range d.trace.flows {
		for _, r := range d.trace.flows[i].rtts {
			if n == 0 || r.at < first {
				first = r.at
			}
			last, hi = max(last, r.at), max(hi, r.took)
			n++
		}
	}
	if n < 2 {
		return figure{}, false
	}
	const height = 250
	c := htmlpage.NewCanvas(figureWidth, height, "round-trip times of the connection")
	f := frame{
		x: htmlpage.NewScale(first.Sub(origin).Seconds(), last.Sub(origin).Seconds(), marginLeft, figureWidth-marginRight),
		y: htmlpage.NewScale(0, hi.Seconds()*1.05, height-marginBottom, marginTop),
	}
	line := newTimeline(first, last, d.gaps, origin, f.x.From, f.x.To)
	ticks := line.ticks(8)
	grid(c, f, f.y.From, ticks, ticks, 5, spanTick, "seconds since the capture began", "RTT, unambiguous samples")
	line.drawGaps(c, f.y.To, f.y.From)
	var t table
	t.row("time_s", "src", "rtt_s")
	fig := figure{Title: "Round-trip times", Name: fmt.Sprintf("conn%d-rtt.csv", d.conn.ID)}
	for i := range d.trace.flows {
		tr := &d.trace.flows[i]
		if len(tr.rtts) == 0 {
			continue
		}
		src := d.conn.Flows[i].Src.String()
		var dots strings.Builder
		lastX, lastY := -9.0, -9.0
		for _, r := range tr.rtts {
			t.row(micro(r.at.Sub(origin).Seconds()), src, strconv.FormatFloat(r.took.Seconds(), 'g', 9, 64))
			x, y := line.at(r.at.Sub(origin).Seconds()), f.y.At(r.took.Seconds())
			if x-lastX < 0.7 && y-lastY < 0.7 && lastY-y < 0.7 {
				continue
			}
			dots.WriteString("M" + htmlpage.Num(x) + " " + htmlpage.Num(y) + "h0")
			lastX, lastY = x, y
		}
		class := "c" + strconv.Itoa(3*i+1)
		c.Path("dot "+class, &dots)
		fig.Legend = append(fig.Legend, legendItem{class, fmt.Sprintf("from %s (%d samples)", src, d.conn.Flows[i].RTT.Samples)})
		if tr.rttStep > 1 {
			fig.Caption = fmt.Sprintf("At most every %dth sample of a direction.", max(tr.rttStep, 1))
		}
	}
	fig.SVG, fig.Data = c.End(), t.b.String()
	return fig, true
}
