package track

import (
	"fmt"

	"tcpwheel/internal/record"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// Outcome says what became of the attempt to open a connection, as far as the capture shows.
type Outcome uint8

const (
	Begun       Outcome = iota // begun before the capture
	Established                // by a handshake in the capture, or part of one with data behind it
	Refused                    // an end answered with a RST
	Unreachable                // an ICMP error said so: see Conn.UnreachableBy
	Unanswered                 // nothing answered a SYN or a SYN-ACK
	// The client had the SYN-ACK and sent data, but the server repeated its SYN-ACK and acknowledged
	// nothing: it never saw the client's packets, or never accepted the connection.
	Unheard

	Outcomes = int(iota) // the number of outcomes
)

var outcomeNames = [Outcomes]string{"begun", "established", "refused", "unreachable", "unanswered", "unheard"}

// String returns the name used in JSON.
func (o Outcome) String() string {
	if int(o) >= Outcomes {
		return fmt.Sprintf("Outcome(%d)", uint8(o))
	}
	return outcomeNames[o]
}

// MarshalText returns the name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads a name.
func (o *Outcome) UnmarshalText(name []byte) error { return record.ParseKey(o, Outcomes, name) }

// Keys implements record.Keyed.
func (Outcome) Keys() []any { return record.KeysTo[Outcome](Outcomes) }

// Never reports whether the connection was never established, at either end.
func (o Outcome) Never() bool { return o >= Refused && o != Unheard }

// isOneEvent reports whether the outcome says what the connection's retransmissions are about: they
// are no losses.
func (o Outcome) isOneEvent() bool { return o.Never() || o == Unheard }

// outcome returns what became of the connection so far.
func (c *Conn) outcome() Outcome {
	f, g := &c.Flows[0], &c.Flows[1]
	switch {
	case c.unheard():
		return Unheard
	case c.Handshake.Complete, f.HasSYN && f.spoke, g.HasSYN && g.spoke, f.synacked && g.synacked:
		return Established
	case f.HasSYN && g.DataPackets > 0, g.HasSYN && f.spoke:
		return Established // the rest of the handshake was not captured
	case !f.HasSYN && !g.HasSYN:
		if f.refuses(g) || g.refuses(f) {
			return Refused
		}
		return Begun
	case c.reset:
		return Refused
	case f.synacked && f.Retransmissions == 0, g.synacked && g.Retransmissions == 0:
		return Established // else the SYN-ACK would have been retransmitted
	case c.UnreachableBy.IsValid():
		return Unreachable
	}
	return Unanswered
}

// unheard reports whether the server repeated its SYN-ACK after the client's ACK, and sent nothing
// else but RSTs. It counts the SYN-ACKs.
func (c *Conn) unheard() bool {
	f, g := &c.Flows[0], &c.Flows[1]
	if !c.Handshake.Complete || g.spoke || f.DataPackets == 0 || f.seenUna > 1 {
		return false
	}
	for _, e := range g.Episodes {
		for _, r := range e.kept {
			if r.Packet > c.Handshake.ACK {
				c.SYNACKsRepeated++
			}
		}
	}
	return c.SYNACKsRepeated > 0
}

// refuses reports whether Src knows no such connection: it answers g with RSTs alone, and most
// packets.
func (s *Sent) refuses(g *Flow) bool { return !s.spoke && 2*s.resets >= g.Packets && s.resets > 0 }

// noteSpoke counts what p, which is no copy, shows about the outcome.
func (s *Sent) noteSpoke(p *capture.Packet) {
	switch flags := p.Header.Flags; {
	case flags.Has(tcp.RST):
		s.resets++
	case !flags.Has(tcp.SYN):
		s.spoke = true
	}
}

// dropOpening drops the episodes of a connection that was never established: its outcome says what
// became of it, and nothing was there to wait for data.
func (c *Conn) dropOpening() {
	c.dropEpisodes()
	for i := range c.Flows {
		f := &c.Flows[i]
		f.ZeroWindows, f.ZeroWindowTime, f.window = 0, 0, window{} // of RSTs
	}
}

// dropEpisodes drops the episodes of a connection that is not finished yet.
func (c *Conn) dropEpisodes() {
	for i := range c.Flows {
		f := &c.Flows[i]
		f.abandonEpisode()
		for _, e := range f.Episodes {
			e.settled = true // Config.Settled does not get it
		}
		f.Episodes, f.EpisodesDropped = nil, 0
	}
}
