package replay

import (
	"time"

	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// builder makes a CapturedConn of the facts of a connection. It reads no header: what packets mean,
// and what became of them, is the tracker's.
type builder struct {
	conn      *track.Conn
	streams   *[2]track.Stream // without their ledgers, once the paths and tapes are made
	ends      [2]int64         // the streams'
	bare      [2]int           // packets of each end without bytes
	half      [2]time.Duration // the round trip from the point of capture to each end
	epoch     wheel.Time
	captured  *CapturedConn
	afterFull []bool // by fact: the bytes before it left in a full segment
}

// build makes the CapturedConn of a connection that is complete and has facts.
func build(c *track.Conn) (*CapturedConn, error) {
	switch {
	case c.Facts.TooMany:
		return nil, refuse("it has more than %d packets, or all open connections together more than %d", maxPackets, maxRecorded)
	case c.Flows[0].Packets == 0 || c.Flows[1].Packets == 0:
		return nil, refuse("the capture has one direction only: capture at a point that sees both")
	case c.OptionsCut*mostCut > c.Packets:
		return nil, refuse("the TCP options of its packets are cut off: capture at least 128 bytes of each packet")
	case c.Unordered:
		return nil, refuse("its packets are not in order in the file")
	case c.End == track.Evicted:
		return nil, refuse("too many connections were open at once to follow it to its end: filter the capture")
	}
	b := &builder{conn: c, streams: c.Streams(), captured: &CapturedConn{
		Vantage: c.Flows[0].Vantage.String(), ClockError: c.ClockBack, origin: c.Origin, facts: c.Facts, handshake: c.Flows[0].HasSYN && c.Flows[1].HasSYN,
	}}
	if len(b.streams[0].Sent)+len(b.streams[1].Sent) == 0 {
		return nil, refuse("neither side sent any data")
	}
	b.captured.segments = [2]int64{b.streams[0].SegmentSize, b.streams[1].SegmentSize}
	b.half = [2]time.Duration{b.streams[0].Near, b.streams[1].Near}
	rtt := b.streams[0].RoundTrip
	coarse := false // an end at the point of capture may answer at once
	for d := range c.Flows {
		r := &c.Flows[d].RTT
		coarse = coarse || b.half[1-d] > 0 && r.Coarse() && r.Min > sameInstant
	}
	switch {
	case rtt > 0 && c.ClockBack > sameInstant && rtt <= clockPart*c.ClockBack:
		return nil, refuse("the clock of the capture was set back by %s, which is too much for round trips of %s", track.SpanText(c.ClockBack), track.SpanText(rtt))
	case rtt > 0 && !coarse:
	case c.Flows[0].RTT.Samples+c.Flows[1].RTT.Samples > 0 || c.Handshake.Complete:
		return nil, refuse("the clock of the capture is too coarse to show a round trip: capture with stamps of a microsecond or finer")
	default:
		return nil, refuse("no round-trip time can be measured: capture the handshake, or data together with its ACKs")
	}
	b.findEpoch()
	for _, x := range c.Facts.All() {
		b.bare[x.Flow] += count(x.Len == 0)
	}
	s := b.captured
	last := b.conn.Facts.At(c.Facts.Len() - 1).Seen
	s.Epoch, s.End, s.IPv6 = b.epoch, b.virtual(last), c.Flows[0].Src.Addr().Is6()
	for d := range s.Paths {
		s.Paths[d] = b.trace(d, rtt)
	}
	b.findBegin(rtt)
	b.afterFull = make([]bool, c.Facts.Len())
	for d := range s.Paths {
		b.deliveries(d)
		b.findLosses(d)
		b.ends[d] = b.streams[d].End()
		b.streams[d].Ledger = ledger.Ledger{} // it is large
	}
	for d := range s.Ends {
		b.findEnd(d)
	}
	b.judgeLosses()
	return s, nil
}

// findEpoch finds when virtual time begins: at a whole second, with room for a handshake.
func (b *builder) findEpoch() {
	first := b.conn.Facts.At(0).Seen
	b.epoch = first - first%wheel.Time(time.Second)
	for first.Sub(b.epoch) < b.half[0]+b.half[1]+time.Second {
		b.epoch -= wheel.Time(time.Second)
	}
}

func (b *builder) virtual(at wheel.Time) wheel.Time { return wheel.Time(at.Sub(b.epoch)) }

// left returns when a packet left its end.
func (b *builder) left(x *track.Fact) wheel.Time { return b.virtual(x.Sent.Add(-b.half[x.Flow] / 2)) }

// leftAt returns when a transmission left the source of its stream.
func (b *builder) leftAt(p *track.Stream, t *ledger.Transmission) wheel.Time {
	return b.virtual(t.At.Add(-t.Queued - p.Near/2))
}

// timestampOption is what the timestamps option takes of a segment, padded (RFC 7323 §A).
const timestampOption = 12

// findBegin finds when the connection begins, and what the capture leaves open.
func (b *builder) findBegin(rtt time.Duration) {
	s := b.captured
	begin := b.left(b.conn.Facts.At(0))
	if len(b.streams[0].Sent) == 0 || b.streams[0].Sent[0].Start != 0 {
		// A handshake before the capture took a round trip, and the client's ACK half of one.
		begin = begin.Add(-2 * rtt)
		s.Notes = append(s.Notes, "the capture began after the handshake")
	}
	s.Begin = max(begin, 0)
	for d, f := range b.conn.Flows {
		if f.ZeroWindows > 0 {
			s.Notes = append(s.Notes, "the window of "+[2]string{"the server", "the client"}[d]+" was closed at times; in the replay it is not")
		}
	}
	if b.conn.ClockSteps > 0 {
		s.Notes = append(s.Notes, "the clock of the capture was set back")
	}
}

// fullBefore reports whether the bytes before a position left in a full segment.
func fullBefore(s *track.Stream, pos int64) bool {
	i := s.Find(pos - 1)
	return pos > 1 && i < len(s.Runs) && s.Runs[i].Len() >= s.SegmentSize
}
