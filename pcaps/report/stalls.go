package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Bounds of the picture that opens a page.
const (
	stallRow     = 20 // its height, in SVG units
	maxStallRows = 24 // connections
	maxNameRunes = 40
)

// stalls draws the losses of the connections that lost the most time, from loss to repair, on the
// time line of the capture. ok is false if there are none.
func (s *Section) stalls() (p picture, ok bool) {
	byConn := map[int][]*track.Episode{}
	for i := range s.events {
		if e := &s.events[i]; e.TimeLost > 0 || lasted(e) > 0 {
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
		return p, false
	}
	slices.SortStableFunc(rows, func(a, b *connRow) int { return int(a.FirstPacket - b.FirstPacket) })
	last := max(s.facts.Last.Sub(s.facts.First), 0).Seconds()
	for i := range s.events {
		e := &s.events[i]
		last = max(last, (e.At - e.D + lasted(e)).Seconds())
	}
	lived := figure.Series{Name: "the connection", Kind: figure.Links, Colour: figure.Grey}
	byTimer := figure.Series{Name: "from loss to repair, retransmitted by a timer", Kind: figure.Spans, Colour: figure.Red}
	byACKs := figure.Series{Name: "by ACKs", Kind: figure.Spans, Colour: figure.Blue}
	other := figure.Series{Name: "for another or an unknown cause", Kind: figure.Spans, Colour: figure.Purple}
	names := make([]string, len(rows))
	var t table
	t.row("conn", "packet", "kind", "from_s", "to_s", "time_lost_s", "timer_wait_s")
	for i, r := range rows {
		row := len(rows) - 1 - i // the first is at the top
		names[row] = shortened(fmt.Sprintf("%d  %s", r.Conn, r.Flows[0].Dst), maxNameRunes)
		if first, err := time.Parse(time.RFC3339Nano, r.First); err == nil {
			at := max(wheel.Time(first.UnixNano()).Sub(s.facts.First).Seconds(), 0)
			lived.Add(at, float64(row))
			lived.Add(at+r.Duration, float64(row))
		}
		for _, e := range byConn[r.Conn] {
			from := max(e.At-e.D, 0).Seconds()
			to := from + lasted(e).Seconds()
			cause := &other
			switch e.Kind {
			case track.RTO, track.TLP, track.SYN, track.Probe:
				cause = &byTimer
			case track.Fast:
				cause = &byACKs
			}
			cause.Add(from, float64(row))
			cause.Lo, cause.Hi = append(cause.Lo, from), append(cause.Hi, to)
			cause.Titles = append(cause.Titles, fmt.Sprintf("connection %d, packet %d: %s from %.3f s to %.3f s, %s lost", e.Conn, e.DetectedPacket, e.Kind, from, to,
				track.SpanText(e.TimeLost)))
			t.row(strconv.Itoa(e.Conn), strconv.FormatInt(e.DetectedPacket, 10), e.Kind.String(), micro(from), micro(to), micro(e.TimeLost.Seconds()), micro(e.TimerWait.Seconds()))
		}
	}
	fig := figure.Figure{
		Name: "stalls", Title: "Losses on the time line of the connections", Wide: true, Height: float64(stallRow * len(rows)),
		X: timeAxis(sinceFile, 0, last), Y: figure.Axis{Label: "connection", Ticks: names}, Series: filled(lived, byTimer, byACKs, other),
	}
	if n := s.lossy - len(rows); n > 0 {
		fig.Caption = fmt.Sprintf("The %d connections that lost the most time, of %d with loss.", len(rows), s.lossy)
	}
	return picture{fig, t.text()}, true
}

// lossTimes draws the losses that count on the time line of their capture: how long each took as
// captured and under a policy. ok is false without one.
func (r *Replays) lossTimes() (p picture, ok bool) {
	choice := max(slices.IndexFunc(r.Choices, func(c replay.Choice) bool { return c.Text == "per-segment@1ms" }), 0)
	before := figure.Series{Name: "as captured", Kind: figure.Points, Colour: figure.Grey, Marker: 1}
	after := figure.Series{Name: "with " + r.Choices[choice].Text, Kind: figure.Points, Colour: figure.Green, Marker: 2}
	change := figure.Series{Kind: figure.Links, Colour: figure.Grey}
	last := 0.0
	var t table
	t.row("file", "conn", "packet", "at_s", "captured_s", "replayed_s")
	for _, p := range r.paired(choice) {
		captured, replayed := p.loss.TRec, p.replayed
		if captured <= 0 || replayed <= 0 || len(before.X) == maxPairs {
			continue
		}
		at := p.result.Captured.Seconds(p.loss.Again, r.First(p.result))
		last = max(last, at)
		before.Add(at, captured.Seconds())
		after.Add(at, replayed.Seconds())
		change.Add(at, captured.Seconds())
		change.Add(at, replayed.Seconds())
		before.Titles = append(before.Titles, fmt.Sprintf("packet %d at %.3f s: %s as captured, %s with %s", p.loss.DetectedPacket, at, track.SpanText(captured),
			track.SpanText(replayed), r.Choices[choice].Text))
		t.row(p.result.File, strconv.Itoa(p.result.ID), strconv.FormatInt(p.loss.DetectedPacket, 10), micro(at),
			nine(captured), nine(replayed))
	}
	if len(before.X) == 0 {
		return p, false
	}
	after.Titles = before.Titles
	fig := figure.Figure{
		Name: "losses-in-time", Title: "Losses on the time line of the capture", Wide: true, Series: []figure.Series{change, before, after},
		X: timeAxis(sinceFile, 0, last*1.02), Y: figure.Axis{Label: "T_rec", Log: true, Text: spanTick},
	}
	if slices.ContainsFunc(r.Results, func(x *replay.Result) bool { return x.File != r.Results[0].File }) {
		fig.Caption = "Times count from the first packet of each capture."
	}
	return picture{fig, t.text()}, true
}
