package tcp

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestEndsTable compares the table with a map.
func TestEndsTable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	table, twin := newEndsTable(), map[ends]uint32{}
	var sockets []*Socket
	key := func() (k ends) {
		binary.BigEndian.PutUint16(k[32:], uint16(rnd.IntN(3000)))
		return k
	}
	for step := range 100_000 {
		k := key()
		at, ok := table.find(&k, sockets)
		index, want := twin[k]
		if ok != want || ok && table.entries[at].index() != index {
			t.Fatalf("step %d: find = %v, want %v at %d", step, ok, want, index)
		}
		// The table grows, then shrinks.
		switch grow := step/20_000%2 == 0; {
		case ok && (!grow || step%4 == 0):
			table.remove(at)
			delete(twin, k)
		case !ok && grow:
			twin[k] = uint32(len(sockets))
			table.add(&k, twin[k])
			sockets = append(sockets, &Socket{ends: k})
		}
		if table.n != len(twin) {
			t.Fatalf("step %d: %d entries, want %d", step, table.n, len(twin))
		}
	}
	for k, index := range twin {
		if at, ok := table.find(&k, sockets); !ok || table.entries[at].index() != index {
			t.Fatalf("%d is not found", index)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	const n = 100_000
	table := newEndsTable()
	var sockets []*Socket
	for i := range n {
		s := &Socket{}
		binary.BigEndian.PutUint32(s.ends[12:], uint32(i))
		table.add(&s.ends, uint32(i))
		sockets = append(sockets, s)
	}
	var k ends
	i := uint32(0)
	for b.Loop() {
		i = (i + 7919) % n
		binary.BigEndian.PutUint32(k[12:], i)
		if _, ok := table.find(&k, sockets); !ok {
			b.Fatal("not found")
		}
	}
}
