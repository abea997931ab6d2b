package track

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// EventKind is what a packet was found to be.
type EventKind uint8

const (
	SentNew       EventKind = iota // octets for the first time
	Retransmitted                  // octets once more: Rexmit
	Late                           // octets that others have overtaken, for the first time
	Missing                        // octets that were not seen, as others behind them, or an ACK of them, were
	Acked                          // what a packet of the other direction says of this one
	Copy                           // a packet that was captured before, and counts for nothing
	Keepalive                      // a keepalive
	WindowProbe                    // a probe of a closed window, of an octet or none
	ResetSeen                      // a RST
	RTTSample                      // a round trip, from At to Seen, both by the sender's clock; Packet is that of the ACK
)

// Event is a part of what Config.Event is told, in the order of the capture: what time-sequence diagrams and replays are made of. Places
// count octets from the first number of the flow, SYN and FIN included. It is good until Event returns.
type Event struct {
	Kind   EventKind
	Conn   *Conn // which is not complete yet
	Flow   *Flow // whose octets it is about
	Packet int64
	Flags  tcp.Flags  // of that packet; none of Measured
	Seen   wheel.Time // by the capture
	At     wheel.Time // by the sender's clock; of Acked the same as Seen: Flow.Lag later the sender has it

	Start, End int64 // the octets; of Acked both are the first that is not acknowledged
	Window     int64 // of Acked: octets from there on, -1 if their scale is not known
	SACK       [4][2]int64
	NumSACK    int

	Retransmission *Retransmission // of Resent: Kind may still change, and the verdict is to come, until the connection is complete
}

// tell calls Config.Event, if there is one.
func (f *Flow) tell(kind EventKind, number int64, seen, at wheel.Time, start, end int64, r *Retransmission) {
	if f.conn.cfg.Event == nil {
		return
	}
	f.conn.cfg.Event(&Event{
		Kind: kind, Conn: f.conn, Flow: f, Packet: number, Flags: f.conn.flags, Seen: seen, At: at, Start: start, End: end, Retransmission: r,
	})
}

// tellACK does so for an ACK.
func (f *Flow) tellACK(a *ack) {
	if f.conn.cfg.Event == nil {
		return
	}
	ev := &Event{
		Kind: Acked, Conn: f.conn, Flow: f, Packet: a.number, Flags: f.conn.flags, Seen: a.seen, At: a.seen, Start: a.pos, End: a.pos, Window: a.window,
		NumSACK: int(a.sacks),
	}
	for i, b := range a.sack[:a.sacks] {
		ev.SACK[i] = [2]int64{b.start, b.end}
	}
	f.conn.cfg.Event(ev)
}

// tellMeasured does so for a round trip.
func (f *Flow) tellMeasured(sent wheel.Time, a *ack) {
	if f.conn.cfg.Event == nil {
		return
	}
	f.conn.cfg.Event(&Event{Kind: RTTSample, Conn: f.conn, Flow: f, Packet: a.number, Seen: a.at, At: sent, Start: a.pos, End: a.pos})
}
