package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/pcaps/track"
)

// print writes the answer in two sentences, one table, and with --details everything else.
func (s *summary) print(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s in %s, %s with %s\n", s.file, plural(s.stats.TCP, "TCP packet"), track.SpanText(s.stats.Last.Sub(s.stats.First)),
		plural(int64(s.conns), "connection"), byteText(s.bytes))
	switch {
	case s.conns == 0 && s.stats.TCP == 0:
		fmt.Fprintln(b, "No TCP in it.")
	case s.conns == 0:
		fmt.Fprintf(b, "%s; the capture has %s\n", s.a.filter.unmatched(), plural(int64(s.seen), "connection"))
		return
	default:
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
	if s.cut {
		all = append(all, "The file is cut short: what comes before the cut was analysed.")
	}
	if s.episodes > 0 && s.oneWay == s.lossy {
		all = append(all, "The losses are in connections with one direction only: capture at a point that sees both.")
	}
	if s.stalled >= 100*time.Millisecond {
		all = append(all, "Besides, receivers had closed their windows for "+track.SpanText(s.stalled)+": their applications did not read.")
	}
	if s.stats.Dropped > 0 {
		all = append(all, fmt.Sprintf("The capture missed %s by its own account: capture with a larger buffer (tcpdump -B).", plural(int64(s.stats.Dropped), "packet")))
	}
	if s.stats.TCP > 1 && s.stats.First == s.stats.Last {
		all = append(all, "All time stamps are equal: times cannot be given. Capture with a clock.")
	}
	if s.evicted > 0 {
		all = append(all, fmt.Sprintf("%s were completed early, to bound memory: raise --max-conns.", plural(int64(s.evicted), "connection")))
	}
	if n := s.hosts.LeftOut; n > 0 {
		all = append(all, fmt.Sprintf("The list of hosts lacks %s, to bound memory.", plural(int64(n), "host")))
	}
	return all
}

// details writes the point of capture, other observations, a table by kind, and the timers of
// hosts.
func (s *summary) details(b *strings.Builder) {
	fmt.Fprintln(b)
	if line := unusedPackets(s.stats); line != "" {
		wrapText(b, "", strings.Split(line, ", "))
	}
	if line := joined(s.near); line != "" {
		fmt.Fprintf(b, "point of capture, by connections: %s\n", line)
	}
	if all := s.remarks(); len(all) > 0 {
		wrapText(b, "seen: ", all)
	}
	if s.episodes == 0 {
		return
	}
	fmt.Fprintf(b, "%s in %s: %s retransmitted, %d unnecessarily\n", plural(int64(s.episodes), "loss episode"),
		plural(int64(s.lossy), "connection"), plural(s.retransmissions, "packet"), s.spurious)
	const row = "%-8s %8s %8s %9s %8s %8s %8s %8s %8s\n"
	fmt.Fprintf(b, "\nD + A + P = T_rec of the repaired episode with the median T_rec, by kind\n"+row, "kind", "episodes", "spurious", "undecided", "repaired", "D", "A", "P", "T_rec")
	for kind := range s.kinds {
		k := &s.kinds[kind]
		if k.n == 0 {
			continue
		}
		times := []any{"-", "-", "-", "-"}
		if r, ok := k.repairs.median(); ok {
			times = []any{track.SpanText(r.d), track.SpanText(r.a), track.SpanText(r.p), track.SpanText(r.tRec)}
		}
		fmt.Fprintf(b, row, append([]any{track.Kind(kind), fmt.Sprint(k.n), fmt.Sprint(k.spurious), fmt.Sprint(k.undecided), fmt.Sprint(k.repairs.seen)}, times...)...)
	}
	s.printHosts(b)
}

// printHosts writes which timers the hosts had that retransmitted.
func (s *summary) printHosts(b *strings.Builder) {
	const row = "%-39s %6s %9s %9s  %s\n"
	head := false
	for _, h := range s.hosts.List() {
		if h.Gaps == 0 && h.Stalls == 0 {
			continue
		}
		if !head {
			head = true
			fmt.Fprintf(b, "\n"+row, "sender", "stalls", "lost", "on timers", "its timers")
		}
		timers := h.Timers()
		fmt.Fprintf(b, row, h.Addr, fmt.Sprint(h.Stalls), track.SpanText(h.TimeLost), track.SpanText(h.TimerWait), timers.String())
	}
}

// table writes the episodes: the longest stalls, or all by connection.
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
		fmt.Fprintf(b, "\nthe %d longest of %d (--all shows all, --details the timers of hosts)\n", len(s.rows), s.episodes)
	}
	const row = "%4s %6s %8s %-7s %6s %4s %7s %7s %7s %7s %7s\n"
	fmt.Fprintf(b, row, "conn", "packet", "at, s", "kind", "needed", "sent", "D", "A", "P", "T_rec", "lost")
	flow := ""
	for _, r := range s.rows {
		a, p, tRec := "-", "-", "-"
		if r.repaired {
			a, p, tRec = track.SpanText(r.a), track.SpanText(r.p), track.SpanText(r.tRec)
		}
		if s.a.all && r.flow != flow {
			flow = r.flow
			fmt.Fprintf(b, "%4d %s\n", r.conn, flow)
		}
		fmt.Fprintf(b, row, fmt.Sprint(r.conn), fmt.Sprint(r.packet), fmt.Sprintf("%.3f", r.at.Seconds()), r.kind, r.needed,
			fmt.Sprint(r.retransmissions), track.SpanText(r.d), a, p, tRec, track.SpanText(r.lost))
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
		all = append(all, "windows closed for "+track.SpanText(s.stalled))
	}
	return all
}
