package replay

import (
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// findEnd makes the Endpoint of an end, and finishes its tape.
func (b *builder) findEnd(d int) {
	f, g := &b.conn.Flows[d], &b.conn.Flows[1-d]
	size := b.streams[d].SegmentSize
	e := &b.captured.Ends[d]
	*e = Endpoint{Half: b.half[d], SACK: true, Timestamps: b.conn.HasTimestamps(), WScale: true, Window: 65535}
	if e.Timestamps {
		size += timestampOption
	}
	e.MSS = uint16(min(size, 65495))
	if f.HasSYN && g.HasSYN {
		e.SACK = f.SYN.SACKPermitted && g.SYN.SACKPermitted
		e.WScale = f.SYN.HasWScale && g.SYN.HasWScale
	} else {
		// The scale is not known: the window is as large as all that the peer sent, from 1 to 64
		// MiB.
		e.Window = uint32(max(1<<20, min(b.ends[1-d], 1<<26)))
		e.SACK = f.HasSYN && f.SYN.SACKPermitted || g.HasSYN && g.SYN.SACKPermitted || b.conn.Facts.AnySACK()
	}
	e.ACKDelay = g.Delayed.Median // of the ACKs of the peer's data

	var known arrived // of what the end sent, as far as it has heard
	writes := writeFinder{size: b.streams[d].SegmentSize, end: 1, next: 1, quiet: b.quiet(d), short: true, wroteAt: b.opened(d)}
	writes.received.take(0, 1) // the SYN, also if it was not captured
	limits := limitFinder{next: 1, by: -1}
	acks := newACKFinder(b.conn.Facts, b.ends[1-d], e.SACK)
	var timed timedFinder
	t := &b.captured.tapes[d]
	for x := range b.events(d) {
		x.news = !x.sends && x.ack > 0 && known.hear(b.conn.Facts, x, b.ends[d])
		if x.sends && !x.reset && x.start > 0 {
			e.Window = max(e.Window, uint32(min(x.p.Window, 1<<29)))
		}
		writes.take(x)
		limits.take(x, known.bytes(), writes.begin)
		acks.take(x)
		timed.take(x)
		if n := len(t.acks); !x.sends && (n == 0 || x.ack > t.acks[n-1].place) {
			t.acks = append(t.acks, ackSeen{x.at, x.ack})
		}
		if n := len(t.stamps); x.sends && x.p.HasTS && (n == 0 || int32(x.p.TSVal-t.stamps[n-1].ts) > 0) {
			t.stamps = append(t.stamps, stampAt{x.at, x.p.TSVal})
		}
	}
	t.sends = b.captured.Paths[d].sends()
	e.Writes, e.SendLimits, e.ACKs = writes.all, limits.all, acks.all
	if paths := &b.captured.Paths; paths[0].try(0, 2) == nil && paths[1].try(0, 2) == nil {
		e.FirstFlight = writes.flight
	} // RFC 5681 §3.1: after the loss of a SYN it is one segment, and shows nothing
	if b.half[d] == 0 {
		e.Timed = timed.all
	}
}

// quiet returns how long an end may be silent between two parts of one write: until an ACK of the
// first comes, or a probe leaves (RFC 8985 §7.2: two round trips).
func (b *builder) quiet(d int) time.Duration {
	trips := 1.5
	if slices.ContainsFunc(b.conn.Flows[d].Episodes, func(e *track.Episode) bool { return e.Kind == track.TLP }) {
		trips = 3
	}
	return max(time.Duration(trips*float64(b.streams[d].RoundTrip)), usualACKDelay)
}

// writeFinder finds what an application wrote when, from when its bytes were sent first.
type writeFinder struct {
	size  int64
	all   []Write
	quiet time.Duration // after longer without a packet new bytes are a new write
	reset bool          // it has ended the connection

	begin   int64 // of the last write
	end     int64 // of the last write, without its FIN
	next    int64 // what is not sent yet
	short   bool  // the last segment was not full: no more was written by then
	wroteAt wheel.Time
	busyAt  wheel.Time // when the last packet came or went

	// What the peer says.
	acked    int64
	ackedAt  wheel.Time // when it last made room
	ackBare  bool
	inFlight bool // before that ACK

	// What the peer sent.
	received arrived
	had      int64 // at the write before
	gotAt    wheel.Time

	anyACK      bool
	firstFlight int64  // bytes sent by the first ACK; 0: more followed without need
	flight      uint32 // the first, if more waited to be sent
}

// take takes in an event.
func (w *writeFinder) take(x *endEvent) {
	idle := x.at.Sub(w.busyAt)
	w.busyAt = x.at
	switch {
	case w.reset:
	case !x.sends:
		w.receive(x)
	case x.reset:
		w.reset = true
		w.add(x, 0, false)
	case x.first && x.end > w.next:
		w.send(x, idle)
	}
}

func (w *writeFinder) receive(x *endEvent) {
	if x.data() {
		was := w.received.una()
		w.received.take(x.start, x.end)
		if w.received.una() > was {
			w.gotAt = x.at
		}
	}
	if x.news || x.ack > w.acked {
		w.inFlight = w.acked < w.next && w.next > 1
		w.acked, w.ackedAt, w.ackBare = max(w.acked, x.ack), x.at, !x.data()
		if w.acked > 1 && !w.anyACK {
			w.anyACK, w.firstFlight = true, w.next-1
		}
	}
}

// send takes in new bytes that leave, after so long without a packet.
func (w *writeFinder) send(x *endEvent, idle time.Duration) {
	bytes := x.end - w.next // with what is missing before it, which was written no later
	fin := x.p.Flags.Has(tcp.FIN)
	if fin {
		bytes--
	}
	// An ACK made room for it.
	room := w.inFlight && w.ackBare && x.at.Sub(w.ackedAt) <= answerTime && x.at >= w.ackedAt && w.acked > 1
	// Bytes that waited for an ACK do not leave without one, unless they are a probe.
	w.short = w.short || idle > w.quiet
	n := len(w.all)
	switch {
	case n > 0 && bytes > 0 && !w.all[n-1].FIN && (!w.short || room && x.afterFull):
		w.all[n-1].Bytes += uint64(bytes)
		w.all[n-1].FIN = fin
		w.end += bytes
		if w.anyACK && w.firstFlight > 0 && w.flight == 0 && room {
			w.flight = uint32(min(w.firstFlight, 1<<24))
		}
	case bytes > 0 || fin:
		w.add(x, bytes, fin)
	}
	if w.anyACK && w.flight == 0 {
		w.firstFlight = 0
	}
	w.next = x.end
	w.short = bytes%w.size != 0 || x.p.Flags.Has(tcp.PSH) || bytes == 0
}

// add appends a write.
func (w *writeFinder) add(x *endEvent, bytes int64, fin bool) {
	write := Write{Bytes: uint64(bytes), FIN: fin, Reset: x.reset}
	if got := w.received.una(); got > w.had && got > 1 {
		write.Received, write.After = uint64(got), max(x.at.Sub(w.gotAt), 0)
	} else {
		write.After = max(x.at.Sub(w.wroteAt), 0)
	}
	w.all = append(w.all, write)
	w.begin, w.end = w.end, w.end+bytes
	w.had, w.wroteAt = w.received.una(), x.at
}

// limitFinder finds how much an end let into the network: for each number of bytes that it knew to
// have arrived, how many more it had sent when it stopped. Where it stopped for want of data, it
// might have sent more. What a timer sent, without an ACK, shows nothing.
type limitFinder struct {
	all   []tcp.SendLimit
	known int64       // the bytes that it knew to have arrived
	told  []delivered // ACKs since the last bytes left, and the last one before
	open  int         // limits from this one on may be for want of data
	next  int64       // what is not sent yet
	grew  bool        // told has more than the one before
	by    int64       // the limit that the last bytes left by; -1: none
	left  wheel.Time  // when they did
}

// take takes in an event, after which the end knows so many bytes to have arrived. The last write
// so far begins at a place.
func (l *limitFinder) take(x *endEvent, known, begin int64) {
	l.known = known
	switch {
	case x.news:
		l.hear(x.at)
	case x.sends && !x.reset:
		if x.data() && !x.first && len(l.told) > 0 {
			// What follows a retransmission was released by no ACK before the one that caused
			// that.
			l.told, l.by = l.told[len(l.told)-1:], -1
		}
		if x.first && x.end > l.next && (x.start > 0 || x.end > 1) {
			l.send(x, begin == l.next)
		}
	}
}

// hear takes in an ACK that reported more.
func (l *limitFinder) hear(at wheel.Time) {
	if !l.grew {
		l.told = l.told[:0]
	}
	l.grew = true
	l.told = append(l.told, delivered{at, l.known})
	l.sent(l.known)
}

// send takes in new bytes that leave. begins says that a write begins with them.
func (l *limitFinder) send(x *endEvent, begins bool) {
	if !begins { // they were there already, and waited
		for k := l.open; k < len(l.all); k++ {
			l.all[k].AtLeast = false
		}
	}
	l.next = x.end
	switch {
	case begins:
		l.by = l.known
	case !l.grew && l.by >= 0 && x.at.Sub(l.left) <= answerTime:
		// They left with those before them.
	case len(l.told) == 0 || x.at.Sub(l.told[len(l.told)-1].at) > answerTime:
		l.by = -1 // a timer sent them
	default:
		// A host that received several ACKs at once may have answered only the first by then.
		first := slices.IndexFunc(l.told, func(n delivered) bool { return x.at.Sub(n.at) <= ackTurnaround })
		if first < 0 {
			first = len(l.told) - 1
		}
		l.by = l.told[first].bytes
		l.told = l.told[first:]
	}
	if l.by >= 0 {
		l.sent(l.by)
	}
	l.grew, l.left = false, x.at
	l.open = max(len(l.all)-1, 0)
}

// sent notes that all before next had left when so many bytes were known to have arrived.
func (l *limitFinder) sent(arrived int64) {
	beyond := func(n int64) uint32 { return uint32(min(max(l.next-1-n, 0), 1<<30)) }
	k := len(l.all) - 1
	for k >= 0 && l.all[k].Delivered > uint64(arrived) {
		k--
	}
	if k < 0 || l.all[k].Delivered < uint64(arrived) {
		k++
		l.all = slices.Insert(l.all, k, tcp.SendLimit{Delivered: uint64(arrived), AtLeast: true})
	}
	l.all[k].Bytes = max(l.all[k].Bytes, beyond(arrived))
	for k++; k < len(l.all); k++ {
		l.all[k].Bytes = max(l.all[k].Bytes, beyond(int64(l.all[k].Delivered)))
	}
}
