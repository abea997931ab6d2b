package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/record"
	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel/stat"
)

// Data of the page.
type (
	sectionView struct {
		ID, File                string
		First, Second           string // the answer, in two sentences
		Facts                   []htmlpage.Fact
		Notes                   []string
		Kinds                   []kindView
		Stalls, Recoveries      *picture
		EpisodesNote, ConnsNote string
		Episodes                []track.Episode
		Said                    map[int64]string // headers of packets
		Drawings                map[int]string   // where connections are drawn
		Conns                   []connView
		DrawnNote               string
		Drawn                   []drawnView
	}
	kindView struct {
		Kind      string `head:"kind"`
		N         int    `head:"episodes"`
		TRec      string `head:"T_rec median" cell:"number"`
		TRecP95   string `head:"T_rec p95" cell:"number"`
		TRecP99   string `head:"T_rec p99" cell:"number"`
		D         string `head:"D median" cell:"number"`
		DP95      string `head:"D p95" cell:"number"`
		Lost      string `head:"time lost" cell:"number"`
		Waited    string `head:"on timers" cell:"number"`
		Open      int    `head:"not repaired"`
		Spurious  int    `head:"spurious retransmissions"`
		Undecided int    `head:"undecided"`
	}
	connView struct {
		Conn            int         `head:"conn"`
		Lost            record.Cell `head:"time lost"`
		Longest         record.Cell `head:"longest T_rec"`
		Episodes        int         `head:"episodes"`
		Src             string      `head:"first"`
		Dst             string      `head:"second"`
		Packets         int64       `head:"packets"`
		Out             int64       `head:"bytes →"`
		Back            int64       `head:"bytes ←"`
		Duration        record.Cell `head:"duration"`
		RTTOut          record.Cell `head:"RTT →"`
		RTTBack         record.Cell `head:"RTT ←"`
		Retransmissions int64       `head:"retransmissions"`
		Spurious        int         `head:"spurious"`
		TimersOut       string      `head:"timers →"`
		TimersBack      string      `head:"timers ←"`
		End             string      `head:"end"`
	}
	drawnView struct {
		ID             string
		Conn           int
		Ends           string
		Words          []string
		Figures, Zooms []picture
	}
)

// Write writes the page. All sections must have ended.
func (p *Page) Write(w io.Writer) error {
	var links, sections g.Group
	for i, s := range p.sections {
		v := s.view("capture" + strconv.Itoa(i))
		links, sections = append(links, htmlpage.Link(v.ID, v.File)), append(sections, v.node(), newline)
	}
	return writePage(w, title(p.sections), g.If(len(links) > 1, g.Group{h.Nav(links), newline}), sections)
}

func title(all []*Section) string {
	if len(all) == 1 {
		return "TCP losses in " + filepath.Base(all[0].file)
	}
	return fmt.Sprintf("TCP losses in %d captures", len(all))
}

// view returns the data for a section of the page.
func (s *Section) view(id string) sectionView {
	v := sectionView{ID: id, File: s.file, Notes: s.facts.Notes, Episodes: s.events}
	all := s.losses.Sentences()
	v.First, v.Second = all[0], strings.Join(all[1:], " ")
	if s.facts.Packets > 0 {
		v.Facts = []htmlpage.Fact{
			{"began, UTC", time.Unix(0, int64(s.facts.First)).UTC().Format("2006-01-02 15:04:05.000000")},
			{"lasted", track.SpanText(max(s.facts.Last.Sub(s.facts.First), 0))},
		}
	}
	v.Facts = append(v.Facts, []htmlpage.Fact{
		{"TCP packets", strconv.FormatInt(s.facts.TCP, 10)},
		{"other packets", strconv.FormatInt(s.facts.Packets-s.facts.TCP, 10)},
		{"connections", strconv.Itoa(s.losses.Conns)},
		{"with loss", strconv.Itoa(s.lossy)},
		{"payload", BytesText(s.bytes)},
		{"retransmissions", strconv.FormatInt(s.retransmissions, 10)},
		{"of these spurious", strconv.Itoa(s.spurious)},
		{"loss episodes", strconv.Itoa(s.losses.Episodes)},
	}...)
	for kind := range s.kinds {
		if k := &s.kinds[kind]; k.n > 0 {
			v.Kinds = append(v.Kinds, k.view(track.Kind(kind)))
		}
	}
	if fig, ok := s.stalls(); ok {
		v.Stalls = &fig
	}
	if fig, ok := s.recoveries(); ok {
		v.Recoveries = &fig
	}
	if n := len(s.events); n < s.losses.Episodes {
		v.EpisodesNote = fmt.Sprintf("The %d longest of %d.", n, s.losses.Episodes)
	}
	if n := len(s.rows); n < s.losses.Conns {
		v.ConnsNote = fmt.Sprintf("The %d of %d connections that lost the most time.", n, s.losses.Conns)
	}
	v.Drawings, v.Said = map[int]string{}, s.said
	for i := range s.drawn {
		d := &s.drawn[i]
		name := id + "conn" + strconv.Itoa(d.conn.ID)
		v.Drawings[d.conn.ID] = name
		v.Drawn = append(v.Drawn, d.view(name, s))
	}
	for i := range s.rows {
		v.Conns = append(v.Conns, s.rows[i].view())
	}
	if n := len(s.drawn); n < s.losses.Conns {
		v.DrawnNote = fmt.Sprintf("The %d of %d connections that lost the most time are drawn below; of equal ones, the largest.", n, s.losses.Conns)
	}
	if s.given > 0 {
		v.DrawnNote += fmt.Sprintf(" %d open connections were dropped to bound memory and cannot be drawn.", s.given)
	}
	return v
}

// view returns the row of a kind. Its quantiles are of the repaired episodes.
func (k *kindStats) view(kind track.Kind) kindView {
	quantile := func(of *spans, q float64) string {
		if of.Seen() == 0 {
			return "-"
		}
		return track.SpanText(time.Duration(stat.Quantile(of.Kept(), q)))
	}
	return kindView{
		Kind: kind.String(), N: k.n, TRec: quantile(&k.tRec, 0.5), TRecP95: quantile(&k.tRec, 0.95), TRecP99: quantile(&k.tRec, 0.99),
		D: quantile(&k.d, 0.5), DP95: quantile(&k.d, 0.95), Lost: track.SpanText(k.lost), Waited: track.SpanText(k.waited),
		Open: k.open, Spurious: k.spurious, Undecided: k.undecided,
	}
}

func (r *connRow) view() connView {
	out, back := &r.Flows[0], &r.Flows[1]
	v := connView{
		Conn: r.Conn, Src: out.Src, Dst: out.Dst, Packets: r.Packets, Out: out.Bytes, Back: back.Bytes,
		Retransmissions: out.Retransmissions + back.Retransmissions, Spurious: out.Spurious + back.Spurious,
		Lost: record.SpanCell(r.lost, r.lost > 0), Longest: record.SpanCell(r.longest, r.longest > 0),
		Duration: record.SpanCell(record.Span(r.Duration), true), RTTOut: rttCell(out), RTTBack: rttCell(back),
		TimersOut: timersOf(out), TimersBack: timersOf(back), End: r.End,
	}
	for i := range r.Flows {
		for _, n := range r.Flows[i].Episodes {
			v.Episodes += n
		}
	}
	return v
}

// timersOf names the stack whose timers fit a flow.
func timersOf(f *track.FlowRecord) string {
	switch t := f.Timers; {
	case t == nil:
		return ""
	case t.Best == "":
		return "no known"
	default:
		return t.Best
	}
}

func rttCell(f *track.FlowRecord) record.Cell {
	if f.RTT == nil {
		return record.SpanCell(0, false)
	}
	return record.SpanCell(f.RTT.Mean, true)
}

// view draws the connection.
func (d *drawing) view(id string, s *Section) drawnView {
	c := d.conn
	v := drawnView{ID: id, Conn: c.ID, Ends: fmt.Sprintf("%v and %v", c.Flows[0].Src, c.Flows[1].Src)}
	if why := c.VantageEvidence(); len(why) > 0 {
		v.Words = append(v.Words, fmt.Sprintf("Point of capture, seen from %v: %v (%s; a is %v).", c.Flows[0].Src, c.Flows[0].Vantage, strings.Join(why, ", "), c.Flows[0].Src))
	}
	origin := s.facts.First
	d.gaps = d.idleTimes()
	for i := range c.Flows {
		f := &c.Flows[i]
		if text := flowText(f); text != "" {
			v.Words = append(v.Words, text)
		}
		// A client that downloads sends almost nothing: its diagram would be a line.
		if f.Bytes == 0 && len(f.Episodes) == 0 {
			continue
		}
		if fig, ok := d.overview(i, origin); ok {
			v.Figures = append(v.Figures, fig)
		}
	}
	if fig, ok := d.roundTrips(origin); ok {
		v.Figures = append(v.Figures, fig)
	}
	for i := range c.Flows {
		all := longest(d.shown[i], s.limits.Zooms)
		for _, e := range all {
			v.Zooms = append(v.Zooms, d.zoom(i, e, origin))
		}
		if n := len(d.shown[i]) + int(c.Flows[i].EpisodesDropped); n > len(all) {
			v.Words = append(v.Words, fmt.Sprintf("From %v: the %d longest of %d episodes are magnified.", c.Flows[i].Src, len(all), n))
		}
	}
	return v
}

// flowText describes a flow beyond its diagram.
func flowText(f *track.Flow) string {
	var parts []string
	add := func(n int64, noun, rest string) {
		if n > 0 {
			parts = append(parts, quantity.Count(n, noun)+rest)
		}
	}
	if t := &f.RTT; t.Samples > 0 && f.MeasuresRTT() {
		parts = append(parts, fmt.Sprintf("round trip %s to %s, mean %s", track.SpanText(t.Min), track.SpanText(t.Max), track.SpanText(t.Mean)))
	}
	if t := f.Timers(); t.Gaps > 0 {
		text := "its timers fit no known stack"
		if t.Best != "" {
			text = "timers as those of " + t.Best
		}
		if t.Best != "" && t.RunnerUp != "" {
			text += ", then " + t.RunnerUp
		}
		parts = append(parts, fmt.Sprintf("%s (silences: %d)", text, t.Gaps))
		switch t.SYNs {
		case track.SYNLinear:
			parts = append(parts, "the first timeouts of its SYN do not double, as in Linux since 6.5")
		case track.SYNDoubling:
			parts = append(parts, "the timeouts of its SYN double from the first, as in Linux before 6.5 and others")
		}
	}
	add(f.Retransmissions, "retransmission", "")
	if f.Reordered > 0 {
		parts = append(parts, fmt.Sprintf("%d out of order", f.Reordered))
	}
	add(f.DSACKs, "duplicate", " reported")
	add(f.Keepalives, "keepalive", "")
	add(f.WindowProbes, "window probe", "")
	add(f.ZeroWindows, "zero window", "")
	add(f.Delayed.Count, "delayed ACK", "")
	add(f.UnseenBytes, "byte", " acknowledged and never captured")
	if f.ZeroWindowTime > 0 {
		parts = append(parts, "window closed for "+track.SpanText(f.ZeroWindowTime))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("From %v: %s.", f.Src, strings.Join(parts, "; "))
}
