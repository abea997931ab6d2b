package watch

import (
	"cmp"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// recovery is what the sums keep of an episode.
type recovery struct {
	at                 wheel.Time
	kind               track.Kind
	verdict            track.Verdict
	repaired           bool
	uncertain          bool
	tRec, lost, waited time.Duration
	host               netip.Addr
	port               uint16
}

// blame returns the host and the port that a recovery counts for: the far end of an own host's
// connection, else the sender; and the server's port.
func blame(c *track.Conn, f *track.Flow) (netip.Addr, uint16) {
	host := f.Src.Addr()
	if d := f.Direction(); d == capture.Outbound || d == capture.Unknown && f.Vantage == track.AtSender {
		host = f.Dst.Addr()
	}
	port := c.Flows[0].Dst.Port()
	if c.Handshake.SYN == 0 && c.Handshake.SYNACK == 0 {
		port = min(port, c.Flows[0].Src.Port())
	}
	return host, port
}

// minute holds the recoveries of the last minute.
type minute struct {
	all  []recovery // a ring that begins at first
	n    int
	head int
	lost wheel.Time // time of the last recovery that did not fit
}

const (
	window    = time.Minute
	maxMinute = 1 << 16
)

func (m *minute) at(i int) *recovery { return &m.all[(m.head+i)%len(m.all)] }

func (m *minute) add(r recovery) {
	m.expire(r.at)
	if m.n == len(m.all) && m.n < maxMinute {
		grown := make([]recovery, max(64, 2*m.n))
		for i := range m.n {
			grown[i] = *m.at(i)
		}
		m.all, m.head = grown, 0
	} else if m.n == maxMinute {
		m.lost = m.at(0).at
		m.head, m.n = (m.head+1)%maxMinute, m.n-1
	}
	*m.at(m.n) = r
	m.n++
}

// expire drops what is older than the window.
func (m *minute) expire(now wheel.Time) {
	for m.n > 0 && now.Sub(m.at(0).at) > window {
		m.head, m.n = (m.head+1)%len(m.all), m.n-1
	}
}

// tally sums up the minute before now, which began at that time at the earliest.
func (m *minute) tally(now, begun wheel.Time) (t Tally, uncertain int, bySecond [60]float64) {
	m.expire(now)
	t.Span = min(now.Sub(begun), now.Sub(m.lost), window).Seconds()
	var kinds [track.Kinds]kindSum
	spans := make([]time.Duration, 0, m.n)
	hosts, ports := map[netip.Addr]loss{}, map[uint16]loss{}
	for k := range track.Kinds {
		first := len(spans)
		for i := range m.n {
			r := m.at(i)
			if r.uncertain || int(r.kind) != k {
				continue
			}
			kinds[k].add(r)
			if r.measured() {
				spans = append(spans, r.tRec)
			}
			hosts[r.host] = hosts[r.host].plus(r)
			ports[r.port] = ports[r.port].plus(r)
		}
		if kinds[k].Episodes > 0 {
			kinds[k].quantiles(spans[first:])
			t.Kinds = append(t.Kinds, kinds[k].tally(track.Kind(k).String()))
		}
	}
	all := sumOf(&kinds)
	all.quantiles(spans)
	t.All = all.tally("all")
	t.Hosts, t.Ports = topLosers(hosts, netip.Addr.String), topLosers(ports, portName)
	for i := range m.n {
		r := m.at(i)
		if r.uncertain {
			uncertain++
		}
		if s := int(now.Sub(r.at) / time.Second); s >= 0 && s < len(bySecond) {
			bySecond[len(bySecond)-1-s] += r.lost.Seconds()
		}
	}
	return t, uncertain, bySecond
}

// measured reports whether T_rec counts: something was lost and repaired.
func (r *recovery) measured() bool { return r.repaired && r.verdict != track.Spurious }

// kindSum sums up the recoveries of a kind.
type kindSum struct {
	KindTally
	hasQuantiles bool
}

func (k *kindSum) add(r *recovery) {
	k.Episodes++
	switch {
	case r.verdict == track.Spurious:
		k.Spurious++
	case !r.repaired:
		k.Unrepaired++
	}
	k.TimeLost += r.lost.Seconds()
	k.TimerWait += r.waited.Seconds()
}

func sumOf(kinds *[track.Kinds]kindSum) (all kindSum) {
	for i := range kinds {
		k := &kinds[i]
		all.Episodes += k.Episodes
		all.Spurious += k.Spurious
		all.Unrepaired += k.Unrepaired
		all.TimeLost += k.TimeLost
		all.TimerWait += k.TimerWait
	}
	return all
}

// quantiles sets the quantiles from durations, which it sorts.
func (k *kindSum) quantiles(all []time.Duration) {
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	at := func(q float64) *float64 {
		s := all[int(q*float64(len(all)-1)+0.5)].Seconds()
		return &s
	}
	k.P50, k.P95, k.P99 = at(0.50), at(0.95), at(0.99)
}

func (k *kindSum) tally(name string) KindTally {
	k.Kind = name
	return k.KindTally
}

// loss is the time lost by a host or port.
type loss struct {
	episodes int
	time     time.Duration
}

func (l loss) plus(r *recovery) loss { return loss{l.episodes + 1, l.time + r.lost} }

const (
	topLoserCount = 5
	maxLosers     = 1 << 12
)

// topLosers returns the ones with the most time lost, if any was.
func topLosers[K comparable](all map[K]loss, name func(K) string) []Loser {
	var top []Loser
	for k, l := range all {
		if l.time > 0 {
			top = append(top, Loser{name(k), l.episodes, l.time.Seconds()})
		}
	}
	slices.SortFunc(top, func(a, b Loser) int { return cmp.Or(cmp.Compare(b.TimeLost, a.TimeLost), cmp.Compare(a.Name, b.Name)) })
	return top[:min(len(top), topLoserCount)]
}

// noteLoser adds to a bounded map. When it is full the half with less time lost goes.
func noteLoser[K comparable](all map[K]loss, k K, r *recovery) {
	if _, known := all[k]; !known && len(all) >= maxLosers {
		times := make([]time.Duration, 0, len(all))
		for _, l := range all {
			times = append(times, l.time)
		}
		slices.Sort(times)
		for key, l := range all {
			if l.time <= times[len(times)/2] {
				delete(all, key)
			}
		}
	}
	all[k] = all[k].plus(r)
}

// totals sums up the whole run.
type totals struct {
	losses    track.Losses
	uncertain int
	kinds     [track.Kinds]kindSum
	spans     [track.Kinds]histogram
	hosts     map[netip.Addr]loss
	ports     map[uint16]loss
}

func (t *totals) add(c *track.Conn, e *track.Episode, r *recovery) {
	if t.hosts == nil {
		t.hosts, t.ports = map[netip.Addr]loss{}, map[uint16]loss{}
	}
	t.losses.Add(c, e)
	t.kinds[r.kind].add(r)
	if r.measured() {
		t.spans[r.kind].add(r.tRec)
	}
	noteLoser(t.hosts, r.host, r)
	noteLoser(t.ports, r.port, r)
}

func (t *totals) tally(span time.Duration) Tally {
	out := Tally{Span: span.Seconds(), Hosts: topLosers(t.hosts, netip.Addr.String), Ports: topLosers(t.ports, portName)}
	var all histogram
	for k := range t.kinds {
		if t.kinds[k].Episodes == 0 {
			continue
		}
		t.spans[k].quantiles(&t.kinds[k].KindTally)
		out.Kinds = append(out.Kinds, t.kinds[k].tally(track.Kind(k).String()))
		all.merge(&t.spans[k])
	}
	sum := sumOf(&t.kinds)
	all.quantiles(&sum.KindTally)
	out.All = sum.tally("all")
	return out
}

// histogram counts durations in buckets that are 1/16 wide, for quantiles with an error of 3 %.
type histogram struct {
	counts [64 * 16]uint32
	n      uint64
}

// bucketOf returns the bucket of a duration, which bucketMiddle inverts.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	e := max(bits.Len64(v)-5, 0)
	return e*16 + int(v>>e)
}

func bucketMiddle(b int) time.Duration {
	if b < 32 {
		return time.Duration(b)
	}
	e := b/16 - 1
	return time.Duration(uint64(b%16+16)<<e + 1<<e/2)
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.n++
}

func (h *histogram) merge(g *histogram) {
	h.n += g.n
	for i := range h.counts {
		h.counts[i] += g.counts[i]
	}
}

func (h *histogram) quantiles(to *KindTally) {
	if h.n == 0 {
		return
	}
	at := func(q float64) *float64 {
		rank, sum := uint64(q*float64(h.n-1)+0.5), uint64(0)
		for b, n := range h.counts {
			if sum += uint64(n); sum > rank {
				s := bucketMiddle(b).Seconds()
				return &s
			}
		}
		return nil
	}
	to.P50, to.P95, to.P99 = at(0.50), at(0.95), at(0.99)
}
