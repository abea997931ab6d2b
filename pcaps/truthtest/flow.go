package truthtest

import (
	"net/netip"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Sent is one transmission, SYN and FIN included.
type Sent struct {
	At             wheel.Time // ns since 1970
	Seq, End       tcp.Seq
	Una, Max       tcp.Seq // SND.UNA and SND.NXT before it
	Retransmission bool    // some of its bytes were sent before
	Arrived        bool

	// If Retransmission:
	Kind     track.Kind
	GoBack   bool // the timer had expired before (Kind is RTO)
	Opens    bool // it opens an episode
	InPlace  bool // a probe that left when a timeout may have been due
	Spurious bool // all its bytes arrived in earlier transmissions
}

// Ack is an advance of SND.UNA.
type Ack struct {
	At  wheel.Time
	Una tcp.Seq
}

// Flow is what one end of a connection sent.
type Flow struct {
	Src  netip.AddrPort
	Sent []Sent
	Acks []Ack

	seen [Points]map[int64]int // the transmission by the packet's mark, which is unique at its point
}

// Note records that the packet with that mark, as its number, is transmission i at a point.
func (f *Flow) Note(point Point, mark int64, i int) {
	if f.seen[point] == nil {
		f.seen[point] = map[int64]int{}
	}
	f.seen[point][mark] = i
}

// Transmission returns the transmission of the packet with that mark at a point.
func (f *Flow) Transmission(point Point, mark int64) (i int, ok bool) {
	i, ok = f.seen[point][mark]
	return i, ok
}

// Settle derives episodes and spurious retransmissions from the order of transmissions.
func (f *Flow) Settle() {
	var recover tcp.Seq
	var arrived ledger.Set
	open, next := false, int64(0)
	for i := range f.Sent {
		t := &f.Sent[i]
		start := t.Seq.Unwrap(next)
		bytes := ledger.Range{Start: start, End: t.End.Unwrap(start)}
		next = max(next, bytes.End)
		if t.Retransmission {
			if !open || t.Una.AtOrAfter(recover) {
				open, t.Opens, recover = true, true, t.Max
			}
			t.Spurious = arrived.Contains(bytes)
		}
		if t.Arrived {
			arrived.Add(bytes)
		}
	}
}

// Visible returns, for each transmission, whether a capture at the point shows that it is not the
// first: an earlier one was seen, or a gap.
func (f *Flow) Visible(point Point) []bool {
	seen, out := make([]bool, len(f.Sent)), make([]bool, len(f.Sent))
	for _, i := range f.seen[point] {
		seen[i] = true
	}
	var top tcp.Seq
	begun := false
	for i := range f.Sent {
		t := &f.Sent[i]
		out[i] = seen[i] && begun && top.After(t.Seq)
		if seen[i] && (!begun || t.End.After(top)) {
			top, begun = t.End, true
		}
	}
	return out
}
