package sim

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/wheel"
)

// Loss is the plan of a loss model: a value, which Start turns into a Dropper. String is its text, which ParseLosses
// reads back.
type Loss interface {
	String() string

	// Check returns an error that names the first field out of its bounds, its value and the bound.
	Check() error

	// Start begins a run of the model that draws under key. The plan must have passed Check, and must not be changed
	// as long as the Dropper is in use.
	Start(key uint64) Dropper
}

// Dropper is a running loss model.
type Dropper interface {
	// Lost reports whether packet n of the link, counted from 1, is lost. It is to be called once for each packet, in
	// order, also for those that are dropped for another reason. It does not allocate.
	Lost(now wheel.Time, n uint64, p *Packet) bool
}

// Bernoulli loses each packet with probability P, independently of all others.
type Bernoulli struct{ P float64 }

// GilbertElliott is a Markov chain of two states, with a loss probability in each (Gilbert 1960, Elliott 1963). Before each
// packet it goes from the good state to the bad one with probability P, and back with probability R. It begins in the
// good state. In the long run a share of P/(P+R) of the packets meets the bad state, and a stay there lasts 1/R packets
// on average. Good and Bad are the probabilities to lose a packet in either state: 0 and 1 is Gilbert's simple model.
type GilbertElliott struct{ P, R, Good, Bad float64 }

// PacketNumbers loses the packets with these numbers, counted from 1, in rising order.
type PacketNumbers []uint64

// Outages loses all packets sent within the windows, which are in order and do not overlap.
type Outages []Window

// Window is a span of time after the epoch, without its end.
type Window struct{ From, To time.Duration }

// Trace loses packet n if the n-th of Bits is '1'; the others are '0'. What comes after the end is not lost, or meets
// the trace anew if Repeat is set.
type Trace struct {
	Bits   string
	Repeat bool
}

// Ranges loses the transmissions that are named by what they carry: for the replay of a captured loss pattern, where the
// number of a packet may differ and its place in the stream does not.
type Ranges []Range

// Range names transmission number Attempt, from 1, of any packet with a part of [From, To).
type Range struct {
	From, To uint64
	Attempt  uint32
}

type bernoulli struct {
	draw stream
	p    chance
}

// Start implements Loss.
func (l Bernoulli) Start(key uint64) Dropper {
	return &bernoulli{draw: newStream(key, forLoss), p: newChance(l.P)}
}

func (d *bernoulli) Lost(_ wheel.Time, n uint64, _ *Packet) bool { return d.p.hit(d.draw, n) }

type gilbertElliott struct {
	draw, turn      stream
	p, r, good, bad chance
	inBad           bool
}

// Start implements Loss.
func (l GilbertElliott) Start(key uint64) Dropper {
	return &gilbertElliott{
		draw: newStream(key, forLoss), turn: newStream(key, forState),
		p: newChance(l.P), r: newChance(l.R), good: newChance(l.Good), bad: newChance(l.Bad),
	}
}

func (d *gilbertElliott) Lost(_ wheel.Time, n uint64, _ *Packet) bool {
	if d.inBad {
		d.inBad = !d.r.hit(d.turn, n)
	} else {
		d.inBad = d.p.hit(d.turn, n)
	}
	if d.inBad {
		return d.bad.hit(d.draw, n)
	}
	return d.good.hit(d.draw, n)
}

type packetNumbers struct{ rest []uint64 }

// Start implements Loss.
func (l PacketNumbers) Start(uint64) Dropper { return &packetNumbers{rest: l} }

func (d *packetNumbers) Lost(_ wheel.Time, n uint64, _ *Packet) bool {
	for len(d.rest) > 0 && d.rest[0] < n {
		d.rest = d.rest[1:]
	}
	return len(d.rest) > 0 && d.rest[0] == n
}

type outages struct{ rest []Window }

// Start implements Loss.
func (l Outages) Start(uint64) Dropper { return &outages{rest: l} }

func (d *outages) Lost(now wheel.Time, _ uint64, _ *Packet) bool {
	for len(d.rest) > 0 && time.Duration(now) >= d.rest[0].To {
		d.rest = d.rest[1:]
	}
	return len(d.rest) > 0 && time.Duration(now) >= d.rest[0].From
}

type trace struct{ plan Trace }

// Start implements Loss.
func (l Trace) Start(uint64) Dropper { return &trace{l} }

func (d *trace) Lost(_ wheel.Time, n uint64, _ *Packet) bool {
	i, size := n-1, uint64(len(d.plan.Bits))
	if d.plan.Repeat {
		i %= size
	}
	return i < size && d.plan.Bits[i] == '1'
}

// ranges has the ranges sorted by attempt and From, those of one attempt merged, so that a binary search finds them.
type ranges struct{ sorted []Range }

// Start implements Loss.
func (l Ranges) Start(uint64) Dropper {
	sorted := slices.Clone(l)
	slices.SortFunc(sorted, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.From, b.From))
	})
	merged := sorted[:0]
	for _, r := range sorted {
		if last := len(merged) - 1; last >= 0 && merged[last].Attempt == r.Attempt && r.From <= merged[last].To {
			merged[last].To = max(merged[last].To, r.To)
			continue
		}
		merged = append(merged, r)
	}
	return &ranges{merged}
}

func (d *ranges) Lost(_ wheel.Time, _ uint64, p *Packet) bool {
	// The first range of the attempt that ends after p starts.
	lo, hi := 0, len(d.sorted)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if r := &d.sorted[mid]; r.Attempt < p.Attempt || r.Attempt == p.Attempt && r.To <= p.Start {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(d.sorted) && d.sorted[lo].Attempt == p.Attempt && d.sorted[lo].From < p.End
}
