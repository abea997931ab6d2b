package track

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// EventKind classifies a packet.
type EventKind uint8

const (
	SentNew       EventKind = iota // new data
	Retransmitted                  // a retransmission: Event.Retransmission
	Late                           // first transmission, captured out of order
	Missing                        // bytes not captured, though later ones or an ACK of them were
	Acked                          // an acknowledgement of the flow, in a packet of the other one
	Copy                           // a packet captured a second time, which counts for nothing
	Keepalive                      // a keepalive
	WindowProbe                    // a probe of a closed window, with one byte or none
	ResetSeen                      // a RST
	// A round trip from At to Seen, both by the sender's clock; Packet is the ACK.
	RTTSample
	Ignored // a packet that counts for nothing, and is no copy; only a Fact has this kind
)

// Event is one classification for Config.Event, in capture order. Time-sequence diagrams and
// replays are made of them. Positions count bytes from the flow's first sequence number, SYN and
// FIN included. An Event is valid until the callback returns.
type Event struct {
	Kind   EventKind
	Conn   *Conn // not complete yet
	Flow   *Flow // the flow whose bytes it is about
	Packet int64
	Flags  tcp.Flags  // of the packet; none for RTTSample
	Seen   wheel.Time // by the capture's clock
	// By the sender's clock; for Acked it equals Seen, and the sender has the ACK Flow.Lag later.
	At wheel.Time

	Start, End int64 // the bytes; for Acked both are SND.UNA
	Window     int64 // for Acked: bytes from Start on, -1 if the scale is unknown
	SACK       [4][2]int64
	NumSACK    int

	// For Retransmitted; kind and verdict are final once the connection is complete.
	Retransmission *Retransmission
}

// emit calls Config.Event, if set.
func (f *Flow) emit(kind EventKind, number int64, seen, at wheel.Time, start, end int64, r *Retransmission) {
	if f.conn.Facts != nil {
		f.conn.Facts.classify(kind, r)
	}
	if f.conn.cfg.Event != nil {
		f.emitEvent(kind, number, seen, at, start, end, r)
	}
}

func (f *Flow) emitEvent(kind EventKind, number int64, seen, at wheel.Time, start, end int64, r *Retransmission) {
	f.conn.cfg.Event(&Event{
		Kind: kind, Conn: f.conn, Flow: f, Packet: number, Flags: f.conn.flags, Seen: seen, At: at, Start: start, End: end, Retransmission: r,
	})
}

// emitACK emits an Acked event to Config.Event, which is set.
func (f hearing) emitACK(a *ack) {
	ev := &Event{
		Kind: Acked, Conn: f.conn, Flow: f.Flow, Packet: a.number, Flags: f.conn.flags, Seen: a.seen, At: a.seen, Start: a.pos, End: a.pos, Window: a.window,
		NumSACK: int(a.sacks),
	}
	for i, b := range a.sack[:a.sacks] {
		ev.SACK[i] = [2]int64{b.start, b.end}
	}
	f.conn.cfg.Event(ev)
}

// emitRTT emits an RTTSample event to Config.Event, which is set.
func (f hearing) emitRTT(sent wheel.Time, a *ack) {
	f.conn.cfg.Event(&Event{Kind: RTTSample, Conn: f.conn, Flow: f.Flow, Packet: a.number, Seen: a.at, At: sent, Start: a.pos, End: a.pos})
}
