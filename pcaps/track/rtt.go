package track

import (
	"math"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// RTT is what the round-trip times of a flow were, as its sender sees them: of segments that were sent once (Karn's algorithm, RFC
// 6298 §3), or whose echo tells which transmission is meant.
type RTT struct {
	Samples        int64
	Min, Mean, Max time.Duration
	Deviation      time.Duration // the standard deviation

	m2 float64 // of the squares of the differences from the mean, in ns²
	fm float64
}

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

func (r *RTT) finish() {
	if r.Samples > 0 {
		r.Mean = time.Duration(r.fm)
		r.Deviation = time.Duration(math.Sqrt(r.m2 / float64(r.Samples)))
	}
}

// measured is what an ACK tells of the round-trip time.
type measured struct {
	fack     int64 // the end of the highest segment that was delivered before; only if hasFack
	hasFack  bool
	advanced bool
	segments int
	octets   int64

	once        bool // a segment that was sent once was acknowledged: the first, and the last
	first, last wheel.Time
	tainted     bool // and one that was not
	sack        bool // one was SACKed: the last sent
	sackAt      wheel.Time
	echoed      bool // a retransmission was acknowledged that the echo tells from the original
	echoedAt    wheel.Time
}

// sample is a round trip: from sent to acked, one of n that are expected in a round trip.
type sample struct {
	sent, acked wheel.Time
	n           int
	round       bool
}

// samples are some of the last round-trip times, at most four for each round trip: enough for estimators, which forget soon, and
// for a median.
type samples struct {
	ring  []sample
	next  int
	last  wheel.Time
	round int64 // the first beyond this place begins a round
}

const maxSamples = 64

// measure takes a round-trip time from an ACK.
func (f *Flow) measure(a *ack, m *measured) {
	var at wheel.Time
	switch {
	case m.once && !m.tainted:
		at = m.first
	case m.echoed:
		at = m.echoedAt
	case !m.advanced && m.sack && !f.view.lossy:
		at = m.sackAt
	default:
		return
	}
	rtt := span(at, a.at)
	f.RTT.add(rtt)
	f.tellMeasured(at, a)
	f.view.probed = false
	f.delay(a, m, rtt)
	f.sample(at, a.at)
}

// sample keeps a round-trip time, if the last one kept is not too near.
func (f *Flow) sample(sent, acked wheel.Time) {
	r := &f.rtts
	round := f.una > r.round
	if !round && acked.Sub(r.last) < acked.Sub(sent)/4 {
		return
	}
	flight := (f.max - f.una) / (2 * f.segmentSize())
	s := sample{sent, acked, int(min(max(flight, 1), 4)), round}
	if round {
		r.round = f.max
	}
	r.last = acked
	if len(r.ring) < maxSamples {
		r.ring = append(r.ring, s)
		if len(r.ring) == maxSamples {
			f.fitting.begin(f)
		}
	} else {
		r.ring[r.next] = s
		r.next = (r.next + 1) % maxSamples
	}
	f.fitting.sample(s)
}

// medianWithin is how far back round trips count for what is usual before a loss.
const medianWithin = 10 * time.Second

// usual returns the median of the round-trip times that were measured in the 10 seconds before, 0 if there are none.
func (f *Flow) usual(before wheel.Time) time.Duration {
	var all [maxSamples]time.Duration
	near := all[:0]
	for _, s := range f.rtts.ring {
		if s.acked <= before && before.Sub(s.acked) <= medianWithin {
			near = append(near, s.acked.Sub(s.sent))
		}
	}
	if len(near) == 0 {
		for _, s := range f.rtts.ring {
			near = append(near, s.acked.Sub(s.sent))
		}
	}
	if len(near) == 0 {
		return 0
	}
	slices.Sort(near)
	return (near[(len(near)-1)/2] + near[len(near)/2]) / 2
}

// leastRTT returns the least round trip of the path, as far as is known.
func (f *Flow) leastRTT() time.Duration {
	if f.RTT.Samples == 0 {
		return f.half.least + f.other().half.least
	}
	return f.RTT.Min
}

// half is the round trip between the point of capture and a host.
type half struct {
	known bool
	least time.Duration
}

func (h *half) add(d time.Duration) {
	d = max(d, 0)
	if !h.known || d < h.least {
		h.known, h.least = true, d
	}
}

// measureHalf measures the way between the point of capture and the host that sends the ACK.
func (f *Flow) measureHalf(number tcp.Seq, now wheel.Time) {
	pos := f.pos(number)
	if pos <= f.acked {
		return
	}
	i := f.book.find(pos - 1)
	if i >= f.book.len() {
		return
	}
	s := f.book.at(i)
	if s.start >= pos || s.txs != 1 || s.missing || s.late {
		return
	}
	// What was received before lies below a hole that has just been filled, and was acknowledged late.
	if f.book.sacked > 0 || f.view.dups > 0 || f.ep != nil {
		return
	}
	f.other().half.add(now.Sub(s.sent))
}

// firstSeen is when a timestamp was seen first.
type firstSeen struct {
	ts uint32
	at wheel.Time
}

// stamps are the last timestamps of a flow, and when each was seen first; and which of them was echoed last.
type stamps struct {
	ring    []firstSeen // 16, once there is one
	next, n int
	echoed  uint32
	any     bool
}

// stamp notes the timestamp of a packet, and measures the way to the host that sends it by the one that it echoes.
func (f *Flow) stamp(p *capture.Packet, now wheel.Time) {
	f.conn.timestamps = true
	o := &p.Header.Options
	m := &f.marks
	if m.ring == nil {
		m.ring = make([]firstSeen, 16)
	}
	if last := &m.ring[(m.next+len(m.ring)-1)%len(m.ring)]; m.n == 0 || int32(o.TSVal-last.ts) > 0 {
		m.ring[m.next].ts, m.ring[m.next].at = o.TSVal, now
		m.next = (m.next + 1) % len(m.ring)
		m.n = min(m.n+1, len(m.ring))
	}
	m = &f.other().marks
	if !p.Header.Flags.Has(tcp.ACK) || m.any && o.TSEcr == m.echoed {
		return
	}
	if m.any && int32(o.TSEcr-m.echoed) < 0 {
		return
	}
	m.any, m.echoed = true, o.TSEcr
	for i := range m.n {
		if e := &m.ring[i]; e.ts == o.TSEcr {
			f.half.add(now.Sub(e.at))
			return
		}
	}
}

// fineRTO is the timeout of RFC 6298 §2 with an exact clock and no floor: SRTT + 4·RTTVAR.
func fineRTO() tcptimers.Estimator {
	return tcptimers.NewRFC6298(tcptimers.StandardConfig{Bounds: tcptimers.Bounds{Min: 1}})
}
