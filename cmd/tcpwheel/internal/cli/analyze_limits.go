package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
)

// limitedConn is a connection and what kept its sender from sending faster.
type limitedConn struct {
	conn  int
	bytes int64
	track.Limits
}

const (
	// mostLimited is how many connections are listed without --details.
	mostLimited = 3

	// leastLimited and leastSpan leave out what is too short to be slow.
	leastLimited = 20_000 // bytes
	leastSpan    = 200 * time.Millisecond
)

// limit keeps the direction of a connection that moved more bytes, if it was long enough.
func (s *summary) limit(c *track.Conn) {
	f := &c.Flows[0]
	if c.Flows[1].Bytes > f.Bytes {
		f = &c.Flows[1]
	}
	l, ok := f.Limits()
	if !ok || c.Twin || f.Bytes < leastLimited || l.Span() < leastSpan {
		return
	}
	s.limited = append(s.limited, limitedConn{c.ID, f.Bytes, l})
	slices.SortFunc(s.limited, func(x, y limitedConn) int { return cmp.Or(cmp.Compare(y.bytes, x.bytes), cmp.Compare(x.conn, y.conn)) })
	s.limited = s.limited[:min(len(s.limited), max(mostLimited, s.a.top))]
}

// printLimits writes a line or two for each of these connections.
func (s *summary) printLimits(b *strings.Builder) {
	all := s.limited
	if !s.a.details {
		all = all[:min(len(all), mostLimited)]
	}
	for i, l := range all {
		if i == 0 {
			b.WriteByte('\n')
		}
		percent := func(d time.Duration) string { return fmt.Sprintf("%.0f %%", 100*float64(d)/float64(l.Span())) }
		text := fmt.Sprintf("connection %d: %s at %s", l.conn, pages.BytesText(l.bytes), perSecond(uint64(l.bytes), l.Span()))
		if l.RTT50 > 0 {
			text += fmt.Sprintf(", RTT %s (p95 %s)", track.SpanText(l.RTT50), track.SpanText(l.RTT95))
		}
		text += fmt.Sprintf("; it waited %s for the receiver's window, %s for the application, %s for ACKs", percent(l.Receiver), percent(l.Application), percent(l.Congestion))
		b.WriteString(indented("", text))
	}
}
