package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// wireDrawing is an end to draw. Its times are the captured connection's; first is the first packet
// of the capture.
type wireDrawing struct {
	end    *WireEnd
	pairs  []replay.WirePair
	before map[wireKey]*replay.WirePair
	first  wheel.Time
}

// wireKey identifies a transmission.
type wireKey struct {
	start uint64
	try   int
}

func keyOf(p *replay.WirePair) wireKey {
	e := p.Want
	if e == nil {
		e = p.Got
	}
	return wireKey{e.Start, p.Try}
}

func newWireDrawing(e *WireEnd, first wheel.Time) *wireDrawing {
	d := &wireDrawing{end: e, pairs: e.Outcome.Pairs(), before: map[wireKey]*replay.WirePair{}, first: e.Result.Captured.Instant(first)}
	for i := range d.pairs {
		d.before[keyOf(&d.pairs[i])] = &d.pairs[i]
	}
	return d
}

// waits returns the time from the previous transmission of these bytes to their retransmission, as
// captured and by the engine, and which of the two is known.
func (d *wireDrawing) waits(p *replay.WirePair) (captured, engine time.Duration, known [2]bool) {
	k := keyOf(p)
	b := d.before[wireKey{k.start, k.try - 1}]
	if b == nil {
		return 0, 0, known
	}
	if p.Want != nil && b.Want != nil {
		captured, known[0] = p.Want.At.Sub(b.Want.At), true
	}
	if p.Got != nil && b.Got != nil {
		engine, known[1] = p.Got.At.Sub(b.Got.At), true
	}
	return captured, engine, known
}

// span returns the first and last instant of a transmission and of the previous one.
func (d *wireDrawing) span(p *replay.WirePair) stretch {
	s := stretch{math.MaxInt64, math.MinInt64}
	k := keyOf(p)
	for _, q := range []*replay.WirePair{p, d.before[wireKey{k.start, k.try - 1}]} {
		if q == nil {
			continue
		}
		for _, e := range []*replay.Event{q.Want, q.Got} {
			if e != nil {
				s.from, s.to = min(s.from, e.At), max(s.to, e.At)
			}
		}
	}
	return s
}

// window returns the period to show around a magnified transmission: its wait, or its neighbours if
// it is the first.
func (d *wireDrawing) window(p *replay.WirePair) stretch {
	s := d.span(p)
	pad := s.to.Sub(s.from) / 10
	if p.Try == 1 {
		pad *= 15
	}
	pad = max(pad, time.Millisecond)
	return stretch{s.from.Add(-pad), s.to.Add(pad)}
}

func (d *wireDrawing) view(id string) wireDrawnView {
	e := d.end
	x := e.Result
	v := wireDrawnView{ID: id, Title: fmt.Sprintf("%s, connection %d: %s, policy %s", baseOf(x.File), x.ID, e.addr(), e.Policy)}
	o := e.Outcome
	v.Words = append(v.Words, fmt.Sprintf("%[2]d of %[1]d first transmissions and %[4]d of %[3]d retransmissions are within 1 ms; the engine made %[5]d more.", o.First, o.FirstRight, o.Retransmissions, o.RetransmissionsRight, o.More))
	if half := x.Captured.Ends[e.End].Half; half > 0 {
		v.Words = append(v.Words, fmt.Sprintf("The capture was not taken at this end: times are reduced by %s, half the RTT to it.", track.SpanText(half/2)))
	}
	if fig, ok := d.sequence(stretch{math.MinInt64, math.MaxInt64}, nil); ok {
		fig.Name = id
		v.Figures = append(v.Figures, fig)
	}
	if fig, ok := d.offsets(); ok {
		fig.Name = id + "-off"
		v.Figures = append(v.Figures, fig)
	}
	for i, p := range d.farthest() {
		if fig, ok := d.sequence(d.window(p), p); ok {
			fig.Name = fmt.Sprintf("%s-%d", id, i+1)
			v.Zooms = append(v.Zooms, fig)
		}
	}
	return v
}

// farthest returns the transmissions to magnify: retransmissions, transmissions that only one of
// the two made, and the ones farthest off. It leaves out what another picture already shows.
func (d *wireDrawing) farthest() (chosen []*replay.WirePair) {
	var all []*replay.WirePair
	for i := range d.pairs {
		if p := &d.pairs[i]; p.Try > 1 || !p.Right() {
			all = append(all, p)
		}
	}
	weight := func(p *replay.WirePair) time.Duration {
		if off, ok := p.Off(); ok {
			return off.Abs()
		}
		return math.MaxInt64
	}
	slices.SortStableFunc(all, func(a, b *replay.WirePair) int { return cmp.Compare(weight(b), weight(a)) })
	var shown []stretch
	for _, p := range all {
		if len(chosen) == maxWireZooms {
			break
		}
		s := d.window(p)
		if slices.ContainsFunc(shown, func(z stretch) bool {
			common := min(z.to, s.to).Sub(max(z.from, s.from))
			return 2*common > s.to.Sub(s.from) && z.to.Sub(z.from) <= 4*s.to.Sub(s.from)
		}) {
			continue
		}
		chosen, shown = append(chosen, p), append(shown, s)
	}
	return chosen
}

// wireLegend lists the words for the classes of these diagrams.
var wireLegend = []legendItem{
	{"data", "captured"}, {"again", "R captured retransmission"}, {"engine", "○ sent by the engine"}, {"absent", "× not sent by the engine"}, {"acked", "acknowledged"},
}

// within returns the pairs with an event in a stretch, and the bytes and times that they cover.
func (d *wireDrawing) within(s stretch) (here []*replay.WirePair, lo, hi int64, first, last wheel.Time) {
	in := func(e *replay.Event) bool { return e != nil && s.from <= e.At && e.At <= s.to }
	lo, hi = math.MaxInt64, math.MinInt64
	first, last = math.MaxInt64, math.MinInt64
	for i := range d.pairs {
		p := &d.pairs[i]
		if !in(p.Want) && !in(p.Got) {
			continue
		}
		here = append(here, p)
		for _, e := range []*replay.Event{p.Want, p.Got} {
			if e != nil {
				lo, hi = min(lo, int64(e.Start)), max(hi, int64(e.End))
				first, last = min(first, e.At), max(last, e.At)
			}
		}
	}
	return here, lo, hi, first, last
}

// sequence draws the captured and the engine's transmissions in a period. If pair is not nil it
// also draws how long that one waited.
func (d *wireDrawing) sequence(s stretch, about *replay.WirePair) (picture, bool) {
	here, lo, hi, first, last := d.within(s)
	if len(here) == 0 {
		return picture{}, false
	}
	if about != nil {
		first, last = s.from, s.to
	}
	fig := figure.Figure{
		Title: "All transmissions of " + d.end.addr() + " and of an engine in its place", Wide: true, Height: 314,
		X: timeAxis(sinceBegin+", at this end", first.Sub(d.first).Seconds(), last.Sub(d.first).Seconds()),
	}
	margin := 0.0
	if about != nil {
		margin = float64(hi-lo) / 14
		fig.Height, fig.Lane = 288, 56
		fig.X.Label = senderSeconds
		fig.Title, fig.Caption = d.text(about)
	} else if d.end.Outcome.Divergence == nil {
		fig.Caption = "All transmissions are within 1 ms."
	}
	fig.Y = figure.Over(sequenceAxis, float64(lo)-margin, float64(hi)+float64(hi-lo)/14)
	fig.Draw = func(frame *figure.Plot) []figure.Item {
		p := plotter{Plot: frame, origin: d.first, used: map[string]bool{}, detail: about != nil && len(here) <= 400}
		if about != nil {
			d.lanes(&p, about)
		}
		p.Inside(func() {
			p.acks(within(d.heard(), s))
			p.engine(here)
			p.plain(within(firsts(here), s))
			p.again(here)
		})
		return p.legend(wireLegend)
	}
	data, note := d.data(here)
	if note != "" {
		fig.Caption = strings.TrimSpace(fig.Caption + " " + note)
	}
	return picture{fig, data}, true
}

// firsts returns the marks of captured first transmissions.
func firsts(pairs []*replay.WirePair) (marks []mark) {
	for _, p := range pairs {
		if e := p.Want; e != nil && p.Try == 1 {
			marks = append(marks, mark{at: e.At, until: e.At, began: e.At, start: int64(e.Start), end: int64(e.End), kind: sent, flags: e.Flags &^ tcp.PSH})
		}
	}
	return marks
}

// heard returns the marks of the ACKs that the end received.
func (d *wireDrawing) heard() (marks []mark) {
	for _, e := range d.end.Result.Captured.Heard(d.end.End) {
		if e.Flags.Has(tcp.ACK) {
			marks = append(marks, mark{at: e.At, until: e.At, began: e.At, start: int64(e.Ack), end: -1, kind: acked})
		}
	}
	return marks
}

// middle returns the place of a transmission's sign.
func (p *plotter) middle(e *replay.Event) (x, y float64) {
	return p.x(e.At), (p.y(int64(e.Start)) + p.y(int64(e.End))) / 2
}

// again draws the captured retransmissions and the transmissions that the engine did not make.
func (p *plotter) again(pairs []*replay.WirePair) {
	titles := 0
	for _, q := range pairs {
		if q.Want == nil || q.Try == 1 && q.Got != nil {
			continue
		}
		x, y1, y2 := p.x(q.Want.At), p.y(int64(q.Want.Start)), p.y(int64(q.Want.End))
		sign := func() {
			if q.Try > 1 {
				p.used["again"] = true
				p.Line("again", x, y1, x, min(y2, y1-1.5))
				p.label("again", x, min(y1, y2)-5, "R")
			}
			if q.Got == nil {
				p.label("absent", x, (y1+y2)/2+3.5, "×")
			}
		}
		if titles++; titles > maxTitles {
			sign()
			continue
		}
		p.Titled(wireTitle(q), sign)
	}
}

// engine draws the engine's transmissions: a ring for each, at most one per pixel, and a line to it
// from the captured one.
func (p *plotter) engine(pairs []*replay.WirePair) {
	var rings, lines strings.Builder
	taken := map[[2]int]bool{}
	for _, q := range pairs {
		if q.Got == nil {
			continue
		}
		p.used["engine"] = true
		x, y := p.middle(q.Got)
		if q.Want != nil {
			if from := p.x(q.Want.At); math.Abs(x-from) >= 4 {
				lines.WriteString("M" + figure.Num(from) + " " + figure.Num(y) + "H" + figure.Num(x))
			}
		}
		spot := [2]int{int(x / 1.5), int(y / 1.5)}
		if taken[spot] {
			continue
		}
		taken[spot] = true
		if p.detail {
			rings.WriteString("M" + figure.Num(x-2.5) + " " + figure.Num(y) + "a2.5 2.5 0 1 0 5 0 2.5 2.5 0 1 0-5 0")
		} else {
			rings.WriteString("M" + figure.Num(x) + " " + figure.Num(y) + "h0")
		}
	}
	p.Path("engine way", &lines)
	if p.detail {
		p.Path("engine", &rings)
	} else {
		p.Path("engine dot", &rings)
	}
}

// lanes draws below the plot how long bytes waited for their retransmission, as captured and by the
// engine.
func (d *wireDrawing) lanes(p *plotter, q *replay.WirePair) {
	k := keyOf(q)
	b := d.before[wireKey{k.start, k.try - 1}]
	if b == nil {
		return
	}
	for i, lane := range []struct {
		name, class string
		from, to    *replay.Event
	}{{"captured", "cell class k1", b.Want, q.Want}, {"engine", "cell class k0", b.Got, q.Got}} {
		y := p.Y.From + 10 + 20*float64(i)
		if lane.from == nil || lane.to == nil {
			p.Text("t", "", p.X.From, y+12, lane.name+": not retransmitted")
			continue
		}
		x1, x2 := p.x(lane.from.At), p.x(lane.to.At)
		text := lane.name + " " + track.SpanText(lane.to.At.Sub(lane.from.At))
		p.Titled(text, func() { p.Rect(lane.class, x1, y, max(x2-x1, 1), 16) })
		switch {
		case x2-x1 > 7*float64(len(text)):
			p.Text("bt", "m", (x1+x2)/2, y+12, text)
		case x2+7*float64(len(text)) < p.X.To:
			p.Text("bt", "", x2+5, y+12, text)
		default:
			p.Text("bt", "e", x1-5, y+12, text)
		}
	}
}
