package track

import "tcpwheel/wheel"

// EventKind is what a packet was found to be.
type EventKind uint8

const (
	Sent    EventKind = iota // octets for the first time
	Resent                   // octets once more: Rexmit
	Late                     // octets that others have overtaken, for the first time
	Missing                  // octets that were not seen, as others behind them, or an ACK of them, were
	Acked                    // what a packet of the other direction says of this one
)

// Event is a part of what Config.Event is told, in the order of the capture: what time-sequence diagrams and replays are made of. Places
// count octets from the first number of the flow, SYN and FIN included. It is good until Event returns.
type Event struct {
	Kind   EventKind
	Conn   *Conn // which is not complete yet
	Flow   *Flow // whose octets it is about
	Packet int64
	Seen   wheel.Time // by the capture
	At     wheel.Time // by the sender's clock; of Acked the same as Seen: Flow.Lag later the sender has it

	Start, End int64 // the octets; of Acked both are the first that is not acknowledged
	Window     int64 // of Acked: octets from there on, -1 if their scale is not known
	SACK       [4][2]int64
	NumSACK    int

	Rexmit *Rexmit // of Resent: Kind may still change, and the verdict is to come, until the connection is complete
}

// tell calls Config.Event, if there is one.
func (f *Flow) tell(kind EventKind, number int64, seen, at wheel.Time, start, end int64, r *Rexmit) {
	if f.conn.cfg.Event == nil {
		return
	}
	f.conn.cfg.Event(&Event{
		Kind: kind, Conn: f.conn, Flow: f, Packet: number, Seen: seen, At: at, Start: start, End: end, Rexmit: r,
	})
}

// tellACK does so for an ACK.
func (f *Flow) tellACK(a *ack) {
	if f.conn.cfg.Event == nil {
		return
	}
	ev := &Event{
		Kind: Acked, Conn: f.conn, Flow: f, Packet: a.number, Seen: a.seen, At: a.seen, Start: a.pos, End: a.pos, Window: a.window,
		NumSACK: int(a.sacks),
	}
	for i, b := range a.sack[:a.sacks] {
		ev.SACK[i] = [2]int64{b.start, b.end}
	}
	f.conn.cfg.Event(ev)
}
