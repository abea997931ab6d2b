package report

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/replay"
)

// saving is a policy's saving in percent of the oracle's recovery times, by each key, with the
// interval by range if there is one.
type saving struct {
	policy   string
	shares   [replay.Keys]float64
	known    [replay.Keys]bool
	lo, hi   float64
	interval bool
}

func savingOf(s *replay.Summary) saving {
	w := saving{policy: s.Policy}
	for k := range s.Saved {
		if s.Of[k] > 0 {
			w.shares[k], w.known[k] = 100*float64(s.Saved[k])/float64(s.Of[k]), true
		}
	}
	if of := s.Of[replay.ByRange].Seconds(); s.HasInterval && of > 0 {
		w.lo, w.hi, w.interval = 100*s.Low.Seconds()/of, 100*s.High.Seconds()/of, true
	}
	return w
}

// words describes a saving.
func (w *saving) words() string {
	words := fmt.Sprintf("%s: by range %.1f %%", w.policy, w.shares[replay.ByRange])
	for _, k := range []replay.Key{replay.ByTime, replay.ByIndex} {
		if w.known[k] {
			words += fmt.Sprintf(", by %v %.1f %%", k, w.shares[k])
		}
	}
	if w.interval {
		words += fmt.Sprintf("; 99 %% between %.1f and %.1f %%", w.lo, w.hi)
	}
	return words
}

// addTo adds the saving to the data of the figure.
func (w *saving) addTo(t *table) {
	field := func(v float64, ok bool) string {
		if !ok {
			return ""
		}
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	t.row(csvText(w.policy), field(w.shares[0], w.known[0]), field(w.shares[1], w.known[1]), field(w.shares[2], w.known[2]),
		field(w.lo, w.interval), field(w.hi, w.interval))
}

// span returns the range of all savings, 0 included.
func span(all []saving) (least, most float64) {
	for _, w := range all {
		least, most = min(least, slices.Min(w.shares[:])), max(most, slices.Max(w.shares[:]))
		if w.interval {
			least, most = min(least, w.lo), max(most, w.hi)
		}
	}
	return least, most
}

// savings draws each policy's saving by the three keys, with its interval.
func (r *Replays) savings(summaries []replay.Summary) figure {
	var all []saving
	for i := range summaries {
		all = append(all, savingOf(&summaries[i]))
	}
	least, most := span(all)
	// A policy that is many times slower would leave no room for the others. The axis ends here, and
	// its row states the value.
	beyond := least < -100
	least = max(least, -100)
	if most-least < 1 {
		most = least + 1
	}
	const line, longest = 24, 34
	left := 60.0
	for _, w := range all {
		left = max(left, 16+7.2*float64(min(utf8.RuneCountInString(w.policy), longest)))
	}
	width := left + 320
	height := float64(marginTop + marginBottom + line*len(all))
	c := htmlpage.NewCanvas(width, height, "saving of each policy, share of the oracle’s recovery times")
	f := frame{
		x: htmlpage.NewScale(least-(most-least)/50, most+(most-least)/20, left, width-marginRight-8),
		y: htmlpage.NewScale(0, 1, height-marginBottom, marginTop),
	}
	axes(c, frame{f.x, htmlpage.Scale{From: f.y.From, To: f.y.To}}, 6, 0, func(v float64) string { return plainTick(v) + " %" },
		func(float64) string { return "" }, "saved of the oracle’s recovery times", "")
	var t table
	t.row("policy", "by_range_percent", "by_time_percent", "by_index_percent", "low_percent", "high_percent")
	for i := range all {
		w := &all[i]
		y := marginTop + line*float64(i) + line/2
		c.Text("", "e", left-10, y+4, shortened(w.policy, longest))
		w.addTo(&t)
		if !w.known[replay.ByRange] {
			c.Text("t", "", max(f.x.At(0), left)+8, y+4, "no verdict")
			continue
		}
		c.Titled(w.words(), func() { w.draw(c, f.x, y) })
	}
	c.Line("d", f.x.At(0), marginTop, f.x.At(0), height-marginBottom)
	return figure{
		SVG: c.End(), Title: "What each policy saves", Caption: r.savingsCaption(beyond), Data: t.b.String(), Name: "savings.csv", Fit: true,
	}
}

// draw draws a saving as a dot, its interval as a line, and signs for the other keys.
func (w *saving) draw(c *htmlpage.Canvas, x htmlpage.Scale, y float64) {
	byRange := w.shares[replay.ByRange]
	clip := func(v float64) float64 { return min(max(x.At(v), x.From), x.To) }
	if w.interval {
		x1, x2 := clip(w.lo), clip(w.hi)
		c.Line("d", x1, y, x2, y)
		c.Line("d", x1, y-5, x1, y+5)
		c.Line("d", x2, y-5, x2, y+5)
	}
	for _, sign := range []struct {
		key   replay.Key
		shape string
	}{{replay.ByTime, "l4 4-4 4-4-4z"}, {replay.ByIndex, "l4.5 8h-9z"}} {
		if share := w.shares[sign.key]; w.known[sign.key] && share >= x.Lo {
			fmt.Fprintf(c, `<path class="d key" d="M%s %s%s"/>`, htmlpage.Num(clip(share)), htmlpage.Num(y-4), sign.shape)
		}
	}
	class := "fill a"
	if byRange < 0 {
		class = "fill r"
	}
	fmt.Fprintf(c, `<path class="%s" d="M%s %sa5 5 0 1 0 10 0a5 5 0 1 0-10 0z"/>`, class, htmlpage.Num(clip(byRange)-5), htmlpage.Num(y))
	if byRange < x.Lo {
		c.Text("bt halo", "", x.From+10, y+4, fmt.Sprintf("◀ %.0f %%", byRange))
	}
}

// savingsCaption explains dots, lines and signs. beyond says that some are outside the figure.
func (r *Replays) savingsCaption(beyond bool) string {
	caption := "Dots: the n-th transmission of a range meets the fate that it met in the capture (by range). ◇ a packet meets the fate of the packets captured at that time (by time). △ the n-th packet meets the fate of the n-th captured packet (by index)."
	caption += " Lines: 99 % intervals by resampling connections, or losses if there are few connections."
	if beyond {
		caption += " The data has the values beyond the axis."
	}
	return caption
}

// shortened cuts text to n characters.
func shortened(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
