package report

import (
	"fmt"
	"slices"
	"strconv"

	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/replay"
)

// saving is a policy's saving in percent of the control's recovery times, by each key, with the
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
		words += fmt.Sprintf("; 98 %% between %.1f and %.1f %%", w.lo, w.hi)
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
	t.row(w.policy, field(w.shares[0], w.known[0]), field(w.shares[1], w.known[1]), field(w.shares[2], w.known[2]),
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

// savings draws each policy's saving by the three keys, with its interval. ok is false without any.
func (r *Replays) savings(summaries []replay.Summary) (p picture, ok bool) {
	const line, longest = 26, 34
	var all []saving
	for i := range summaries {
		all = append(all, savingOf(&summaries[i]))
	}
	if !slices.ContainsFunc(all, func(w saving) bool { return w.known[replay.ByRange] }) {
		return p, false
	}
	least, most := span(all)
	// A policy that is many times slower would leave no room for the others. The axis ends here, and
	// its row states the value.
	beyond := least < -100
	least = max(least, -100)
	if most-least < 1 {
		most = least + 1
	}
	x := figure.Over("saved of the control’s recovery times", least-(most-least)/50, most+(most-least)/20)
	x.Text = percentTick
	series := [replay.Keys]figure.Series{
		replay.ByRange: {Name: "by range, with its interval of 98 %", Kind: figure.Points, Colour: figure.Blue},
		replay.ByTime:  {Name: "by time", Kind: figure.Points, Colour: figure.Green},
		replay.ByIndex: {Name: "by index", Kind: figure.Points, Colour: figure.Purple},
	}
	names := make([]string, len(all))
	var t table
	t.row("policy", "by_range_percent", "by_time_percent", "by_index_percent", "low_percent", "high_percent")
	for i := range all {
		w := &all[i]
		w.addTo(&t)
		row := len(all) - 1 - i // the first is at the top
		note := ""
		switch byRange := w.shares[replay.ByRange]; {
		case !w.known[replay.ByRange]:
			note = ": no verdict"
		case byRange < x.Lo:
			note = fmt.Sprintf(": %.0f %%", byRange)
		}
		names[row] = shortened(w.policy, longest-len(note)) + note
		if !w.known[replay.ByRange] {
			continue
		}
		for k := range series {
			if s := &series[k]; w.known[k] {
				s.Add(w.shares[k], float64(row))
				s.Titles = append(s.Titles, w.words())
			}
		}
		lo, hi := w.shares[replay.ByRange], w.shares[replay.ByRange]
		if w.interval {
			lo, hi = w.lo, w.hi
		}
		s := &series[replay.ByRange]
		s.Lo, s.Hi = append(s.Lo, lo), append(s.Hi, hi)
	}
	return picture{figure.Figure{
		Name: "savings", Title: "What each policy saves", Caption: r.savingsCaption(beyond), Height: float64(line * len(all)),
		X: x, Y: figure.Axis{Label: "policy", Ticks: names}, Series: filled(series[:]...),
		Marks: []figure.Mark{{Label: "as the control", Vertical: true}},
	}, t.text()}, true
}

// savingsCaption explains the keys. beyond says that some savings are outside the figure.
func (r *Replays) savingsCaption(beyond bool) string {
	caption := "By range: the n-th transmission of a range meets the fate that it met in the capture. By time: a packet meets the fate of the packets captured at that time. By index: the n-th packet meets the fate of the n-th captured packet. Intervals are by resampling connections, or losses if there are few connections."
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
