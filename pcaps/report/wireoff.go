package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel"
)

// offsets draws over time how far transmissions are off.
func (d *wireDrawing) offsets() (figure, bool) {
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
		return figure{}, false
	}
	const height = 250
	c := htmlpage.NewCanvas(figureWidth, height, "distance of the engine's transmissions from the captured ones, over time")
	f := frame{
		x: htmlpage.NewScale(first.Sub(d.first).Seconds(), last.Sub(d.first).Seconds(), marginLeft, figureWidth-marginRight),
		y: htmlpage.NewLogScale(least.Seconds(), max(hi, 2*time.Millisecond).Seconds(), height-marginBottom, marginTop),
	}
	axes(c, f, 8, 5, plainTick, spanTick, "seconds since the capture began, at this end", "distance from the captured time; 1 µs and less at the bottom")
	c.Line("guide", f.x.From, f.y.At(0.001), f.x.To, f.y.At(0.001))
	var dots [2]strings.Builder
	taken := map[[3]int]bool{}
	sooner, later := 0, 0
	for i := range d.pairs {
		p := &d.pairs[i]
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
		kind := min(p.Try, 2) - 1
		x, y := f.x.At(p.Want.At.Sub(d.first).Seconds()), f.y.At(max(off.Abs(), least).Seconds())
		spot := [3]int{int(x), int(y), kind}
		if taken[spot] {
			continue
		}
		taken[spot] = true
		dots[kind].WriteString("M" + htmlpage.Num(x) + " " + htmlpage.Num(y) + "h0")
	}
	c.Path("dot c3", &dots[0])
	c.Path("dot c2", &dots[1])
	pairs := make([]*replay.WirePair, len(d.pairs))
	for i := range d.pairs {
		pairs[i] = &d.pairs[i]
	}
	data, note := d.data(pairs)
	caption := fmt.Sprintf("By more than 1 ms, the dashed line, %d are later and %d sooner. %s", later, sooner, note)
	return figure{
		SVG: c.End(), Title: "How far off", Caption: strings.TrimSpace(caption), Data: data,
		Legend: []legendItem{{"c3", "first transmissions"}, {"c2", "retransmissions"}},
	}, true
}
