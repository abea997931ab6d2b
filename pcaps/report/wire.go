package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel"
)

// WireEnd is an end of a captured connection, with the transmissions of an engine that received
// what that end received.
type WireEnd struct {
	Result  *replay.Result
	End     int // 0 for the client
	Policy  string
	Outcome *replay.WireOutcome
}

// Wires is the content of a page about open loops.
type Wires struct {
	Ends     []WireEnd
	First    func(*replay.Result) wheel.Time // the first packet of the capture that it is from
	Conns    int                             // connections of the captures
	Lossy    int                             // those with losses
	Refusals []Refusal                       // connections, and ends of them, that have no open loop
	Notes    []string
}

// Data of the page.
type (
	wireView struct {
		Facts    []htmlpage.Fact
		Notes    []string
		Files    bool
		Ends     []wireEndView
		EndsNote string
		Curves   []picture
		Pairs    []picture
		Drawn    []wireDrawnView
		refusalsView
		Lossy int
	}
	wireEndView struct {
		File     string      `head:"capture"`
		Conn     int         `head:"conn"`
		From     string      `head:"from"`
		Policy   string      `head:"policy"`
		First    string      `head:"first transmissions within 1 ms" cell:"number"`
		Again    string      `head:"retransmissions within 1 ms" cell:"number"`
		More     int         `head:"not captured"`
		Median   record.Cell `head:"off, median"`
		P95      record.Cell `head:"p95"`
		Captured string      `head:"first difference: captured"`
		Differs  string      `head:"engine"`
		drawn    string      // where it is drawn
	}
	wireDrawnView struct {
		ID, Title string
		Words     []string
		Figures   []picture
		Zooms     []picture
	}
)

// Bounds of a page of open loops.
const (
	maxWireEnds  = 500 // rows of the table
	maxWireDrawn = 12
	maxWireZooms = 6
	maxWireRows  = 2000 // of the data of a figure
)

// Write writes the page: how far the engines' transmissions are off, and diagrams of the ends that
// are farthest off.
func (w *Wires) Write(out io.Writer) error {
	v := wireView{Notes: w.Notes, Lossy: w.Lossy}
	first, again := share{}, share{}
	for i := range w.Ends {
		o := w.Ends[i].Outcome
		first.add(o.FirstRight, o.First)
		again.add(o.RetransmissionsRight, o.Retransmissions)
		v.Files = v.Files || w.Ends[i].Result.File != w.Ends[0].Result.File
	}
	v.Facts = []htmlpage.Fact{
		{"connections", strconv.Itoa(w.Conns)}, {"with losses", strconv.Itoa(w.Lossy)}, {"open loops", strconv.Itoa(len(w.Ends))},
		{"first transmissions within 1 ms", first.String()}, {"retransmissions within 1 ms", again.String()},
	}
	drawn := w.worst()
	names := map[*WireEnd]string{}
	for i, e := range drawn {
		names[e] = "end" + strconv.Itoa(i)
	}
	for i := range w.Ends[:min(len(w.Ends), maxWireEnds)] {
		v.Ends = append(v.Ends, w.Ends[i].view(w.First(w.Ends[i].Result), names[&w.Ends[i]]))
	}
	if len(v.Ends) < len(w.Ends) {
		v.EndsNote = fmt.Sprintf("The first %d of %d.", len(v.Ends), len(w.Ends))
	}
	v.Curves, v.Pairs = w.curves(), w.pairs()
	for _, e := range drawn {
		v.Drawn = append(v.Drawn, newWireDrawing(e, w.First(e.Result)).view(names[e]))
	}
	v.refusalsView = refused(w.Refusals)
	return writePage(out, w.title(), v.nodes())
}

// share is n of a total.
type share struct{ part, of int }

func (s *share) add(part, of int) { s.part, s.of = s.part+part, s.of+of }

// String is the share with its percentage.
func (s share) String() string {
	if s.of == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %d, %.1f %%", s.part, s.of, 100*float64(s.part)/float64(s.of))
}

func (w *Wires) title() string {
	var files []string
	for _, e := range w.Ends {
		files = append(files, e.Result.File)
	}
	for _, x := range w.Refusals {
		files = append(files, x.File)
	}
	return titled(files, "The sender of %s and an engine in its place", "The senders of %d captures and engines in their place", "A sender and an engine in its place")
}

// policies returns the policies, in order.
func (w *Wires) policies() (all []string) {
	for i := range w.Ends {
		if p := w.Ends[i].Policy; !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// worst returns the ends to draw: the ends with the most transmissions that differ from the
// capture.
func (w *Wires) worst() (all []*WireEnd) {
	for i := range w.Ends {
		all = append(all, &w.Ends[i])
	}
	wrong := func(o *replay.WireOutcome) int {
		return o.First - o.FirstRight + o.Retransmissions - o.RetransmissionsRight + o.More
	}
	slices.SortStableFunc(all, func(a, b *WireEnd) int {
		return cmp.Or(wrong(b.Outcome)-wrong(a.Outcome), b.Outcome.Retransmissions-a.Outcome.Retransmissions)
	})
	return all[:min(len(all), maxWireDrawn)]
}

func (e *WireEnd) addr() string {
	return [2]string{e.Result.Client.String(), e.Result.Server.String()}[e.End]
}

func (e *WireEnd) view(first wheel.Time, drawn string) wireEndView {
	o := e.Outcome
	v := wireEndView{
		File: e.Result.File, drawn: drawn, Conn: e.Result.ID, From: e.addr(), Policy: e.Policy,
		First: fmt.Sprintf("%d of %d", o.FirstRight, o.First), Again: fmt.Sprintf("%d of %d", o.RetransmissionsRight, o.Retransmissions), More: o.More,
		Median: record.SpanCell(o.Median, o.First > 0), P95: record.SpanCell(o.P95, o.First > 0),
	}
	if d := o.Divergence; d != nil {
		v.Captured, v.Differs = EventText(e.Result.Captured, d.Want, first), EventText(e.Result.Captured, d.Got, first)
	}
	return v
}

// EventText describes a packet of a captured connection, with its time since an instant of the
// capture. It is "nothing" for no packet.
func EventText(s *replay.CapturedConn, e *replay.Event, first wheel.Time) string {
	if e == nil {
		return "nothing"
	}
	text := fmt.Sprintf("%.6f s %v %d:%d", s.Seconds(e.At, first), e.Flags, e.Start, e.End)
	if e.Flags.Has(tcp.ACK) {
		text += fmt.Sprintf(" ack %d", e.Ack)
	}
	return text
}

// curves draws the distributions of how far transmissions are off, per policy.
func (w *Wires) curves() (all []picture) {
	for i, policy := range w.policies() {
		var offs [2][]time.Duration
		for k := range w.Ends {
			if w.Ends[k].Policy != policy {
				continue
			}
			for _, p := range w.Ends[k].Outcome.Pairs() {
				if off, ok := p.Off(); ok {
					offs[min(p.Try, 2)-1] = append(offs[min(p.Try, 2)-1], off.Abs())
				}
			}
		}
		var list []curve
		for k, name := range []string{"first transmissions", "retransmissions"} {
			slices.Sort(offs[k])
			if len(offs[k]) > 0 {
				list = append(list, curve{name, [2]figure.Colour{figure.Blue, figure.Red}[k], thinned(offs[k]), len(offs[k])})
			}
		}
		if fig, ok := distribution("How far off: policy "+policy, "distance from the captured time", fmt.Sprintf("off-%d", i+1), list); ok {
			all = append(all, fig)
		}
	}
	return all
}

// pairs draws, for each policy, the time from a transmission to its retransmission, as captured and
// by the engine.
func (w *Wires) pairs() (all []picture) {
	policies := w.policies()
	lists := make([][]slope, len(policies))
	for k := range w.Ends {
		e := &w.Ends[k]
		d := newWireDrawing(e, w.First(e.Result))
		i := slices.Index(policies, e.Policy)
		for n := range d.pairs {
			p := &d.pairs[n]
			captured, engine, ok := d.waits(p)
			if ok[0] && ok[1] {
				lists[i] = append(lists[i], slope{captured, engine, []string{
					e.Result.File, strconv.Itoa(e.Result.ID), strconv.FormatUint(p.Want.Start, 10), strconv.Itoa(p.Try),
					nine(captured), nine(engine),
				}})
			}
		}
	}
	lo, hi, ok := slopesSpan(lists...)
	if !ok {
		return nil
	}
	for i, policy := range policies {
		if len(lists[i]) > 0 {
			all = append(all, paired{
				title: "Retransmissions: policy " + policy, each: "a line for each retransmission",
				axis: "since the previous transmission", before: "captured", after: "engine",
				head: []string{"file", "conn", "start", "try", "captured_s", "engine_s"}, name: fmt.Sprintf("again-%d", i+1),
			}.draw(lists[i], lo, hi))
		}
	}
	return all
}
