package tcp

import (
	"math/bits"
	"math/rand/v2"
)

// endsTable finds connections by their ends. It is a hash table with open addressing and linear
// probing; an entry has 8 bytes, 4 of them of the hash. The ends are stored in the sockets only,
// where a Go map would store them twice. The hash is keyed, so attackers cannot choose colliding
// ends.
type endsTable struct {
	keys    [5]uint64
	entries []tableEntry // length is a power of two
	n       int
}

// tableEntry is 32 bits of the hash above the socket's index plus 1; 0 is empty.
type tableEntry uint64

func newTableEntry(hash uint64, index uint32) tableEntry {
	return tableEntry(hash>>32<<32 | uint64(index) + 1)
}

func (e tableEntry) index() uint32 { return uint32(e) - 1 }

// home is the entry's preferred position in a table of mask+1 entries, at most 2^32.
func (e tableEntry) home(mask uint64) uint64 { return uint64(e>>32) & mask }

func newEndsTable() endsTable {
	t := endsTable{entries: make([]tableEntry, 16)}
	for i := range t.keys {
		t.keys[i] = rand.Uint64()
	}
	return t
}

// hash multiplies words of k, each mixed with a secret key, as the Go runtime's memhash does on
// machines without AES.
func (t *endsTable) hash(k *ends) uint64 {
	h1, l1 := bits.Mul64(k.word(0)^t.keys[0], k.word(1)^t.keys[1])
	h2, l2 := bits.Mul64(k.word(2)^t.keys[2], k.word(3)^t.keys[3])
	h, l := bits.Mul64(h1^l1^uint64(k.ports()), h2^l2^t.keys[4])
	return h ^ l
}

// find returns the position of the entry of k. The entries refer to sockets.
func (t *endsTable) find(k *ends, sockets []*Socket) (at uint64, ok bool) {
	mask := uint64(len(t.entries) - 1)
	want := newTableEntry(t.hash(k), 0) >> 32
	for at = uint64(want) & mask; t.entries[at] != 0; at = (at + 1) & mask {
		if e := t.entries[at]; e>>32 == want && sockets[e.index()].ends.equal(k) {
			return at, true
		}
	}
	return at, false
}

// add adds the socket at index with ends k, which must not be in the table.
func (t *endsTable) add(k *ends, index uint32) {
	if t.n++; 4*t.n > 3*len(t.entries) {
		old := t.entries
		t.entries = make([]tableEntry, 2*len(old))
		for _, e := range old {
			if e != 0 {
				t.put(e)
			}
		}
	}
	t.put(newTableEntry(t.hash(k), index))
}

func (t *endsTable) put(e tableEntry) {
	mask := uint64(len(t.entries) - 1)
	at := e.home(mask)
	for t.entries[at] != 0 {
		at = (at + 1) & mask
	}
	t.entries[at] = e
}

// remove removes the entry at a position that find returned, and moves up later entries that would
// not be found otherwise.
func (t *endsTable) remove(at uint64) {
	t.n--
	mask := uint64(len(t.entries) - 1)
	for next := (at + 1) & mask; t.entries[next] != 0; next = (next + 1) & mask {
		if e := t.entries[next]; (next-e.home(mask))&mask >= (next-at)&mask {
			t.entries[at] = e
			at = next
		}
	}
	t.entries[at] = 0
}
