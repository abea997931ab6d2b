package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Sizes of the pictures that open a page, in SVG units.
const (
	openingWidth = 860
	openingLeft  = 230 // room for names
	openingRow   = 20
	maxStallRows = 24 // connections
	maxNameRunes = 32
)

// openingFrame begins a picture with a row for each of n names, and an axis of the capture's time.
func openingFrame(title string, n int, from, to float64) (*htmlpage.Canvas, frame) {
	height := float64(marginTop + marginBottom + openingRow*n)
	c := htmlpage.NewCanvas(openingWidth, height, title)
	f := frame{x: htmlpage.NewScale(from, to, openingLeft, openingWidth-marginRight-12), y: htmlpage.Scale{From: height - marginBottom, To: marginTop}}
	axes(c, f, 8, 0, plainTick, func(float64) string { return "" }, "s since the first packet of the file", "")
	return c, f
}

// stalls draws the losses of the connections that lost the most time, from loss to repair, on the
// time line of the capture. ok is false if there are none.
func (s *Section) stalls() (fig figure, ok bool) {
	byConn := map[int][]*episodeRow{}
	for i := range s.events {
		if e := &s.events[i]; e.TimeLost > 0 || e.length > 0 {
			byConn[e.Conn] = append(byConn[e.Conn], e)
		}
	}
	var rows []*connRow
	for i := range s.rows { // the most time lost comes first
		if r := &s.rows[i]; len(byConn[r.Conn]) > 0 && len(rows) < maxStallRows {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return fig, false
	}
	slices.SortStableFunc(rows, func(a, b *connRow) int { return int(a.FirstPacket - b.FirstPacket) })
	const title = "Losses on the time line of the connections"
	last := max(s.facts.Last.Sub(s.facts.First), 0).Seconds()
	for _, e := range s.events {
		last = max(last, e.At-e.D+e.length.Seconds())
	}
	c, f := openingFrame(title, len(rows), 0, last)
	var t table
	t.row("conn", "packet", "kind", "from_s", "to_s", "time_lost_s", "timer_wait_s")
	for i, r := range rows {
		y := marginTop + openingRow*float64(i) + openingRow/2
		c.Text("", "e", openingLeft-8, y+4, shortened(fmt.Sprintf("%d  %s", r.Conn, r.Flows[0].Dst), maxNameRunes))
		if first, err := time.Parse(time.RFC3339Nano, r.First); err == nil {
			at := wheel.Time(first.UnixNano()).Sub(s.facts.First).Seconds()
			c.Line("x", f.x.At(max(at, 0)), y, f.x.At(max(at, 0)+r.Duration), y)
		}
		for _, e := range byConn[r.Conn] {
			from := max(e.At-e.D, 0)
			to := from + max(e.length.Seconds(), e.D)
			class := "bar c0"
			switch e.Kind {
			case track.RTO.String(), track.TLP.String(), track.SYN.String(), track.Probe.String():
				class = "bar c2"
			case track.Fast.String():
				class = "bar c3"
			}
			x := f.x.At(from)
			c.Titled(fmt.Sprintf("connection %d, packet %d: %s from %.3f s to %.3f s, %s lost", e.Conn, e.RetransmissionPacket, e.Kind, from, to,
				track.SpanText(time.Duration(e.TimeLost*1e9))), func() { c.Rect(class, x, y-6, max(f.x.At(to)-x, 2), 12) })
			number := func(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }
			t.row(strconv.Itoa(e.Conn), strconv.FormatInt(e.RetransmissionPacket, 10), e.Kind, number(from), number(to), number(e.TimeLost), number(e.TimerWait))
		}
	}
	fig = figure{
		SVG: c.End(), Wide: true, Title: title, Name: "stalls.csv", Data: t.b.String(),
		Legend: []legendItem{{"x", "the connection"}, {"c2", "from loss to repair, retransmitted by a timer"}, {"c3", "by ACKs"}, {"c0", "for another or an unknown cause"}},
	}
	if n := s.lossy - len(rows); n > 0 {
		fig.Caption = fmt.Sprintf("The %d connections that lost the most time, of %d with loss.", len(rows), s.lossy)
	}
	return fig, true
}

// lossTimes draws the losses that count on the time line of their capture: how long each took as
// captured and under a policy. ok is false without one.
func (r *Replays) lossTimes() (fig figure, ok bool) {
	choice := max(slices.IndexFunc(r.Choices, func(c replay.Choice) bool { return c.Text == "per-segment@1ms" }), 0)
	type point struct {
		at               float64
		before, replayed time.Duration
		pair             pair
	}
	var all []point
	lo, hi, first, last := time.Hour, time.Duration(0), 0.0, 0.0
	for _, p := range r.paired(choice) {
		x := point{p.result.Script.Seconds(p.loss.At, r.First(p.result)), p.loss.TRec, p.replayed, p}
		if x.before <= 0 || x.replayed <= 0 || len(all) == maxPairs {
			continue
		}
		lo, hi, last = min(lo, x.before, x.replayed), max(hi, x.before, x.replayed), max(last, x.at)
		all = append(all, x)
	}
	if len(all) == 0 {
		return fig, false
	}
	const title, height = "Losses on the time line of the capture", 260
	c := htmlpage.NewCanvas(openingWidth, height, title)
	f := frame{
		x: htmlpage.NewScale(first, last*1.02, marginLeft+8, openingWidth-marginRight-12),
		y: htmlpage.NewLogScale(lo.Seconds(), hi.Seconds(), height-marginBottom, marginTop),
	}
	axes(c, f, 8, 4, plainTick, spanTick, "s since the first packet of the file", "T_rec")
	var t table
	t.row("file", "conn", "packet", "at_s", "captured_s", "replayed_s")
	for _, x := range all {
		at, before, after := f.x.At(x.at), f.y.At(x.before.Seconds()), f.y.At(x.replayed.Seconds())
		c.Titled(fmt.Sprintf("packet %d at %.3f s: %s as captured, %s with %s", x.pair.loss.Packet, x.at, track.SpanText(x.before),
			track.SpanText(x.replayed), r.Choices[choice].Text), func() {
			c.Line("x", at, before, at, after)
			c.Rect("bar d", at-3, before-3, 6, 6)
			fmt.Fprintf(c, `<path class="fill a" d="M%s %sl4 4-4 4-4-4z"/>`, htmlpage.Num(at), htmlpage.Num(after-4))
		})
		t.row(csvText(x.pair.result.File), strconv.Itoa(x.pair.result.ID), strconv.FormatInt(x.pair.loss.Packet, 10), strconv.FormatFloat(x.at, 'f', 6, 64),
			strconv.FormatFloat(x.before.Seconds(), 'g', 9, 64), strconv.FormatFloat(x.replayed.Seconds(), 'g', 9, 64))
	}
	fig = figure{
		SVG: c.End(), Title: title, Name: "losses-in-time.csv", Data: t.b.String(),
		Legend: []legendItem{{"d", "■ as captured"}, {"a", "◆ with " + r.Choices[choice].Text}},
	}
	if slices.ContainsFunc(r.Results, func(x *replay.Result) bool { return x.File != r.Results[0].File }) {
		fig.Caption = "Times count from the first packet of each capture."
	}
	return fig, true
}
