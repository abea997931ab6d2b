package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/record"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
)

// print writes the answer in two sentences, one table, and with --details everything else.
func (s *summary) print(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s in %s, %s with %s\n", quantity.Printable(s.file), quantity.Count(s.stats.TCP, "TCP packet"), track.SpanText(s.stats.Last.Sub(s.stats.First)),
		quantity.Count(s.losses.Conns, "connection"), pages.BytesText(s.bytes))
	switch {
	case s.losses.Conns == 0 && s.stats.TCP > 0:
		fmt.Fprintf(b, "%s; the capture has %s\n", s.a.filter.unmatched(), quantity.Count(s.seen, "connection"))
		return
	case s.losses.Conns > 0:
		for _, line := range s.losses.Sentences() {
			b.WriteString(paragraph(line))
		}
	}
	for _, line := range s.warnings() {
		b.WriteString(paragraph(line))
	}
	if s.a.explain > 0 {
		s.explain(b)
		return
	}
	s.table(b)
	s.printLimits(b)
	if s.a.details {
		s.details(b)
	}
}

// explain writes what the episode of --explain rests on.
func (s *summary) explain(b *strings.Builder) {
	if s.explained == nil {
		fmt.Fprintf(b, "\nPacket %d is no retransmission of an episode: it is new data, a copy, overtaken, or no TCP.\n", s.a.explain)
		return
	}
	fmt.Fprintln(b)
	for _, line := range s.explained {
		b.WriteString(paragraph(line))
	}
}

// warnings says what limits the answer, and what to do about it.
func (s *summary) warnings() (all []string) {
	if s.losses.Conns == 0 && s.stats.TCP == 0 {
		all = append(all, "No TCP in it.")
	}
	if s.cut {
		all = append(all, "The file is cut short: what comes before the cut was analysed.")
	}
	if s.losses.Episodes > 0 && s.oneWay == s.lossy {
		all = append(all, "The losses are in connections with one direction only: capture at a point that sees both.")
	}
	if s.stalled >= 100*time.Millisecond {
		all = append(all, "Besides, receivers had closed their windows for "+track.SpanText(s.stalled)+": their applications did not read.")
	}
	if s.stats.Dropped > 0 {
		all = append(all, fmt.Sprintf("The capture missed %s by its own account: capture with a larger buffer (tcpdump -B).", quantity.Count(s.stats.Dropped, "packet")))
	}
	if s.stats.TCP > 1 && s.stats.First == s.stats.Last {
		all = append(all, "All time stamps are equal: times cannot be given. Capture with a clock.")
	}
	if s.evicted > 0 {
		all = append(all, fmt.Sprintf("%s were completed early, to bound memory: analyze parts of the capture (--from, --to).", quantity.Count(s.evicted, "connection")))
	}
	if n := s.hosts.LeftOut; n > 0 {
		all = append(all, fmt.Sprintf("The list of hosts lacks %s, to bound memory.", quantity.Count(n, "host")))
	}
	return all
}

// details writes the point of capture, other observations, a table by kind, and the timers of
// hosts.
func (s *summary) details(b *strings.Builder) {
	fmt.Fprintln(b)
	if line := unusedPackets(s.stats); line != "" {
		b.WriteString(paragraph(line))
	}
	if line := joined(s.near); line != "" {
		fmt.Fprintf(b, "point of capture, by connections: %s\n", line)
	}
	if s.losses.Episodes == 0 {
		return
	}
	fmt.Fprintf(b, "%s in %s: %s retransmitted, %d unnecessarily\n", quantity.Count(s.losses.Episodes, "loss episode"),
		quantity.Count(s.lossy, "connection"), quantity.Count(s.retransmissions, "packet"), s.spurious)
	b.WriteString("\nD + A + P = T_rec of the repaired episode with the median T_rec, by kind\n" + kindLayout.Head())
	for kind := range s.kinds {
		k := &s.kinds[kind]
		if k.n == 0 {
			continue
		}
		row := kindRow{Kind: track.Kind(kind), N: k.n, Spurious: k.spurious, Undecided: k.undecided, Repaired: k.repairs.Seen()}
		if r, ok := k.median(); ok {
			row.D, row.A, row.P, row.TRec = &r.d, &r.a, &r.p, &r.tRec
		}
		b.WriteString(kindLayout.Row(&row))
	}
	s.printHosts(b)
}

// kindRow is a row of the table by kind.
type kindRow struct {
	Kind      track.Kind     `head:"kind"`
	N         int            `head:"episodes"`
	Spurious  int            `head:"spurious"`
	Undecided int            `head:"undecided"`
	Repaired  int            `head:"repaired"`
	D         *time.Duration `head:"D"`
	A         *time.Duration `head:"A"`
	P         *time.Duration `head:"P"`
	TRec      *time.Duration `head:"T_rec"`
}

// The tables.
var (
	kindLayout    = record.NewLayout[kindRow]("%-8Kind %8N %8Spurious %9Undecided %8Repaired %8D %8A %8P %8TRec")
	hostLayout    = record.NewLayout[track.HostRecord]("%-39addr %6stalls %9time_lost_s %9timer_wait_s  %Answer")
	episodeLayout = record.NewLayout[track.Episode](
		"%4conn %6retransmission_packet %8.3at_s %-7kind %6spurious %4retransmissions %7d_s %7a_s %7p_s %7t_rec_s %7time_lost_s")
)

// printHosts writes which timers the hosts had that retransmitted.
func (s *summary) printHosts(b *strings.Builder) {
	var rows []track.HostRecord
	for _, h := range s.hosts.List() {
		if h.Gaps > 0 || h.Stalls > 0 {
			rows = append(rows, h.Record(s.file))
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n" + hostLayout.Table(rows))
	}
}

// table writes the episodes: the longest stalls, or all by connection.
func (s *summary) table(b *strings.Builder) {
	if s.a.all {
		slices.SortStableFunc(s.rows, func(x, y track.Episode) int {
			return cmp.Or(cmp.Compare(x.Conn, y.Conn), cmp.Compare(x.At, y.At), cmp.Compare(x.DetectedPacket, y.DetectedPacket))
		})
	} else {
		s.rows = pages.Longest(s.rows, s.a.top)
	}
	if len(s.rows) == 0 {
		return
	}
	if s.a.all || len(s.rows) == s.losses.Episodes {
		fmt.Fprintln(b)
	} else {
		more := "--all shows all"
		if s.a.live != nil {
			more = "--top shows more"
		}
		fmt.Fprintf(b, "\nthe %d longest of %d (%s, --details the timers of hosts)\n", len(s.rows), s.losses.Episodes, more)
	}
	b.WriteString(episodeLayout.Head())
	flow := ""
	for i := range s.rows {
		r := &s.rows[i]
		if of := r.Src.String() + " > " + r.Dst.String(); s.a.all && of != flow {
			flow = of
			fmt.Fprintf(b, "%4d %s\n", r.Conn, flow)
		}
		b.WriteString(episodeLayout.Row(r))
	}
}

// joined returns the names by count: "sender 3, receiver 1".
func joined(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = name + " " + strconv.Itoa(counts[name])
	}
	return strings.Join(names, ", ")
}
