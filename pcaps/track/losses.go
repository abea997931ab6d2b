package track

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
)

// Losses adds up what the losses of a capture cost, and says it in words.
type Losses struct {
	Conns     int // without twins
	Twins     int
	Unordered int // connections that are not in order in the file: they have no episodes
	Outcomes  [Outcomes]int
	Time      time.Duration // of the connections, added up
	Episodes  int
	Spurious  int // episodes without a loss
	Stalls    int // episodes with time lost

	TimeLost, TimerWait time.Duration // those of Episode

	NeverRepaired int           // episodes with data still missing at the end
	Unrepaired    time.Duration // how long that waited; no part of TimeLost

	// By direction, those of clients first: the packets captured, without copies, and how many the
	// capture lacks at least; see Flow.Lacking.
	Captured, Lacking [2]int64

	Unmeasured [Gaps]int // episodes whose end the capture lacks, by what shows it
	Undecided  int       // others that may have been unnecessary

	synacks int    // repeated in connections that are Unheard
	gaveUp  [2]int // of their clients and servers, with a RST
	unheard *Conn  // the first of them

	unreachableBy netip.Addr // who said first that a destination is unreachable
	byOthers      bool       // another one did so, too

	longest *Episode
}

// AddConn adds a connection without its episodes.
func (l *Losses) AddConn(c *Conn) {
	if c.Twin {
		l.Twins++
		return
	}
	l.Conns++
	l.Outcomes[c.Outcome]++
	if c.Unordered {
		l.Unordered++
	}
	l.Time += span(c.First, c.Last)
	for i := range c.Flows {
		l.Captured[i] += c.Flows[i].Packets - c.Flows[i].copiesSeen
		l.Lacking[i] += c.Flows[i].Lacking()
	}
	if c.Outcome == Unheard {
		l.addUnheard(c)
	}
	if c.Outcome == Unreachable && l.unreachableBy != c.UnreachableBy {
		if l.byOthers = l.unreachableBy.IsValid(); !l.byOthers {
			l.unreachableBy = c.UnreachableBy
		}
	}
}

func (l *Losses) addUnheard(c *Conn) {
	if l.synacks += c.SYNACKsRepeated; l.unheard == nil {
		l.unheard = &Conn{ID: c.ID, First: c.First, Last: c.Last}
	}
	for i := range c.Flows {
		if c.ResetBy == c.Flows[i].Src {
			l.gaveUp[i]++
		}
	}
}

// unheardWords words what became of connections whose servers never saw their clients' data.
func (l *Losses) unheardWords() string {
	ends := [2]string{"client", "server"}
	n := l.Outcomes[Unheard]
	if n == 1 {
		text := fmt.Sprintf("The server of connection %d never saw the client's data: its SYN-ACK was repeated %s", l.unheard.ID, quantity.Count(l.synacks, "time"))
		for i, who := range ends {
			if l.gaveUp[i] > 0 {
				return text + fmt.Sprintf(", and the %s gave up with a RST after %s.", who, SpanText(span(l.unheard.First, l.unheard.Last)))
			}
		}
		return text + "."
	}
	text := fmt.Sprintf("The servers of %d connections never saw the clients' data: SYN-ACKs were repeated %s", n, quantity.Count(l.synacks, "time"))
	for i, who := range ends {
		if l.gaveUp[i] > 0 {
			text += fmt.Sprintf(", and %s gave up with a RST", quantity.Count(l.gaveUp[i], who))
		}
	}
	return text + "."
}

// Add adds an episode. It keeps it if it is the longest stall.
func (l *Losses) Add(e *Episode) {
	l.Episodes++
	switch {
	case e.Gap != NoGap:
		l.Unmeasured[e.Gap]++
	case e.Unrepaired > 0:
		l.NeverRepaired++
		l.Unrepaired += e.Unrepaired
	case e.Spurious == Spurious:
		l.Spurious++
	case e.Spurious == Undecided && e.TimeLost == 0 && e.Repaired:
		l.Undecided++
	}
	if e.TimeLost == 0 {
		return
	}
	l.Stalls++
	l.TimeLost += e.TimeLost
	l.TimerWait += e.TimerWait
	if l.longest == nil || e.TimeLost > l.longest.TimeLost {
		l.longest = e
	}
}

// NeverEstablished returns how many connections were never established.
func (l *Losses) NeverEstablished() (n int) {
	for o := range l.Outcomes {
		if Outcome(o).Never() {
			n += l.Outcomes[o]
		}
	}
	return n
}

// Sentences returns the answer in sentences, at least one: how much time was lost to what, about
// the longest stall, about losses that were never repaired, about connections that were never
// established, and what could not be told.
func (l *Losses) Sentences() (all []string) {
	all = append(all, l.lost())
	if e := l.longest; e != nil {
		all = append(all, fmt.Sprintf("The longest stall took %s, from packet %d (at %.3f s, connection %d): %s.", SpanText(e.TimeLost), e.DetectedPacket,
			e.At.Seconds(), e.Conn, e.story()))
	}
	if n := l.NeverRepaired; n > 0 {
		all = append(all, fmt.Sprintf("%s never repaired: data waited for %s until the connection or its capture ended.", wereOf(n, "loss"), SpanText(l.Unrepaired)))
	}
	if n := l.NeverEstablished(); n > 0 {
		all = append(all, fmt.Sprintf("%d of %s were never established: %s.", n, quantity.Count(l.Conns, "connection"), l.outcomes()))
	}
	if l.Outcomes[Unheard] > 0 {
		all = append(all, l.unheardWords())
	}
	if n := l.Twins; n > 0 {
		all = append(all, fmt.Sprintf("%s captured at two places, as on both sides of a NAT: each counts once.", wereOf(n, "connection")))
	}
	if n := l.Unordered; n > 0 {
		all = append(all, fmt.Sprintf("The capture is not in order: packets of %s stand behind later ones. Nothing is said of their retransmissions before the file is sorted.", quantity.Count(n, "connection")))
	}
	return append(append(all, l.untold()...), l.incomplete()...)
}

// incomplete words what the capture lacks, if anything.
func (l *Losses) incomplete() []string {
	var parts []string
	for i, who := range [2]string{"clients", "servers"} {
		if n := l.Lacking[i]; n > 0 {
			all := n + l.Captured[i]
			parts = append(parts, fmt.Sprintf("%d of the %d packets of %s (%.2g %%)", n, all, who, 100*float64(n)/float64(all)))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"The capture lacks at least " + strings.Join(parts, ", and ") + "."}
}

// lost words the time lost.
func (l *Losses) lost() string {
	unmeasured := 0
	for _, n := range l.Unmeasured {
		unmeasured += n
	}
	switch {
	case l.Episodes == 0 && l.Unordered > 0 && l.Unordered == l.Conns:
		return "Losses cannot be told."
	case l.Episodes == 0 && l.Unordered > 0:
		return "No loss in the connections that are in order."
	case l.Episodes == 0:
		return "No loss."
	case l.Stalls == 0 && l.Spurious == l.Episodes:
		return fmt.Sprintf("No time was lost: the retransmissions of %s were unnecessary.", quantity.Count(l.Episodes, "episode"))
	case l.Stalls == 0 && unmeasured == l.Episodes:
		return fmt.Sprintf("The cost of %s cannot be measured.", quantity.Count(l.Episodes, "loss episode"))
	case l.Stalls == 0:
		return fmt.Sprintf("No time was lost in %s.", quantity.Count(l.Episodes-unmeasured, "loss episode"))
	}
	text := fmt.Sprintf("%s of %s were lost in %s", SpanText(l.TimeLost), SpanText(l.Time), quantity.Count(l.Stalls, "stall"))
	if l.Conns > 1 {
		text = fmt.Sprintf("%s were lost in %s of %d connections that lasted %s together", SpanText(l.TimeLost), quantity.Count(l.Stalls, "stall"), l.Conns, SpanText(l.Time))
	}
	waited := "none"
	if l.TimerWait > 0 {
		waited = SpanText(l.TimerWait)
	}
	return text + ", " + waited + " of it waiting for timers."
}

// outcomes words why connections were not established.
func (l *Losses) outcomes() string {
	var why []string
	for _, o := range []Outcome{Unanswered, Refused, Unreachable} {
		if n := l.Outcomes[o]; n > 0 {
			why = append(why, fmt.Sprintf("%d %s", n, o))
		}
	}
	switch text := strings.Join(why, ", "); {
	case l.byOthers:
		return text + fmt.Sprintf(" (by ICMP of %s and others)", l.unreachableBy)
	case l.unreachableBy.IsValid():
		return text + fmt.Sprintf(" (by ICMP of %s)", l.unreachableBy)
	default:
		return text
	}
}

// gapWords says what the capture lacks.
var gapWords = [Gaps]string{
	EchoGap:    "their sender echoes timestamps that were not captured",
	SilenceGap: "their sender waited too quietly to have had no ACK before",
	NoACKGap:   "it has no ACK without data",
}

// untold words what could not be told.
func (l *Losses) untold() (all []string) {
	for g, n := range l.Unmeasured {
		if n > 0 {
			all = append(all, fmt.Sprintf("%s cannot be measured, because the capture lacks ACKs: %s.", quantity.Count(n, "loss episode"), gapWords[g]))
		}
	}
	if n := l.Undecided; n > 0 {
		all = append(all, fmt.Sprintf("Whether the retransmissions of %s were needed cannot be told.", quantity.Count(n, "episode")))
	}
	return all
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
	return text
}

func wereOf(n int, noun string) string {
	if n == 1 {
		return quantity.Count(n, noun) + " was"
	}
	return quantity.Count(n, noun) + " were"
}
