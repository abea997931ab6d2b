package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// summary summarises one file. It keeps sums, durations for quantiles, and the episodes of the
// table.
type summary struct {
	a     *analysis
	file  string
	first wheel.Time

	stats   capture.Stats
	cut     bool
	evicted int

	conns, lossy    int
	seen            int // connections of the file, filtered ones too
	bytes           int64
	kinds           [track.Kinds]kindSums
	retransmissions int64
	spurious        int
	rows            []episodeRow
	episodes        int

	copies, reordered, keepalives, probes, zeroWindows int64
	unseen, stale, badSums, oddSums, clockSteps        int64
	stalled                                            time.Duration
	delayed                                            int64
	timers                                             map[string]int
	near                                               map[string]int
}

// kindSums are the sums of the episodes of a kind.
type kindSums struct {
	n, spurious, unknown int
	d, tRec              spans
	waited               time.Duration // the sum of D
}

// spans keeps durations for quantiles: all up to 65536, then every second one, and so on.
type spans struct {
	all  []time.Duration
	step int
	seen int
}

const maxSpans = 1 << 16

func (s *spans) add(d time.Duration) {
	s.step = max(s.step, 1)
	if s.seen%s.step == 0 {
		if len(s.all) == maxSpans {
			for i := range maxSpans / 2 {
				s.all[i] = s.all[2*i]
			}
			s.all, s.step = s.all[:maxSpans/2], 2*s.step
		}
		s.all = append(s.all, d)
	}
	s.seen++
}

// quantile returns the q-quantile, or "-" without durations.
func (s *spans) quantile(q float64) string {
	if len(s.all) == 0 {
		return "-"
	}
	slices.Sort(s.all)
	return shortSpan(s.all[int(q*float64(len(s.all)-1)+0.5)])
}

// episodeRow is a line of the table.
type episodeRow struct {
	conn            int
	flow            string
	packet          int64
	at              wheel.Time
	kind, verdict   string
	retransmissions int
	d, tRec, tax    time.Duration
	repaired        bool
	hasTax          bool
}

func newSummary(file string, a *analysis) *summary {
	return &summary{a: a, file: file, timers: map[string]int{}, near: map[string]int{}}
}

// skips counts the connection, and reports whether the filter excludes it.
func (s *summary) skips(c *track.Conn) bool {
	s.seen++
	return !s.a.filter.hasConn(c, s.first)
}

// add adds a connection. It prints its lines of JSON or CSV.
func (s *summary) add(c *track.Conn) error {
	if err := s.printConn(c); err != nil {
		return err
	}
	s.count(c)
	lost := false
	for i := range c.Flows {
		f := &c.Flows[i]
		for _, e := range f.Episodes {
			if !s.a.filter.hasTime(e.Seen, s.first) {
				continue
			}
			lost = true
			if err := s.episode(c, f, e); err != nil {
				return err
			}
		}
	}
	if lost {
		s.lossy++
	}
	return nil
}

// printConn prints the line of a connection, without its episodes.
func (s *summary) printConn(c *track.Conn) error {
	switch {
	case s.a.asJSON:
		return s.a.enc.Encode(c.Record(s.file))
	case s.a.csvConns:
		r := c.Record(s.file)
		for _, row := range flowRows(&r) {
			if err := s.a.csv.Write(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// count adds a connection to the sums, without its episodes.
func (s *summary) count(c *track.Conn) {
	s.conns++
	s.copies += c.Copies
	s.badSums += c.BadChecksums
	s.oddSums += c.BadChecksumsUsed
	s.clockSteps += int64(c.ClockSteps)
	switch c.Flows[0].Vantage {
	case track.AtSender, track.AtReceiver:
		s.near["a host"]++
	case track.AtBoth:
		s.near["both hosts"]++
	case track.InTheMiddle:
		s.near["between the hosts"]++
	default:
		s.near["unknown"]++
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		s.bytes += f.Bytes
		s.retransmissions += f.Retransmissions
		s.reordered += f.Reordered
		s.keepalives += f.Keepalives
		s.probes += f.WindowProbes
		s.zeroWindows += f.ZeroWindows
		s.stalled += f.ZeroWindowTime
		s.unseen += f.UnseenBytes
		s.stale += f.Stale
		s.delayed += f.Delayed.Count
		if f.Timers.Gaps > 0 {
			s.timers[cmp.Or(f.Timers.Best, "none known")]++
		}
	}
}

func (s *summary) episode(c *track.Conn, f *track.Flow, e *track.Episode) error {
	s.episodes++
	s.spurious += e.SpuriousCount
	k := &s.kinds[e.Kind]
	k.n++
	k.d.add(e.D)
	k.waited += e.D
	if e.Repaired {
		k.tRec.add(e.TRec)
	}
	switch e.Spurious {
	case track.Spurious:
		k.spurious++
	case track.Undecided:
		k.unknown++
	}
	switch {
	case s.a.asJSON:
		return s.a.enc.Encode(f.Record(s.file, e))
	case s.a.csvConns:
		return nil
	case s.a.asCSV:
		r := f.Record(s.file, e)
		return s.a.csv.Write(episodeRecordRow(&r))
	}
	s.rows = append(s.rows, episodeRow{
		conn: c.ID, flow: f.Src.String() + " > " + f.Dst.String(), packet: e.DetectedPacket, at: e.Seen, kind: e.Kind.String(),
		verdict: e.Spurious.String(), retransmissions: e.Total, d: e.D, tRec: e.TRec, tax: e.TimerTax, repaired: e.Repaired, hasTax: e.HasIdealD,
	})
	if !s.a.all && len(s.rows) >= 4*(s.a.top+64) {
		s.longest()
	}
	return nil
}

// longest keeps the rows of the table.
func (s *summary) longest() {
	slices.SortStableFunc(s.rows, func(a, b episodeRow) int {
		return cmp.Or(cmp.Compare(b.length(), a.length()), cmp.Compare(a.packet, b.packet))
	})
	s.rows = s.rows[:min(len(s.rows), s.a.top)]
}

// length is the known length of an episode.
func (r *episodeRow) length() time.Duration { return max(r.d, r.tRec) }

// fileRecord is the last line of JSON of a file.
//
//	type              "file"
//	file
//	packets, tcp      all packets, and TCP segments
//	skipped           packets that are not TCP segments, by reason
//	connections       that pass the filter
//	lossy             of these, with an episode
//	episodes
//	evicted           connections given up to bound memory
//	cut_short         true if the file is truncated; it is analysed up to there
type fileRecord struct {
	Type     string           `json:"type"`
	File     string           `json:"file"`
	Packets  int64            `json:"packets"`
	TCP      int64            `json:"tcp"`
	Skipped  map[string]int64 `json:"skipped,omitempty"`
	Conns    int              `json:"connections"`
	Lossy    int              `json:"lossy"`
	Episodes int              `json:"episodes"`
	Evicted  int              `json:"evicted,omitempty"`
	Cut      bool             `json:"cut_short,omitempty"`
}

// write prints the rest of the output.
func (s *summary) write() error {
	if (s.a.asCSV || s.a.asJSON) && s.conns == 0 && s.seen > 0 {
		fmt.Fprintf(s.a.stderr, "tcpwheel: analyze: %s: %s\n", s.file, s.a.filter.unmatched())
	}
	switch {
	case s.a.asCSV:
		s.a.csv.Flush()
		return s.a.csv.Error()
	case s.a.asJSON:
		r := fileRecord{
			Type: "file", File: s.file, Packets: s.stats.Packets, TCP: s.stats.TCP, Conns: s.conns, Lossy: s.lossy, Episodes: s.episodes,
			Evicted: s.evicted, Cut: s.cut,
		}
		for _, why := range capture.Reasons() {
			if n := s.stats.Skipped[why]; n > 0 {
				if r.Skipped == nil {
					r.Skipped = map[string]int64{}
				}
				r.Skipped[why.String()] = n
			}
		}
		return s.a.enc.Encode(r)
	}
	var b strings.Builder
	if s.a.printed {
		b.WriteByte('\n')
	}
	s.a.printed = true
	s.print(&b)
	_, err := io.WriteString(s.a.stdout, b.String())
	return err
}

// print writes the summary and the table.
func (s *summary) print(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s in %s, %s with %s\n", s.file, plural(s.stats.TCP, "TCP packet"), shortSpan(s.stats.Last.Sub(s.stats.First)),
		plural(int64(s.conns), "connection"), byteText(s.bytes))
	if line := unusedPackets(s.stats); line != "" {
		wrapText(b, "", strings.Split(line, ", "))
	}
	if s.evicted > 0 {
		fmt.Fprintf(b, "connections given up before their end, to bound memory (--max-conns): %d\n", s.evicted)
	}
	if s.cut {
		fmt.Fprintln(b, "the file is cut short")
	}
	if line := joined(s.near); line != "" {
		fmt.Fprintf(b, "point of capture, by connections: %s\n", line)
	}
	if all := s.remarks(); len(all) > 0 {
		wrapText(b, "seen: ", all)
	}
	switch {
	case s.conns == 0 && s.stats.TCP == 0:
		fmt.Fprintln(b, "no TCP in it")
		return
	case s.conns == 0:
		fmt.Fprintf(b, "%s; the capture has %s\n", s.a.filter.unmatched(), plural(int64(s.seen), "connection"))
		return
	case s.episodes == 0:
		fmt.Fprintln(b, "no loss")
		return
	}
	fmt.Fprintf(b, "%s in %s: %s retransmitted, %d unnecessarily\n", plural(int64(s.episodes), "loss episode"),
		plural(int64(s.lossy), "connection"), plural(s.retransmissions, "packet"), s.spurious)
	if line := joined(s.timers); line != "" {
		fmt.Fprintf(b, "timers that fit, by flows: %s\n", line)
	}
	const row = "%-8s %8s %8s %8s %9s %9s %9s %9s\n"
	fmt.Fprintf(b, "\n"+row, "kind", "episodes", "spurious", "unknown", "D median", "D p95", "T_rec med", "T_rec p95")
	for kind := range s.kinds {
		if k := &s.kinds[kind]; k.n > 0 {
			fmt.Fprintf(b, row, track.Kind(kind), fmt.Sprint(k.n), fmt.Sprint(k.spurious), fmt.Sprint(k.unknown),
				k.d.quantile(0.5), k.d.quantile(0.95), k.tRec.quantile(0.5), k.tRec.quantile(0.95))
		}
	}
	s.table(b)
}

// table writes the episodes.
func (s *summary) table(b *strings.Builder) {
	if s.a.all {
		slices.SortStableFunc(s.rows, func(x, y episodeRow) int {
			return cmp.Or(cmp.Compare(x.conn, y.conn), cmp.Compare(x.at, y.at), cmp.Compare(x.packet, y.packet))
		})
	} else {
		s.longest()
	}
	if len(s.rows) == 0 {
		return
	}
	if s.a.all || len(s.rows) == s.episodes {
		fmt.Fprintln(b)
	} else {
		fmt.Fprintf(b, "\nthe %d longest of them (--all shows all)\n", len(s.rows))
	}
	const row = "%5s %8s %11s %-8s %-8s %5s %9s %9s %9s\n"
	fmt.Fprintf(b, row, "conn", "packet", "at", "kind", "spurious", "again", "D", "T_rec", "tax")
	flow := ""
	for _, r := range s.rows {
		tRec, tax := "-", "-"
		if r.repaired {
			tRec = shortSpan(r.tRec)
		}
		if r.hasTax {
			tax = shortSpan(r.tax)
		}
		if s.a.all && r.flow != flow {
			flow = r.flow
			fmt.Fprintf(b, "%5d %s\n", r.conn, flow)
		}
		fmt.Fprintf(b, row, fmt.Sprint(r.conn), fmt.Sprint(r.packet), fmt.Sprintf("%.6f", r.at.Sub(s.first).Seconds()), r.kind, r.verdict,
			fmt.Sprint(r.retransmissions), shortSpan(r.d), tRec, tax)
	}
}

// remarks lists other observations.
func (s *summary) remarks() []string {
	var all []string
	for _, r := range []struct {
		n    int64
		what string
	}{
		{s.copies, "packet captured twice"}, {s.reordered, "segment out of order"}, {s.keepalives, "keepalive"},
		{s.delayed, "delayed ACK"}, {s.zeroWindows, "zero window"}, {s.probes, "window probe"},
		{s.unseen, "byte acknowledged and never captured"}, {s.stale, "packet with a stale timestamp"},
		{s.badSums, "packet damaged on the path"}, {s.oddSums, "packet with a meaningless wrong checksum"},
		{s.clockSteps, "step back of the clock"},
	} {
		if r.n > 0 {
			all = append(all, plural(r.n, r.what))
		}
	}
	if s.stalled > 0 {
		all = append(all, "windows closed for "+shortSpan(s.stalled))
	}
	return all
}
