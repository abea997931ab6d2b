package replay

import (
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// permits finds how much an end might have in flight, as its congestion window was: for each number of octets that it knew to have arrived,
// how many more it had sent when it went no further. Where it went no further for want of data, that is the least that it might have sent.
// What a timer sent, without any ACK, tells nothing.
func (m *maker) permits(d int, writes []Write) (all []tcp.SendLimit) {
	begins := map[int64]bool{}
	at := int64(1)
	for _, w := range writes {
		begins[at] = true
		at += int64(w.Octets)
	}
	var (
		arrived arrived
		told    []telling // since the last octets left, and the last one before
		open    = 0       // permits from this one on are of what was sent last, and may be for want of data
		next    = int64(1)
		grew    bool        // told has more than the one before
		by      = int64(-1) // the permit that the last octets left by, if not -1
		left    wheel.Time  // when they did
	)
	// sent notes that all up to next had left by the permit of so many octets.
	sent := func(delivered int64) {
		more := uint32(min(max(next-1-delivered, 0), 1<<30))
		k := len(all) - 1
		for k >= 0 && all[k].Delivered > uint64(delivered) {
			k--
		}
		if k < 0 || all[k].Delivered < uint64(delivered) {
			k++
			all = slices.Insert(all, k, tcp.SendLimit{Delivered: uint64(delivered), AtLeast: true})
		}
		all[k].Bytes = max(all[k].Bytes, more)
		for k++; k < len(all); k++ {
			all[k].Bytes = max(all[k].Bytes, uint32(min(max(next-1-int64(all[k].Delivered), 0), 1<<30)))
		}
	}
	for i := range m.deeds[d] {
		x := &m.deeds[d][i]
		if x.reset {
			continue
		}
		if !x.sends {
			if x.ack > 0 && arrived.ack(m, d, x) {
				if !grew {
					told = told[:0]
				}
				grew = true
				told = append(told, telling{x.at, arrived.octets()})
				sent(arrived.octets())
			}
			continue
		}
		if x.data && !x.first && len(told) > 0 {
			// What follows a retransmission was let go by no ACK before the one that caused that.
			told, by = told[len(told)-1:], -1
		}
		if !x.data || !x.first || x.end <= next || x.start == 0 && x.end <= 1 {
			continue
		}
		begun := begins[next]
		if !begun {
			// It was there already, and waited.
			for k := open; k < len(all); k++ {
				all[k].AtLeast = false
			}
		}
		next = x.end
		switch {
		case begun:
			by = arrived.octets()
		case !grew && by >= 0 && x.at.Sub(left) <= prompt:
			// It left with what is before it.
		case len(told) == 0 || x.at.Sub(told[len(told)-1].at) > prompt:
			by = -1 // a timer has sent it
		default:
			// A host that got several ACKs at once may have taken only the first of them by then.
			first := slices.IndexFunc(told, func(n telling) bool { return x.at.Sub(n.at) <= takesACKs })
			if first < 0 {
				first = len(told) - 1
			}
			by = told[first].octets
			told = told[first:]
		}
		if by >= 0 {
			sent(by)
		}
		grew, left = false, x.at
		open = max(len(all)-1, 0)
	}
	return all
}

// telling is an ACK that told of octets that had arrived, and how many had in all.
type telling struct {
	at     wheel.Time
	octets int64
}

// takesACKs is how long a host takes to answer an ACK, at most, where it is in a hurry.
const takesACKs = 200 * time.Microsecond

// arrived is how much of what an end sent it knows to have arrived.
type arrived struct {
	una    int64
	blocks []block // above una, in order, apart from each other
}

// octets returns how many octets are known to have arrived.
func (a *arrived) octets() int64 {
	n := max(a.una-1, 0)
	for _, b := range a.blocks {
		n += b.end - b.start
	}
	return n
}

// ack takes an ACK in, and reports whether it tells of more.
func (a *arrived) ack(m *maker, d int, x *deed) bool {
	was := a.octets()
	a.una = max(a.una, x.ack)
	p := &m.packets[x.order]
	for i := range p.sacks {
		b := block{x.ack + int64(int32(p.sack[i].Start-p.ack)), 0}
		b.end = b.start + int64(p.sack[i].Len())
		if b.start >= a.una && b.end > b.start && b.end <= m.ways[d].max {
			a.add(b)
		}
	}
	a.trim()
	return a.octets() > was
}

// take takes octets in as they come.
func (a *arrived) take(b block) {
	a.una = max(a.una, 1)
	if b.start = max(b.start, a.una); b.start < b.end {
		a.add(b)
		a.trim()
	}
}

// trim takes from the blocks what lies below una, or touches it.
func (a *arrived) trim() {
	for len(a.blocks) > 0 && a.blocks[0].start <= a.una {
		a.una = max(a.una, a.blocks[0].end)
		a.blocks = a.blocks[1:]
	}
}

// add takes a block in, and joins it with those that it touches.
func (a *arrived) add(b block) {
	i := 0
	for i < len(a.blocks) && a.blocks[i].end < b.start {
		i++
	}
	j := i
	for j < len(a.blocks) && a.blocks[j].start <= b.end {
		b.start, b.end = min(b.start, a.blocks[j].start), max(b.end, a.blocks[j].end)
		j++
	}
	a.blocks = slices.Replace(a.blocks, i, j, b)
}
