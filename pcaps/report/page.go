package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// Limits bounds memory and the size of the page. A field of 0 or less means its default.
type Limits struct {
	Conns  int // connections that are drawn: 12
	Zooms  int // episodes that are magnified, of a connection: 6
	Rows   int // of the tables of connections and of episodes: 500
	Marks  int // of a flow: 2000
	Memory int // marks and round trips of all open connections together: 1<<19, of 64 bytes each
}

// Page is a report about captures.
type Page struct {
	limits   Limits
	sections []*Section
}

// NewPage returns an empty page.
func NewPage(l Limits) *Page {
	or := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	or(&l.Conns, 12)
	or(&l.Zooms, 6)
	or(&l.Rows, 500)
	or(&l.Marks, 2000)
	or(&l.Memory, 1<<19)
	return &Page{limits: l}
}

// Begin begins the section of a capture.
func (p *Page) Begin(file string) *Section {
	s := &Section{file: file, limits: p.limits, traces: map[*track.Conn]*connTrace{}, limit: 4 * p.limits.Marks}
	p.sections = append(p.sections, s)
	return s
}

// Facts is what only the reader of the capture file knows.
type Facts struct {
	First, Last  wheel.Time
	Packets, TCP int64
	Notes        []string // notes about the file, such as "cut short"
}

// Section is the part of a page about one capture.
type Section struct {
	file   string
	facts  Facts
	limits Limits

	traces map[*track.Conn]*connTrace
	marks  int // in traces, and round trips
	limit  int // marks of an open flow
	given  int // connections whose packets were dropped while open

	lossy           int
	bytes           int64
	retransmissions int64
	spurious        int
	losses          track.Losses
	kinds           [track.Kinds]kindStats
	rows            []connRow
	events          []track.Episode
	drawn           []drawing
	said            map[int64]string // headers of packets
}

// kindStats summarises the episodes of one kind.
type kindStats struct {
	n, undecided, open int
	spurious           int           // retransmissions
	d, tRec            spans         // of the repaired episodes
	lost, waited       time.Duration // Episode.TimeLost and TimerWait, added up
}

// spans are a sample of spans.
type spans = stat.Sample[time.Duration]

const maxSpans = 1 << 12 // that are kept

// connRow is a row of the table of connections.
type connRow struct {
	track.ConnRecord
	lost    time.Duration // in episodes
	longest time.Duration // T_rec
	spent   time.Duration // in episodes, where time was lost or not
}

// drawing is a connection to draw.
type drawing struct {
	conn  *track.Conn
	trace *connTrace
	lost  time.Duration
	spent time.Duration       // in episodes, where time was lost or not
	shown [2][]*track.Episode // the episodes that pass the filter
	said  map[int64]string    // headers of packets: see Section.Describe
	gaps  []stretch           // idle times that its diagrams leave out
}

// Event is track.Config.Event.
func (s *Section) Event(ev *track.Event) {
	t := s.traces[ev.Conn]
	if t == nil {
		t = &connTrace{}
		s.traces[ev.Conn] = t
	}
	if t.dropped {
		return
	}
	i := 0
	if ev.Flow == &ev.Conn.Flows[1] {
		i = 1
	}
	f := &t.flows[i]
	before := f.len()
	f.add(ev)
	if len(f.marks) > s.limit {
		f.compact(ev.Flow, s.limit/2, s.limits.Zooms)
	}
	s.marks += f.len() - before
	if s.marks > s.limits.Memory {
		s.shrink()
	}
}

// leastMarks is the fewest marks that a flow keeps before whole connections are dropped.
const leastMarks = 64

// shrink makes room. It thins out each flow, then drops the open connections that lost the least
// time.
func (s *Section) shrink() {
	enough := s.limits.Memory * 3 / 4
	for s.marks > enough {
		s.marks = 0
		for c, t := range s.traces {
			for i := range t.flows {
				f := &t.flows[i]
				f.compact(&c.Flows[i], s.limit/2, 1)
				for len(f.rtts.Kept()) > s.limit/4 {
					f.rtts.Halve()
				}
			}
			s.marks += t.len()
		}
		if s.limit/2 <= leastMarks {
			break
		}
		s.limit /= 2
	}
	if s.marks <= enough {
		return
	}
	type candidate struct {
		c    *track.Conn
		lost time.Duration
	}
	var all []candidate
	for c := range s.traces {
		k := candidate{c: c}
		for i := range c.Flows {
			for _, e := range c.Flows[i].Episodes {
				k.lost += e.TimeLost
			}
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.lost, b.lost), cmp.Compare(a.c.ID, b.c.ID)) })
	for _, k := range all {
		if s.marks <= s.limits.Memory/2 {
			return
		}
		t := s.traces[k.c]
		s.marks -= t.len()
		*t = connTrace{dropped: true}
		s.given++
	}
}

// Skip drops a closed connection from the page.
func (s *Section) Skip(c *track.Conn) { s.take(c) }

// take removes and returns the trace of a connection.
func (s *Section) take(c *track.Conn) *connTrace {
	t := s.traces[c]
	if t == nil {
		return &connTrace{}
	}
	delete(s.traces, c)
	s.marks -= t.len()
	return t
}

// Add adds a closed connection. It skips episodes for which keep returns false; a nil keep takes
// all. The section keeps c if it draws it.
func (s *Section) Add(c *track.Conn, keep func(*track.Episode) bool) {
	t := s.take(c)
	s.losses.AddConn(c)
	if c.Twin {
		return
	}
	d := drawing{conn: c, trace: t}
	longest := time.Duration(0)
	for i := range c.Flows {
		f := &c.Flows[i]
		s.bytes += f.Bytes
		s.retransmissions += f.Retransmissions
		for _, e := range f.Episodes {
			if keep != nil && !keep(e) {
				continue
			}
			d.shown[i] = append(d.shown[i], e)
			d.lost += e.TimeLost
			d.spent += lasted(e)
			longest = max(longest, e.TRec)
			s.losses.Add(e)
			s.episode(e)
		}
	}
	if len(d.shown[0])+len(d.shown[1]) > 0 {
		s.lossy++
	}
	s.rows = append(s.rows, connRow{c.Record(s.file), d.lost, longest, d.spent})
	if len(s.rows) >= 2*s.limits.Rows+64 {
		s.trimRows()
	}
	s.draw(d)
}

// draw keeps a connection if it is among the connections that lost the most time, or sent the most.
func (s *Section) draw(d drawing) {
	if d.trace.len() == 0 || d.trace.dropped {
		return
	}
	s.drawn = append(s.drawn, d)
	slices.SortStableFunc(s.drawn, func(a, b drawing) int {
		return cmp.Or(cmp.Compare(b.lost, a.lost), cmp.Compare(b.spent, a.spent), cmp.Compare(size(b.conn), size(a.conn)), cmp.Compare(a.conn.ID, b.conn.ID))
	})
	if len(s.drawn) > s.limits.Conns {
		s.drawn = slices.Delete(s.drawn, s.limits.Conns, len(s.drawn))
	}
	for i := range s.drawn {
		if s.drawn[i].conn != d.conn {
			continue
		}
		for j := range d.trace.flows {
			d.trace.flows[j].compact(&d.conn.Flows[j], s.limits.Marks, s.limits.Zooms)
		}
	}
}

// size returns how many bytes and packets a connection sent.
func size(c *track.Conn) int64 { return c.Flows[0].Bytes + c.Flows[1].Bytes + c.Packets }

func (s *Section) episode(e *track.Episode) {
	s.spurious += e.SpuriousCount
	k := &s.kinds[e.Kind]
	k.n++
	k.spurious += e.SpuriousCount
	k.lost += e.TimeLost
	k.waited += e.TimerWait
	if e.Repaired {
		k.d.Add(e.D, maxSpans)
		k.tRec.Add(e.TRec, maxSpans)
	} else {
		k.open++
	}
	if e.Spurious == track.Undecided {
		k.undecided++
	}
	s.events = append(s.events, *e)
	if len(s.events) >= 2*s.limits.Rows+64 {
		s.events = Longest(s.events, s.limits.Rows)
	}
}

// trimRows keeps the connections that lost the most time.
func (s *Section) trimRows() {
	slices.SortStableFunc(s.rows, func(a, b connRow) int {
		return cmp.Or(cmp.Compare(b.lost, a.lost), cmp.Compare(b.spent, a.spent), cmp.Compare(b.Packets, a.Packets), cmp.Compare(a.Conn, b.Conn))
	})
	s.rows = s.rows[:min(len(s.rows), s.limits.Rows)]
}

// Longest returns the n episodes that lost the most time; of equal ones, the longest. It sorts all.
func Longest(all []track.Episode, n int) []track.Episode {
	slices.SortStableFunc(all, func(a, b track.Episode) int {
		return cmp.Or(cmp.Compare(b.TimeLost, a.TimeLost), cmp.Compare(lasted(&b), lasted(&a)), cmp.Compare(a.DetectedPacket, b.DetectedPacket))
	})
	return all[:min(len(all), n)]
}

// End completes the section.
func (s *Section) End(f Facts) {
	s.facts = f
	s.trimRows()
	s.events = Longest(s.events, s.limits.Rows)
	slices.SortFunc(s.drawn, func(a, b drawing) int { return cmp.Compare(a.conn.ID, b.conn.ID) })
	s.traces = nil
}

// maxDescribed is the most packets of a capture whose headers a page shows.
const maxDescribed = 1000

// Packets returns the packets whose headers the section would show under the pointer: the
// retransmissions of its rows and diagrams. The section must have ended.
func (s *Section) Packets() (numbers []int64) {
	for i := range s.events {
		numbers = append(numbers, s.events[i].DetectedPacket)
	}
	for i := range s.drawn {
		for f := range s.drawn[i].trace.flows {
			for _, m := range s.drawn[i].trace.flows[f].marks {
				if m.kind == resent && m.merged == 0 && len(numbers) < maxDescribed {
					numbers = append(numbers, m.packet)
				}
			}
		}
	}
	return numbers
}

// Describe gives the section the headers of packets, a line for each header, as capture.Describe
// returns them.
func (s *Section) Describe(headers map[int64][]string) {
	s.said = map[int64]string{}
	for number, lines := range headers {
		s.said[number] = strings.Join(lines, "\n")
	}
	for i := range s.drawn {
		s.drawn[i].said = s.said
	}
}
