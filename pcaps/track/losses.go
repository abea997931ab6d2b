package track

import (
	"fmt"
	"time"
)

// Losses adds up what the losses of a capture cost, and says it in words.
type Losses struct {
	Conns    int
	Time     time.Duration // of the connections, added up
	Episodes int
	Spurious int // episodes without a loss
	Stalls   int // episodes with time lost

	// TimeLost, TimerWait are those of Episode. Unrepaired is the part of TimeLost in episodes that
	// the capture does not see repaired.
	TimeLost, TimerWait, Unrepaired time.Duration

	longest     *Episode
	longestConn *Conn
}

// AddConn adds a connection without its episodes.
func (l *Losses) AddConn(c *Conn) {
	l.Conns++
	l.Time += span(c.First, c.Last)
}

// Add adds an episode of a connection. It keeps both if the episode is the longest stall.
func (l *Losses) Add(c *Conn, e *Episode) {
	l.Episodes++
	if e.Spurious == Spurious {
		l.Spurious++
	}
	if e.TimeLost == 0 {
		return
	}
	l.Stalls++
	l.TimeLost += e.TimeLost
	l.TimerWait += e.TimerWait
	if !e.Repaired {
		l.Unrepaired += e.TimeLost
	}
	if l.longest == nil || e.TimeLost > l.longest.TimeLost {
		longest, conn := *e, Conn{ID: c.ID, Origin: c.Origin}
		l.longest, l.longestConn = &longest, &conn
	}
}

// Sentences returns two sentences: how much time was lost to what, and about the longest stall. The
// second one is empty if there is none.
func (l *Losses) Sentences() (first, second string) {
	switch {
	case l.Episodes == 0:
		return "No loss.", ""
	case l.Stalls == 0 && l.Spurious == l.Episodes:
		return fmt.Sprintf("No time was lost: the retransmissions of %s were unnecessary.", countOf(l.Episodes, "episode")), ""
	case l.Stalls == 0:
		return fmt.Sprintf("No time was lost in %s.", countOf(l.Episodes, "loss episode")), ""
	}
	first = fmt.Sprintf("%s of %s were lost in %s", SpanText(l.TimeLost), SpanText(l.Time), countOf(l.Stalls, "stall"))
	if l.Conns > 1 {
		first = fmt.Sprintf("%s were lost in %s of %d connections that lasted %s together", SpanText(l.TimeLost), countOf(l.Stalls, "stall"), l.Conns, SpanText(l.Time))
	}
	waited := "none"
	if l.TimerWait > 0 {
		waited = SpanText(l.TimerWait)
	}
	first += ", " + waited + " of it waiting for timers"
	if l.Unrepaired > 0 {
		first += fmt.Sprintf("; %s of it in losses never repaired", SpanText(l.Unrepaired))
	}
	e := l.longest
	second = fmt.Sprintf("The longest stall took %s, from packet %d (at %.3f s, connection %d): %s.", SpanText(e.TimeLost), e.DetectedPacket,
		e.Seen.Sub(l.longestConn.Origin).Seconds(), l.longestConn.ID, e.story())
	return first + ".", second
}

// story says in words what happened in an episode.
func (e *Episode) story() (text string) {
	switch e.Kind {
	case SYN:
		text = "a lost SYN or SYN-ACK, retransmitted by a timer"
	case RTO:
		text = "a timeout"
	case TLP:
		text = "a tail loss probe"
	case Fast:
		text = "a loss that ACKs showed"
	case PMTU:
		text = "a segment too large for the path"
	case Probe:
		text = "probes of a closed window"
	default:
		text = "a retransmission that nothing captured explains"
	}
	n := e.Timeouts
	if e.Kind == RTO {
		n--
	}
	switch {
	case n == 1 && e.Kind == RTO:
		text += ", then another"
	case n == 1:
		text += ", then a timeout"
	case n > 1 && e.Kind == RTO:
		text += fmt.Sprintf(", then %d more", n)
	case n > 1:
		text += fmt.Sprintf(", then %d timeouts", n)
	}
	if !e.Repaired {
		text += ", without a repair"
	}
	return text
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
