package replay

import (
	"cmp"
	"slices"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// mergeEvents puts what each end sent and received in order, by its own clock.
func (b *builder) mergeEvents() {
	for d := range b.events {
		all := make([]endEvent, 0, len(b.sends[d])+len(b.heard[d]))
		for _, x := range b.sends[d] {
			x.at = b.virtual(x.at.Add(-b.half[d] / 2))
			all = append(all, x)
		}
		for _, x := range b.heard[d] {
			all = append(all, endEvent{delivery: x, n: -1})
		}
		slices.SortStableFunc(all, func(x, y endEvent) int { return cmp.Or(cmp.Compare(x.at, y.at), x.order()-y.order()) })
		b.events[d] = all
	}
}

// opened returns when the connection was open to an end: the client when it had the SYN-ACK, the
// server when it had the ACK of its own.
func (b *builder) opened(d int) wheel.Time {
	for _, x := range b.events[d] {
		if !x.sends && !x.reset && x.ack > 0 || x.sends && x.start > 0 {
			return x.at
		}
	}
	return 0
}

// arrived is how much of a stream has arrived, in order and behind gaps.
type arrived struct {
	una    int64   // all before it has
	blocks []block // behind it: in order, apart from each other
}

// bytes returns how many bytes have arrived, the SYN not counted.
func (a *arrived) bytes() int64 {
	n := max(a.una-1, 0)
	for _, b := range a.blocks {
		n += b.end - b.start
	}
	return n
}

// ack takes in what an ACK of all before place and its SACK blocks report of a stream that ends
// before most, and reports whether it is news. ack is place as a sequence number.
func (a *arrived) ack(place int64, ack tcp.Seq, blocks []tcp.Range, most int64) bool {
	was := a.bytes()
	a.una = max(a.una, place)
	for _, r := range blocks {
		start := (r.Start - ack + tcp.Seq(place)).Unwrap(place)
		b := block{start, start + int64(r.Len())}
		if b.start >= a.una && b.end > b.start && b.end <= most {
			a.add(b)
		}
	}
	a.trim()
	return a.bytes() > was
}

// hear is ack of a packet that was captured, or not.
func (a *arrived) hear(x *endEvent, most int64) bool {
	if x.p == nil {
		return a.ack(x.ack, 0, nil, most)
	}
	return a.ack(x.ack, x.p.ack, x.p.blocks(), most)
}

// take takes in bytes that arrive. It reports whether they left a gap before them or filled one,
// and whether they brought nothing.
func (a *arrived) take(start, end int64) (gap, filled, twice bool) {
	before, held := a.una, len(a.blocks)
	was := a.bytes()
	if b := (block{max(start, a.una), end}); b.start < b.end {
		a.add(b)
		a.trim()
	}
	twice = a.bytes() == was && a.una == before
	return len(a.blocks) > 0, held > 0 && a.una > before, twice
}

// trim takes from the blocks what lies below una, or touches it.
func (a *arrived) trim() {
	for len(a.blocks) > 0 && a.blocks[0].start <= a.una {
		a.una = max(a.una, a.blocks[0].end)
		a.blocks = a.blocks[1:]
	}
}

// add takes in a block and joins it with the blocks it touches.
func (a *arrived) add(b block) {
	i, _ := slices.BinarySearchFunc(a.blocks, b.start, func(x block, at int64) int { return cmp.Compare(x.end, at) })
	j := i
	for j < len(a.blocks) && a.blocks[j].start <= b.end {
		b.start, b.end = min(b.start, a.blocks[j].start), max(b.end, a.blocks[j].end)
		j++
	}
	a.blocks = slices.Replace(a.blocks, i, j, b)
}
