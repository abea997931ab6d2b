package sim

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/wheel"
)

// Loss is a loss model. String returns its text, which ParseLosses reads.
type Loss interface {
	String() string

	// Check returns an error that names the first field out of bounds, its value and the bound.
	Check() error

	// Start starts a run of the model that draws under key. The model must have passed Check, and
	// must not change while the Dropper is in use.
	Start(key uint64) Dropper
}

// Dropper is a running loss model.
type Dropper interface {
	// Lost reports whether packet n of the link, counted from 1, is lost. Call it for each packet
	// in order, including packets dropped for another reason. It does not allocate.
	Lost(now wheel.Time, n uint64, p *Packet) bool
}

// Bernoulli loses each packet with probability P, independently.
type Bernoulli struct{ P float64 }

// GilbertElliott is a Markov chain of two states, each with its own loss probability (Gilbert 1960,
// Elliott 1963). It starts in the good state. Before each packet it moves from good to bad with
// probability P, and from bad to good with probability R. Over time a share P/(P+R) of the packets
// meets the bad state; a stay there lasts 1/R packets on average. Good and Bad are the loss
// probabilities of the states: 0 and 1 give Gilbert's simple model.
type GilbertElliott struct{ P, R, Good, Bad float64 }

// PacketNumbers loses the packets with these numbers. They count from 1 and rise.
type PacketNumbers []uint64

// Outages loses all packets sent within the windows. Windows are in order and do not overlap.
type Outages []Window

// Window is the time [From, To) since the epoch.
type Window struct{ From, To time.Duration }

// Trace loses packet n if bit n of Bits is '1'; other bits are '0'. Packets after the end are
// delivered, or meet the trace again if Repeat is set.
type Trace struct {
	Bits   string
	Repeat bool
}

// LostRanges loses transmissions by the bytes that they carry. A replay uses it for captured
// losses: packet numbers may differ there, positions in the stream do not.
type LostRanges []LostRange

// LostRange is transmission number Attempt, from 1, of any packet that overlaps [From, To).
type LostRange struct {
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

// ranges are sorted by attempt and From for a binary search. Those of one attempt are merged.
type ranges struct{ sorted []LostRange }

// Start implements Loss.
func (l LostRanges) Start(uint64) Dropper {
	sorted := slices.Clone(l)
	slices.SortFunc(sorted, func(a, b LostRange) int {
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
	// Find the first range of the attempt that ends after p starts.
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
