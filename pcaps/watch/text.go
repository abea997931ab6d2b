package watch

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/record"
	"tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
)

func secondsText(s float64) string { return track.SpanText(time.Duration(s * float64(time.Second))) }

// Line returns the last minute as one line.
func (s *Snapshot) Line() string {
	a := &s.Minute.All
	line := fmt.Sprintf("%s %s: %d recoveries in %s, %s lost, %s of it waiting for timers", s.Time, s.Interface, a.Episodes,
		secondsText(s.Minute.Span), secondsText(a.TimeLost), secondsText(a.TimerWait))
	if a.P50 != nil {
		line += fmt.Sprintf(", T_rec p50 %s p95 %s p99 %s", secondsText(*a.P50), secondsText(*a.P95), secondsText(*a.P99))
	}
	return line + fmt.Sprintf(", %d spurious, %d uncertain; %d recovering; %.0f packets/s, %d dropped by the kernel", a.Spurious, s.UncertainMinute,
		s.Recovering, s.PacketRate, s.KernelDropped)
}

// Screen returns the last minute as lines for a terminal of 79 columns.
func (s *Snapshot) Screen() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %.0f packets/s, %s, %d recovering\n", s.Interface, s.PacketRate, quantity.Count(s.Connections, "connection"), s.Recovering)
	s.writeDoubts(&b, s.UncertainMinute, "in the last minute")
	fmt.Fprintf(&b, "\nThe last %.0f s:\n", s.Minute.Span)
	s.Minute.write(&b)
	if a := &s.Minute.All; a.Unrepaired > 0 {
		fmt.Fprintf(&b, "\nOf the unrepaired ones %d were never repaired, and %d cannot be measured.\n", a.Never, a.Unmeasured)
	}
	return b.String()
}

// Summary returns the whole run as text: a sentence, and the table.
func (s *Snapshot) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s, %s\n", s.Interface, quantity.Count(s.Packets, "TCP packet"), secondsText(s.Duration), report.BytesText(s.Bytes))
	if s.Sentence != "" {
		fmt.Fprintf(&b, "%s\n", s.Sentence)
	}
	s.writeDoubts(&b, s.Uncertain, "in all")
	if s.Total.All.Episodes > 0 {
		b.WriteString("\n")
		s.Total.write(&b)
	}
	return b.String()
}

// writeDoubts says what makes the numbers uncertain, if anything does.
func (s *Snapshot) writeDoubts(b *strings.Builder, uncertain int, when string) {
	if s.KernelDropped > 0 {
		fmt.Fprintf(b, "The kernel dropped %s: they came too fast to be read.\n", quantity.Count(s.KernelDropped, "packet"))
	}
	if s.Evicted > 0 {
		fmt.Fprintf(b, "%s evicted to bound memory: --max-conns allows more.\n", quantity.Count(s.Evicted, "connection"))
	}
	if uncertain > 0 {
		fmt.Fprintf(b, "%s uncertain %s, and not counted.\n", quantity.Count(uncertain, "recovery"), when)
	}
}

// The tables.
var (
	kindLayout = record.NewLayout[KindTally]("%-8kind %10episodes %8spurious %10unrepaired %9p50_s %9p95_s %9p99_s %9time_lost_s")
	hostLayout = record.NewLayout[Loser]("%-40name %10episodes %9time_lost_s")
	portLayout = record.NewLayout[Loser]("   %-6name %9time_lost_s")
)

// write writes the tables of a tally.
func (t *Tally) write(b *strings.Builder) {
	b.WriteString(kindLayout.Table(append(t.Kinds, t.All)))
	if len(t.Hosts) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%-40s %10s %9s   %-6s %9s\n", "most lost with host", "recoveries", "lost", "port", "lost")
	for i := range max(len(t.Hosts), len(t.Ports)) {
		line := strings.Repeat(" ", 61) + "\n"
		if i < len(t.Hosts) {
			line = hostLayout.Row(&t.Hosts[i])
		}
		if i < len(t.Ports) {
			line = strings.TrimSuffix(line, "\n") + portLayout.Row(&t.Ports[i])
		}
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}
