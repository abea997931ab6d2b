package track

import (
	"encoding/binary"
	"iter"
	"slices"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// packedFacts is factsEach facts. Of each it has which numbers differ from those of the packet
// before in the same flow, in two bytes, and by how much, as varints.
type packedFacts []byte

const factsEach = 1 << 8

// factNumbers is a Fact without its flow. Most numbers are those of the packet before.
type factNumbers [12]int64

func (x *Fact) numbers() factNumbers {
	rest := uint64(x.Flags) | uint64(x.Kind)<<8 | uint64(x.sacks)<<16
	if x.HasTS {
		rest |= 1 << 24
	}
	if x.DSACK {
		rest |= 1 << 25
	}
	return factNumbers{
		int64(x.Seen), int64(x.Sent - x.Seen), x.Number, x.Start, int64(x.Len), int64(x.Window), x.Ack, int64(x.TSVal), int64(x.TSEcr),
		int64(x.firstSACK), int64(x.rexmit), int64(rest),
	}
}

func (n *factNumbers) fact(flow uint8) Fact {
	rest := uint64(n[11])
	return Fact{
		Seen: wheel.Time(n[0]), Sent: wheel.Time(n[0] + n[1]), Number: n[2], Start: n[3], Len: uint32(n[4]), Window: int32(n[5]), Ack: n[6],
		TSVal: uint32(n[7]), TSEcr: uint32(n[8]), firstSACK: uint32(n[9]), rexmit: int32(n[10]), Flow: flow, Flags: tcp.Flags(rest),
		Kind: EventKind(rest >> 8), sacks: uint8(rest >> 16), HasTS: rest&(1<<24) != 0, DSACK: rest&(1<<25) != 0,
	}
}

// flowBit says in the first two bytes of a packed fact that it is of the second flow.
const flowBit = 1 << 15

// pack packs facts in buf, and returns a copy and buf.
func pack(facts []Fact, buf []byte) (p packedFacts, out []byte) {
	out = buf[:0]
	var before [2]factNumbers
	for i := range facts {
		x := &facts[i]
		n, last := x.numbers(), &before[x.Flow]
		differ, at := uint16(x.Flow)*flowBit, len(out)
		out = append(out, 0, 0)
		for k := range n {
			if d := n[k] - last[k]; d != 0 {
				differ |= 1 << k
				out = binary.AppendVarint(out, d)
			}
		}
		binary.LittleEndian.PutUint16(out[at:], differ)
		*last = n
	}
	return slices.Clone(out), out
}

// unpack appends the facts to all.
func (p packedFacts) unpack(all []Fact) []Fact {
	var before [2]factNumbers
	for len(p) > 0 {
		differ := binary.LittleEndian.Uint16(p)
		p = p[2:]
		flow := uint8(differ / flowBit)
		last := &before[flow]
		for k := range last {
			if differ>>k&1 != 0 {
				d, n := binary.Varint(p)
				last[k] += d
				p = p[n:]
			}
		}
		all = append(all, last.fact(flow))
	}
	return all
}

// Len returns the number of packets.
func (a *Facts) Len() int { return a.n }

// add adds a packet.
func (a *Facts) add(x *Fact) {
	if len(a.open) == factsEach {
		var p packedFacts
		p, a.packing = pack(a.open, a.packing)
		a.packed, a.open = append(a.packed, p), a.open[:0]
	}
	a.open = append(a.open, *x)
	a.n++
}

// change has f change each packet.
func (a *Facts) change(f func(*Fact)) {
	buf := make([]Fact, 0, min(factsEach, a.n))
	for i, p := range a.packed {
		buf = p.unpack(buf[:0])
		for k := range buf {
			f(&buf[k])
		}
		a.packed[i], a.packing = pack(buf, a.packing)
	}
	for i := range a.open {
		f(&a.open[i])
	}
}

// All yields the packets in capture order, with their indices. Each is valid until the next one.
func (a *Facts) All() iter.Seq2[int, *Fact] {
	return func(yield func(int, *Fact) bool) {
		var buf []Fact
		if len(a.packed) > 0 {
			buf = make([]Fact, 0, factsEach)
		}
		for block := range len(a.packed) + 1 {
			facts := a.open
			if block < len(a.packed) {
				buf = a.packed[block].unpack(buf[:0])
				facts = buf
			}
			for k := range facts {
				if !yield(block*factsEach+k, &facts[k]) {
					return
				}
			}
		}
	}
}

// FactReader finds facts by their indices. It costs about 10 µs for an index that is far from the
// last ones. Several readers of the same facts may be used at once.
type FactReader struct {
	facts *Facts
	near  [4]unpackedFacts
	next  int // of near, to be replaced
}

type unpackedFacts struct {
	block int
	facts []Fact
}

// Reader returns a reader of the facts, which are complete.
func (a *Facts) Reader() *FactReader { return &FactReader{facts: a} }

// At returns the i-th packet, which is valid until the next call.
func (r *FactReader) At(i int) *Fact {
	block, k := i/factsEach, i%factsEach
	if block == len(r.facts.packed) {
		return &r.facts.open[k]
	}
	for n := range r.near {
		if u := &r.near[n]; u.block == block && u.facts != nil {
			return &u.facts[k]
		}
	}
	u := &r.near[r.next]
	r.next = (r.next + 1) % len(r.near)
	if u.facts == nil {
		u.facts = make([]Fact, 0, factsEach)
	}
	u.block, u.facts = block, r.facts.packed[block].unpack(u.facts[:0])
	return &u.facts[k]
}
