package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel"
)

// offsets draws over time how far transmissions are off.
func (d *wireDrawing) offsets() (picture, bool) {
	const least = time.Microsecond
	hi, n := time.Duration(0), 0
	first, last := wheel.Time(math.MaxInt64), wheel.Time(math.MinInt64)
	for i := range d.pairs {
		if off, ok := d.pairs[i].Off(); ok {
			at := d.pairs[i].Want.At
			hi, first, last = max(hi, off.Abs()), min(first, at), max(last, at)
			n++
		}
	}
	if n < 2 {
		return picture{}, false
	}
	offs := []figure.Series{{Name: "first transmissions", Kind: figure.Dots, Colour: figure.Blue}, {Name: "retransmissions", Kind: figure.Dots, Colour: figure.Red}}
	sooner, later := 0, 0
	pairs := make([]*replay.WirePair, len(d.pairs))
	for i := range d.pairs {
		p := &d.pairs[i]
		pairs[i] = p
		off, ok := p.Off()
		if !ok {
			continue
		}
		switch {
		case off > time.Millisecond:
			later++
		case off < -time.Millisecond:
			sooner++
		}
		offs[min(p.Try, 2)-1].Add(p.Want.At.Sub(d.first).Seconds(), max(off.Abs(), least).Seconds())
	}
	data, note := d.data(pairs)
	return picture{figure.Figure{
		Title: "How far off", Wide: true, Height: 184, Series: filled(offs...),
		X:       timeAxis(sinceBegin+", at this end", first.Sub(d.first).Seconds(), last.Sub(d.first).Seconds()),
		Y:       figure.Axis{Label: "distance from the captured time; 1 µs and less at the bottom", Log: true, Lo: least.Seconds(), Hi: max(hi, 2*time.Millisecond).Seconds(), Text: spanTick},
		Marks:   []figure.Mark{{Label: "1 ms", At: 0.001}},
		Caption: strings.TrimSpace(fmt.Sprintf("By more than 1 ms, %d are later and %d sooner. %s", later, sooner, note)),
	}, data}, true
}
