package report

import (
	"fmt"
	"strings"

	"tcpwheel/internal/quantity"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Notes collects comments for packets of a capture: what each retransmission was, what was lost,
// and other findings.
type Notes struct {
	conns  map[*track.Conn]*connNotes
	all    map[int64]string
	octets int
	held   int // findings in conns
	missed int64
}

// connNotes holds the findings of a connection that is still open.
type connNotes struct {
	found []finding
	flows [2]windowNote
}

// windowNote says when a window closed.
type windowNote struct {
	closed bool
	since  wheel.Time
	packet int64
}

// finding is a finding about one packet.
type finding struct {
	packet int64
	rexmit *track.Retransmission // if not nil, text is made from it
	flow   int8
	text   string
}

const (
	maxNotes    = 256 << 20 // bytes of all comments
	maxFindings = 1 << 22   // findings of open connections
)

// NewNotes returns an empty set of comments.
func NewNotes() *Notes {
	return &Notes{conns: map[*track.Conn]*connNotes{}, all: map[int64]string{}}
}

// Missed returns how many comments were left out to bound memory.
func (n *Notes) Missed() int64 { return n.missed }

// Comment returns the comment of a packet, "" if there is nothing to say.
func (n *Notes) Comment(number int64) string { return n.all[number] }

// Event is track.Config.Event.
func (n *Notes) Event(ev *track.Event) {
	i := int8(0)
	if ev.Flow == &ev.Conn.Flows[1] {
		i = 1
	}
	var f finding
	switch ev.Kind {
	case track.Retransmitted:
		f.rexmit = ev.Retransmission
	case track.Late:
		f.text = "reordered: packets sent after it overtook it. It is not a retransmission."
	case track.Missing:
		n := ev.End - ev.Start
		f.text = fmt.Sprintf("%s before its data, or before what it acknowledges, %s not captured so far", quantity.Count(n, "byte"), were(n))
	case track.Copy:
		f.text = "a copy of an earlier packet: captured twice, not a retransmission"
	case track.Keepalive:
		f.text = "keepalive"
	case track.WindowProbe:
		f.text = "probe of a closed window"
	case track.Acked:
		w := &n.of(ev.Conn).flows[i]
		switch {
		case ev.Window == 0 && !w.closed:
			*w = windowNote{true, ev.Seen, ev.Packet}
			f.text = "closes the window"
		case ev.Window != 0 && w.closed:
			f.text = fmt.Sprintf("opens the window that packet %d closed %s before", w.packet, track.SpanText(ev.Seen.Sub(w.since)))
			*w = windowNote{}
		default:
			return
		}
	default:
		return
	}
	if n.held >= maxFindings {
		n.missed++
		return
	}
	n.held++
	c := n.of(ev.Conn)
	f.packet, f.flow = ev.Packet, i
	c.found = append(c.found, f)
}

// of returns the findings of a connection.
func (n *Notes) of(c *track.Conn) *connNotes {
	k := n.conns[c]
	if k == nil {
		k = &connNotes{}
		n.conns[c] = k
	}
	return k
}

// Skip drops the findings of a closed connection.
func (n *Notes) Skip(c *track.Conn) { n.take(c) }

// take removes and returns the findings of a connection.
func (n *Notes) take(c *track.Conn) []finding {
	k := n.conns[c]
	if k == nil {
		return nil
	}
	delete(n.conns, c)
	n.held -= len(k.found)
	return k.found
}

// Add turns the findings of a closed connection into comments. It skips episodes for which keep
// returns false; a nil keep takes all.
func (n *Notes) Add(c *track.Conn, keep func(*track.Episode) bool) {
	found := n.take(c)
	hidden := map[int64]bool{}
	for i := range c.Flows {
		f := &c.Flows[i]
		for _, e := range f.Episodes {
			if keep == nil || keep(e) {
				n.episode(f, e)
				continue
			}
			for j := range e.Retransmissions {
				hidden[e.Retransmissions[j].Packet] = true
			}
		}
	}
	for i := range found {
		x := &found[i]
		if x.rexmit == nil {
			n.note(x.packet, x.text)
			continue
		}
		if hidden[x.packet] {
			continue
		}
		n.retransmission(x.rexmit, c.Flows[x.flow].Timers().Best)
	}
}

// retransmission comments on a retransmission and on the packet that it repeats.
func (n *Notes) retransmission(r *track.Retransmission, timers string) {
	after := track.SpanText(r.Sent.Sub(r.PrevSent))
	text := "retransmission by " + causeText(r, timers)
	if r.Kind == track.Unknown {
		text = "retransmission, cause unknown"
	}
	if r.FirstPacket > 0 {
		text += fmt.Sprintf(", of packet %d", r.FirstPacket)
	}
	text += fmt.Sprintf(", %s after the previous transmission; %s", after, verdictText(r.Spurious, r.Evidence))
	n.note(r.Packet, text)
	if r.FirstPacket > 0 && r.FirstPacket != r.Packet {
		what := "was retransmitted"
		switch r.Spurious {
		case track.Necessary:
			what = "was lost and retransmitted"
		case track.Spurious:
			what = "was retransmitted unnecessarily"
		}
		n.note(r.FirstPacket, fmt.Sprintf("%s as packet %d (%s)", what, r.Packet, r.Kind))
	}
}

// episode comments on the packets that begin an episode and that show its repair.
func (n *Notes) episode(f *track.Flow, e *track.Episode) {
	text := fmt.Sprintf("a loss episode begins: D %s", track.SpanText(e.D))
	if e.Estimated {
		text += " (estimated: the previous transmission was not captured)"
	}
	if e.HasIdealD {
		text += fmt.Sprintf(", ideal %s (timer tax %s)", track.SpanText(e.IdealD), track.SpanText(e.TimerTax))
	}
	n.note(e.DetectedPacket, text)
	if e.Repaired {
		again := ""
		if e.A > 0 {
			again = " + A " + track.SpanText(e.A)
		}
		text := fmt.Sprintf("acknowledges the retransmission in packet %d: D %s%s + P %s = T_rec %s", e.RepairPacket, track.SpanText(e.D), again, track.SpanText(e.P), track.SpanText(e.TRec))
		if e.RTT > 0 {
			text += fmt.Sprintf(", %s more than an RTT", track.SpanText(e.Excess))
		}
		n.note(e.AckedPacket, text)
	}
	if e.Closed && e.EndedPacket != e.AckedPacket {
		n.note(e.EndedPacket, fmt.Sprintf("ends the loss episode that began at packet %d, after %s: everything then in flight is acknowledged", e.DetectedPacket, track.SpanText(e.Length)))
	}
}

// longestNote is the most bytes of a comment.
const longestNote = 4096

// note adds a sentence to a packet's comment.
func (n *Notes) note(packet int64, text string) {
	if packet <= 0 {
		return
	}
	old := n.all[packet]
	if old == "" {
		text = "tcpwheel: " + text
	} else {
		text = old + "\n" + text
	}
	if len(text) > longestNote || n.octets+len(text)-len(old) > maxNotes || strings.Contains(old, text) {
		n.missed++
		return
	}
	n.octets += len(text) - len(old)
	n.all[packet] = text
}

func were(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
