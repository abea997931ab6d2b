package report

import (
	"fmt"
	"strconv"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
)

// times names the n-th transmission.
func times(try int) string {
	switch {
	case try == 1:
		return "for the first time"
	case try == 2:
		return "again"
	case try%10 == 2 && try%100 != 12:
		return fmt.Sprintf("for the %dnd time", try)
	case try%10 == 3 && try%100 != 13:
		return fmt.Sprintf("for the %drd time", try)
	case try%10 == 1 && try%100 != 11:
		return fmt.Sprintf("for the %dst time", try)
	}
	return fmt.Sprintf("for the %dth time", try)
}

// wireTitle describes the transmission under the pointer.
func wireTitle(p *replay.WirePair) string {
	e := p.Want
	text := fmt.Sprintf("%d to %d, %s: ", e.Start, e.End, times(p.Try))
	off, ok := p.Off()
	switch {
	case !ok:
		return text + "not sent by the engine"
	case off == 0:
		return text + "by the engine at the same time"
	case off < 0:
		return text + "by the engine " + track.SpanText(-off) + " sooner"
	}
	return text + "by the engine " + track.SpanText(off) + " later"
}

// text returns the heading and the description of a magnified transmission.
func (d *wireDrawing) text(p *replay.WirePair) (title, caption string) {
	e := p.Want
	if e == nil {
		e = p.Got
	}
	what := fmt.Sprintf("%d to %d", e.Start, e.End)
	switch {
	case e.Flags.Has(tcp.SYN):
		what = "the SYN"
	case e.Flags.Has(tcp.FIN) && e.End == e.Start+1:
		what = "the FIN"
	case e.Flags.Has(tcp.FIN):
		what += " with the FIN"
	}
	at := fmt.Sprintf("%.3f s", e.At.Sub(d.first).Seconds())
	before, after, known := d.waits(p)
	off, ok := p.Off()
	title = fmt.Sprintf("%s %s, at %s", upper(what), times(p.Try), at)
	switch {
	case p.Want == nil:
		return title, "Only the engine sent it."
	case p.Got == nil && known[0]:
		return title, fmt.Sprintf("Captured %s after the previous transmission. The engine did not send it.", track.SpanText(before))
	case !ok:
		return title, "The engine did not send it."
	}
	how := "at the same time"
	if off != 0 {
		how = fmt.Sprintf("%s %s", track.SpanText(off.Abs()), map[bool]string{true: "later", false: "sooner"}[off > 0])
	}
	if known[0] && known[1] {
		return title, fmt.Sprintf("Captured %s after the previous transmission, by the engine after %s: %s.", track.SpanText(before), track.SpanText(after), how)
	}
	return title, "By the engine " + how + "."
}

// data returns pairs as CSV and a note if some are missing. It keeps the pairs that are off and an
// even sample of the others.
func (d *wireDrawing) data(pairs []*replay.WirePair) (data, note string) {
	var t table
	t.row("start", "end", "try", "captured_s", "engine_s", "later_s")
	off := 0
	for _, p := range pairs {
		if p.Try > 1 || !p.Right() {
			off++
		}
	}
	step := 1 + (len(pairs)-off)/max(maxWireRows-off, maxWireRows/4)
	rows := 0
	for i, p := range pairs {
		if p.Try == 1 && p.Right() && i%step != 0 || rows == 2*maxWireRows {
			continue
		}
		rows++
		e := p.Want
		if e == nil {
			e = p.Got
		}
		var at [2]string
		for k, e := range []*replay.Event{p.Want, p.Got} {
			if e != nil {
				at[k] = strconv.FormatFloat(e.At.Sub(d.first).Seconds(), 'f', 9, 64)
			}
		}
		later := ""
		if off, ok := p.Off(); ok {
			later = nine(off)
		}
		t.row(strconv.FormatUint(e.Start, 10), strconv.FormatUint(e.End, 10), strconv.Itoa(p.Try), at[0], at[1], later)
	}
	if rows < len(pairs) {
		note = fmt.Sprintf("The data has %d of %d transmissions, the farthest off included.", rows, len(pairs))
		if off > rows {
			note = fmt.Sprintf("The data has %d of %d transmissions.", rows, len(pairs))
		}
	}
	return t.text(), note
}
