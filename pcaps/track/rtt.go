package track

import (
	"math"
	"slices"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// RTT summarises the round-trip times that the flow's sender could measure: of segments sent once
// (Karn's algorithm, RFC 6298 §3), or of those whose timestamp echo names the transmission.
type RTT struct {
	Samples   int64         `json:"samples" help:"of round trips from src to dst and back"`
	Min       time.Duration `json:"min_s"`
	Mean      time.Duration `json:"mean_s"`
	Max       time.Duration `json:"max_s"`
	Deviation time.Duration `json:"deviation_s"` // standard

	m2 float64 // sum of squared differences from the mean, ns²
	fm float64

	zeros int64 // samples of 0, which are none
}

// MarshalJSON returns the record.
func (r RTT) MarshalJSON() ([]byte, error) { return record.Marshal(r) }

func (r *RTT) add(d time.Duration) {
	d = max(d, 0)
	if r.Samples++; r.Samples == 1 {
		r.Min, r.Max = d, d
	}
	r.Min, r.Max = min(r.Min, d), max(r.Max, d)
	delta := float64(d) - r.fm
	r.fm += delta / float64(r.Samples)
	r.m2 += delta * (float64(d) - r.fm)
}

// Coarse reports whether so many samples were 0 that the least one is rather the resolution of the
// capture's clock than a round trip.
func (r *RTT) Coarse() bool { return 16*r.zeros > r.Samples }

// finish completes the summary. If most samples were 0, the others measured the clock's tick.
func (r *RTT) finish() {
	if r.zeros > r.Samples {
		*r = RTT{zeros: r.zeros}
	}
	if r.Samples > 0 {
		r.Mean = time.Duration(r.fm)
		r.Deviation = time.Duration(math.Sqrt(r.m2 / float64(r.Samples)))
	}
}

// ackRTT is what an ACK shows about the round-trip time.
type ackRTT struct {
	fack     int64 // end of the highest segment delivered before; only if hasFack
	hasFack  bool
	advanced bool
	segments int
	syn      bool // one of them is the SYN
	bytes    int64

	once        bool // a segment sent once was acknowledged: the first one, and the last
	first, last wheel.Time
	tainted     bool // so was one sent more than once
	sack        bool // a segment sent once was SACKed: the last sent
	sackAt      wheel.Time
	echoed      bool // the echo names the retransmission that was acknowledged
	echoedAt    wheel.Time
}

// sample is one round trip, in 16 bytes: connections have more of these than of anything else.
type sample struct {
	sent wheel.Time
	bits uint64 // the RTT above the lowest three, and two of these for expected
}

// newSample returns the round trip of a segment. From 1 to 4 of them are expected per RTT. Round
// says that it is the first of one.
func newSample(sent, acked wheel.Time, expected int, round bool) sample {
	rtt := min(span(sent, acked), math.MaxInt64>>3) // 36 years
	bits := uint64(rtt)<<3 | uint64(expected-1)<<1
	if round {
		bits |= 1
	}
	return sample{sent, bits}
}

func (s *sample) rtt() time.Duration { return time.Duration(s.bits >> 3) }
func (s *sample) acked() wheel.Time  { return s.sent.Add(s.rtt()) }
func (s *sample) expected() int      { return int(s.bits>>1&3) + 1 }
func (s *sample) round() bool        { return s.bits&1 != 0 }

// samples are recent round trips, at most four per RTT. That is enough for estimators, which forget
// soon, and for a median.
type samples struct {
	ring  []sample
	next  int // the oldest, once there are maxSamples
	unfed int // the last ones, which the models of timers have not had
	last  wheel.Time
	round int64 // the first ACK beyond this position begins the next round
}

const maxSamples = 64

// measure takes a round-trip time from an ACK.
func (f hearing) measure(a *ack, m *ackRTT) {
	var at wheel.Time
	switch {
	case m.once && !m.tainted:
		at = m.first
	case m.echoed:
		at = m.echoedAt
	case !m.advanced && m.sack && !f.view.afterTimeout:
		at = m.sackAt
	default:
		return
	}
	if f.conn.captured.wentBackBetween(at, a.at) {
		return
	}
	rtt := span(at, a.at)
	if rtt == 0 {
		f.RTT.zeros++ // below the resolution of the capture's clock
		return
	}
	f.RTT.add(rtt)
	if f.limiting != nil {
		f.limiting.round.Add(rtt, keptRounds)
	}
	if f.conn.cfg.Event != nil {
		f.emitRTT(at, a)
	}
	f.view.tlpOut = false
	if m.segments == 1 && a.pure {
		f.delay(m, rtt)
	}
	f.sample(at, a.at)
}

// sample keeps a round-trip time, unless the last kept one is too recent.
func (f hearing) sample(sent, acked wheel.Time) {
	r := &f.rtts
	round := f.una > r.round
	if !round && acked.Sub(r.last) < acked.Sub(sent)/4 {
		return
	}
	s := newSample(sent, acked, f.samplesExpected(), round)
	if round {
		r.round = f.max
	}
	r.last = acked
	if len(r.ring) < maxSamples {
		if len(r.ring) == cap(r.ring) {
			r.ring = f.conn.memory.samples.grow(r.ring, max(4*len(r.ring), 4))[:len(r.ring)]
		}
		r.ring = append(r.ring, s)
	} else {
		if r.unfed == maxSamples {
			f.fit() // the ring forgets the oldest
		}
		r.ring[r.next] = s
		r.next = (r.next + 1) % maxSamples
	}
	r.unfed++
}

// samplesExpected returns how many samples a round trip gives: one for two segments in flight, from
// 1 to 4.
func (f hearing) samplesExpected() int {
	switch flight, size := f.max-f.una, f.segmentSize(); { // a division takes longer
	case flight < 4*size:
		return 1
	case flight < 6*size:
		return 2
	case flight < 8*size:
		return 3
	}
	return 4
}

// medianRTT returns the median RTT of medianWithin before a time; without samples there, of all
// kept; 0 without any.
func (r *RoundTrips) medianRTT(before wheel.Time) time.Duration {
	var all [maxSamples]time.Duration
	near := all[:0]
	for i := range r.rtts.ring {
		s := &r.rtts.ring[i]
		if at := s.acked(); at <= before && before.Sub(at) <= medianWithin {
			near = append(near, s.rtt())
		}
	}
	if len(near) == 0 {
		for i := range r.rtts.ring {
			near = append(near, r.rtts.ring[i].rtt())
		}
	}
	if len(near) == 0 {
		return 0
	}
	slices.Sort(near)
	return (near[(len(near)-1)/2] + near[len(near)/2]) / 2
}

// MeasuresRTT reports whether Flow.RTT and the episodes' RTTs are round trips. Away from Src they
// lack the way to Src if nothing shows how long it is: no handshake, no data of Dst that Src
// acknowledges, no timestamps. At Dst no more is left than the delay of its ACKs.
func (f *Flow) MeasuresRTT() bool {
	return f.sourceRTT.known || f.Vantage != AtReceiver && f.Vantage != InTheMiddle
}

// minRTT returns the least round trip of the path, as far as known.
func (f *Flow) minRTT() time.Duration {
	if f.RTT.Samples == 0 {
		return f.sourceRTT.min + f.other().sourceRTT.min
	}
	return f.RTT.Min
}

// leastRTT is the least round trip between the point of capture and a host.
type leastRTT struct {
	known bool
	n     uint8 // samples, up to sureSamples
	min   time.Duration
}

// sure reports whether the least of a few samples is near the least possible one.
func (h *leastRTT) sure() bool { return h.n >= sureSamples }

func (h *leastRTT) add(d time.Duration) {
	d = max(d, 0)
	h.n = min(h.n+1, sureSamples)
	if !h.known || d < h.min {
		h.known, h.min = true, d
	}
}

// boundLag takes d for an upper bound of the lag. RTTs measured with a longer one were too long.
func (r *RoundTrips) boundLag(d time.Duration) {
	before := r.lag()
	r.sourceRTT.add(d)
	if after := r.lag(); after < before && r.RTT.Samples > 0 {
		r.RTT.Min = max(r.RTT.Min-(before-after), 1)
		if r.fitting != nil || len(r.rtts.ring) == maxSamples {
			r.fit() // with the samples as they were taken
		}
		for i := range r.rtts.ring {
			s := &r.rtts.ring[i]
			acked := maxTime(s.acked().Add(after-before), s.sent.Add(1))
			*s = newSample(s.sent, acked, s.expected(), s.round())
		}
	}
}

// measureSourceRTT measures the path between the point of capture and the host that sends the ACK.
func (f *Flow) measureSourceRTT(number tcp.Seq, now wheel.Time) {
	pos := f.pos(number)
	// Bytes received earlier, above a hole, are acknowledged late, when it is filled.
	if pos <= f.seenUna || f.board.sacked > 0 || f.view.dupACKs > 0 || f.episode != nil {
		return
	}
	i := f.board.find(pos - 1)
	if i >= f.board.len() {
		return
	}
	s := f.board.at(i)
	if s.start >= pos || s.transmissions != 1 || s.missing || s.filledLate {
		return
	}
	f.other().addSourceRTT(s.sent, now)
}

// addSourceRTT takes in a round trip between the point of capture and Src, unless the clock went
// back meanwhile.
func (f *Flow) addSourceRTT(from, to wheel.Time) {
	if !f.conn.captured.wentBackBetween(from, to) {
		f.sourceRTT.add(to.Sub(from))
	}
}

// firstSeen is a timestamp with the time at which it was first captured.
type firstSeen struct {
	ts uint32
	at wheel.Time
}

// tsLog holds a flow's last timestamps and the last one that was echoed.
type tsLog struct {
	ring    []firstSeen // of 4, or maxStamps
	echoed  uint32
	any     bool
	next, n uint8
	heardAt wheel.Time // the peer cannot have heard echoed before; 0 if unknown
}

const maxStamps = 16

// before returns the timestamp that i others have followed.
func (l *tsLog) before(i int) *firstSeen { return &l.ring[(int(l.next)-1-i)&(len(l.ring)-1)] }

func (l *tsLog) add(m *memory, s firstSeen) {
	if n := len(l.ring); int(l.n) == n && n < maxStamps {
		l.ring, l.next = m.stamps.grow(l.ring, max(4*n, 4)), l.n
	}
	l.ring[l.next] = s
	l.next = (l.next + 1) & uint8(len(l.ring)-1)
	l.n = min(l.n+1, uint8(len(l.ring)))
}

// noteTimestamp records p's timestamp. It measures the path to p's sender by the timestamp that p
// echoes.
func (f *Flow) noteTimestamp(p *capture.Packet, now wheel.Time) {
	f.conn.timestamps = true
	o := &p.Header.Options
	m, g := &f.stamps, f.other()
	if m.n == 0 || int32(o.TSVal-m.before(0).ts) > 0 {
		if g.echoes.hasAhead {
			g.echoes.confirm(o.TSVal)
		}
		if m.n == 0 {
			g.echoes.first, g.echoes.hasFirst = o.TSVal, true
		}
		m.add(f.conn.memory, firstSeen{o.TSVal, now})
	}
	m = &g.stamps
	if !p.Header.Flags.Has(tcp.ACK) || m.any && o.TSEcr == m.echoed {
		return
	}
	f.echoes.noteEcho(o.TSEcr, m, now)
	if m.any && int32(o.TSEcr-m.echoed) < 0 || !f.echoes.trusted() {
		return
	}
	m.any, m.echoed = true, o.TSEcr
	for i := range int(m.n) { // from the newest
		if e := m.before(i); e.ts == o.TSEcr {
			f.addSourceRTT(e.at, now)
			m.heardAt = e.at
			return
		}
	}
}
