package replay

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/wheel"
)

// PathTrace is what became of each transmission in one direction.
type PathTrace struct {
	Ranges        []SentRange   // in order, disjoint
	Delays        []DelaySample // in order of Sent
	LossSpans     []Span        // of packets lost in a row
	ACKLossSpans  []Span        // ACKs sent within were lost unseen
	Base          time.Duration // the least delay
	Transmissions int           // of bytes, SYN and FIN
	Lost          int           // of these
	LostByIndex   []bool        // whether the n-th of them was lost
	left          []wheel.Time  // when each of them left, in order
}

// SentRange is bytes whose transmissions had the same fates.
type SentRange struct {
	Start uint64
	End   uint64
	Tries []Try // its transmissions, in order
}

// Try is a transmission of a range.
type Try struct {
	Sent   wheel.Time
	Delay  time.Duration // unless it was lost
	Fate   ledger.Fate
	Exact  bool // the capture shows Delay; else it is interpolated
	Late   bool // others overtook it
	Unseen bool // it was not captured: Sent is a guess
	Packet int64
}

// DelaySample is how long a packet took that left at Sent.
type DelaySample struct {
	Sent  wheel.Time
	Delay time.Duration
}

// Span is an interval of time, ends included.
type Span struct {
	From wheel.Time
	To   wheel.Time
}

// find returns the index of the range that holds a place, or of the first range behind it.
func (p *PathTrace) find(place int64) int {
	return sort.Search(len(p.Ranges), func(i int) bool { return int64(p.Ranges[i].End) > place })
}

// try returns the n-th transmission of the byte at a place, nil if the capture has none.
func (p *PathTrace) try(place int64, n int) *Try {
	i := p.find(place)
	if i == len(p.Ranges) || int64(p.Ranges[i].Start) > place || n < 1 || n > len(p.Ranges[i].Tries) {
		return nil
	}
	return &p.Ranges[i].Tries[n-1]
}

// mostlyLost reports whether most bytes of [start, end) were lost at their n-th transmission, and
// whether the capture shows the fate of any.
func (p *PathTrace) mostlyLost(start, end int64, n int) (lost, known bool) {
	var gone, all int64
	for i := p.find(start); i < len(p.Ranges) && int64(p.Ranges[i].Start) < end; i++ {
		r := &p.Ranges[i]
		if n > len(r.Tries) || r.Tries[n-1].Fate == ledger.Unknown {
			continue
		}
		bytes := min(end, int64(r.End)) - max(start, int64(r.Start))
		all += bytes
		if r.Tries[n-1].Fate == ledger.Lost {
			gone += bytes
		}
	}
	return 2*gone >= all && all > 0, all > 0
}

// within reports whether an instant lies in one of spans, which are in order.
func within(spans []Span, at wheel.Time) bool {
	i, _ := slices.BinarySearchFunc(spans, at, func(s Span, at wheel.Time) int { return cmp.Compare(s.To, at) })
	return i < len(spans) && spans[i].From <= at
}

// chance returns the captured loss rate, by the rule of succession: few transmissions say little.
func (p *PathTrace) chance() float64 { return float64(p.Lost+1) / float64(p.Transmissions+2) }

// blind returns how far an instant is from when the nearest captured packet left, if the one before
// was lost: the capture does not show how long the path lost packets. Else it is 0.
func (p *PathTrace) blind(at wheel.Time) time.Duration {
	i, _ := slices.BinarySearch(p.left, at)
	if i == 0 || !p.LostByIndex[i-1] {
		return 0
	}
	apart := at.Sub(p.left[i-1])
	if i < len(p.left) {
		apart = min(apart, p.left[i].Sub(at))
	}
	return apart
}

// burst returns how often a packet was lost that followed a lost one, by the rule of succession.
func (p *PathTrace) burst() float64 {
	both, lost := 1, 2
	for i, is := range p.LostByIndex[:max(len(p.LostByIndex)-1, 0)] {
		lost += count(is)
		both += count(is && p.LostByIndex[i+1])
	}
	return float64(both) / float64(lost)
}

// interpolate returns the delay of a packet that leaves at an instant, from samples in order: that
// of its neighbours, in proportion. Before the first and after the last it is theirs; base is for
// none at all.
func interpolate(known []DelaySample, at wheel.Time, base time.Duration) time.Duration {
	i, _ := slices.BinarySearchFunc(known, at, func(d DelaySample, at wheel.Time) int { return cmp.Compare(d.Sent, at) })
	switch {
	case len(known) == 0:
		return base
	case i == len(known):
		return known[i-1].Delay
	case i == 0 || known[i].Sent == at:
		return known[i].Delay
	}
	a, b := known[i-1], known[i]
	part := float64(at.Sub(a.Sent)) / float64(b.Sent.Sub(a.Sent))
	return a.Delay + time.Duration(part*float64(b.Delay-a.Delay))
}
