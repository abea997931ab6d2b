package track

import (
	"fmt"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// Gap says why an episode cannot be measured: the capture lacks the ACK that ended it.
type Gap uint8

const (
	NoGap Gap = iota

	// EchoGap: Src echoed a timestamp that was never captured. So it had a packet of Dst that the
	// capture lacks, and the first captured ACK of the bytes need not be the first.
	EchoGap

	// SilenceGap: the first captured ACK came so long after the last transmission that Src would
	// have retransmitted again, had it not had another ACK before.
	SilenceGap

	// NoACKGap: no ACK without data was captured from Dst, though it must have sent some.
	NoACKGap

	Gaps = int(iota) // the number of gaps
)

var gapNames = [Gaps]string{"", "echo", "silence", "no-acks"}

// String returns the name used in JSON, "" for none.
func (g Gap) String() string {
	if int(g) >= Gaps {
		return fmt.Sprintf("Gap(%d)", uint8(g))
	}
	return gapNames[g]
}

// MarshalText returns the name.
func (g Gap) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads a name.
func (g *Gap) UnmarshalText(name []byte) error { return record.ParseKey(g, Gaps, name) }

// Keys implements record.Keyed.
func (Gap) Keys() []any { return record.KeysTo[Gap](Gaps)[1:] }

// echoes is what the timestamps show that Src echoes: whether they are timestamps of Dst, and
// whether Src has had packets of Dst that were not captured. RFC 7323 §3.2: "TSecr … echoes a
// timestamp value that was sent by the remote TCP"; some middleboxes and stacks put other numbers
// there.
type echoes struct {
	matched, odd uint16 // echoes that are timestamps of Dst; that cannot be
	first        uint32 // of Dst's timestamps
	hasFirst     bool

	// An echo newer than all timestamps captured by then. It may come: the capture's queues swap
	// packets of both directions.
	ahead    uint32
	hasAhead bool
	aheadAt  wheel.Time

	unseen   int64      // packets of Dst that Src has had and the capture lacks, at least
	unseenAt wheel.Time // when Src had echoed the last of them
}

// trusted reports whether the echoes are timestamps of Dst, as far as the capture shows.
func (e *echoes) trusted() bool { return e.odd == 0 || e.matched > 4*e.odd }

// noteEcho takes in an echo that p carries, other than the one before. stamps are Dst's timestamps.
func (e *echoes) noteEcho(echo uint32, stamps *tsLog, now wheel.Time) {
	if stamps.n == 0 {
		return
	}
	newest := stamps.before(0)
	switch d := int32(echo - newest.ts); {
	case d > 0:
		// No clock of timestamps is faster than one tick per µs.
		if time.Duration(d)*time.Microsecond > now.Sub(newest.at)+queueSkew+time.Second {
			e.odd++
			return
		}
		e.confirm(newest.ts)
		e.ahead, e.hasAhead, e.aheadAt = echo, true, now
	case stamps.has(echo):
		if e.matched < 1<<15 {
			e.matched++
		}
	case int32(echo-e.first) < -believable && e.odd < 1<<12:
		e.odd++ // else it may be of a packet before the capture
	}
}

// confirm takes in a timestamp of Dst. One beyond the echo that is ahead shows that the packet with
// that echo's timestamp will not come.
func (e *echoes) confirm(ts uint32) {
	if !e.hasAhead {
		return
	}
	if d := int32(ts - e.ahead); d >= 0 {
		e.hasAhead = false
		if d > 0 && e.trusted() {
			e.unseen++
			e.unseenAt = e.aheadAt
		}
	}
}

// has reports whether ts is among the last timestamps.
func (l *tsLog) has(ts uint32) bool {
	for i := range int(l.n) {
		if l.before(i).ts == ts {
			return true
		}
	}
	return false
}

// sentStamp reports whether an echo is a timestamp that Src has sent: one of its last ones, or one
// of a segment that an ACK up to pos covers.
func (f hearing) sentStamp(echo uint32, pos int64) bool {
	if f.stamps.has(echo) || f.una > 0 && f.ackedTS == echo {
		return true
	}
	for i := range f.board.len() {
		s := f.board.at(i)
		if s.start >= pos {
			break
		}
		if s.hasTS && (s.ts == echo || s.firstTS == echo) {
			return true
		}
	}
	return false
}

// gapBefore returns what shows that the first captured ACK of bytes last sent at a time is not the
// first ACK of them. That ACK arrived at acked, and wait is how long Src waited before that
// transmission.
func (f *Flow) gapBefore(sent, acked wheel.Time, wait time.Duration) Gap {
	proof := span(sent, acked)
	if f.echoes.unseenAt >= sent && f.echoes.unseenAt != 0 && f.echoes.unseenAt < acked {
		return EchoGap
	}
	if f.lacksACKs() {
		return NoACKGap
	}
	if f.RTT.Samples == 0 {
		return NoGap
	}
	usual := max(f.RTT.Max, f.minRTT())
	if f.RTT.Samples >= 4 && proof > 2*usual+maxAckDelay && proof > 3*max(wait, time.Second) {
		return SilenceGap
	}
	return NoGap
}

// lacksACKs reports whether the capture has no ACK without data, though some must have been sent:
// that of the handshake, or those of many segments in a row (RFC 1122 §4.2.3.2, "at least every
// second segment").
func (f *Flow) lacksACKs() bool {
	return f.bareACKs == 0 && f.other().bareACKs == 0 && f.DataPackets >= 8 && (f.conn.Handshake.SYN != 0 || f.owed >= 4)
}

// noteBare counts an ACK without data, for lacksACKs.
func (f hearing) noteBare(p *capture.Packet) {
	if p.Header.Flags&(tcp.ACK|tcp.RST) != tcp.ACK {
		return
	}
	if p.SegLen() == 0 {
		f.bareACKs++
	} else if f.bareACKs == 0 && f.pos(p.Header.Ack)-f.seenUna > 3*f.segmentSize() {
		f.owed++
	}
}

// Lacking returns how many packets of Src the capture lacks, as far as it shows: by bytes that were
// acknowledged and never captured, and by echoes of timestamps that were never captured. Each is a
// lower bound, and the larger counts. Steps of the IP identification show nothing: it may count
// packets of other connections. The connection is complete.
func (f *Flow) Lacking() int64 {
	if f.Packets == 0 {
		return 0
	}
	return max((f.UnseenBytes+f.segmentSize()-1)/f.segmentSize(), f.other().echoes.unseen)
}
