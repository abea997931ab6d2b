package watch

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel/stat"
)

// measured reports whether T_rec counts: something was lost and repaired.
func (r *recovery) measured() bool { return r.repaired && r.verdict != track.Spurious }

// add counts a recovery.
func (k *KindTally) add(r *recovery) {
	k.Episodes++
	switch {
	case r.verdict == track.Spurious:
		k.Spurious++
	case !r.repaired:
		k.Unrepaired++
		if r.never {
			k.Never++
		} else if r.unmeasured {
			k.Unmeasured++
		}
	}
	k.TimeLost += r.lost.Seconds()
	k.TimerWait += r.waited.Seconds()
}

func sumOf(kinds *[track.Kinds]KindTally) (all KindTally) {
	for i := range kinds {
		k := &kinds[i]
		all.Episodes += k.Episodes
		all.Spurious += k.Spurious
		all.Unrepaired += k.Unrepaired
		all.Never += k.Never
		all.Unmeasured += k.Unmeasured
		all.TimeLost += k.TimeLost
		all.TimerWait += k.TimerWait
	}
	return all
}

// quantiles sets the quantiles of n spans.
func (k *KindTally) quantiles(n int, at func(q float64) time.Duration) {
	if n > 0 {
		k.P50, k.P95, k.P99 = record.Seconds(at(0.50)), record.Seconds(at(0.95)), record.Seconds(at(0.99))
	}
}

// exactly returns a function that returns quantiles of spans, which it sorts.
func exactly(all []time.Duration) func(q float64) time.Duration {
	slices.Sort(all)
	return func(q float64) time.Duration { return all[stat.Rank(len(all), q)] }
}

// named returns the tally of a kind, or of all.
func (k KindTally) named(name string) KindTally {
	k.Kind = name
	return k
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
	top := []Loser{}
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
	kinds     [track.Kinds]KindTally
	spans     [track.Kinds]stat.Histogram
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
		t.spans[r.kind].Add(r.tRec)
	}
	noteLoser(t.hosts, r.host, r)
	noteLoser(t.ports, r.port, r)
}

func (t *totals) tally(span time.Duration) Tally {
	out := Tally{Span: span.Seconds(), Kinds: []KindTally{}, Hosts: topLosers(t.hosts, netip.Addr.String), Ports: topLosers(t.ports, portName)}
	var all stat.Histogram
	for k := range t.kinds {
		if t.kinds[k].Episodes == 0 {
			continue
		}
		t.kinds[k].quantiles(t.spans[k].Len(), t.spans[k].Quantile)
		out.Kinds = append(out.Kinds, t.kinds[k].named(track.Kind(k).String()))
		all.Merge(&t.spans[k])
	}
	sum := sumOf(&t.kinds)
	sum.quantiles(all.Len(), all.Quantile)
	out.All = sum.named("all")
	return out
}
