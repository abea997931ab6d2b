package track

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestScoreboard compares a scoreboard with plain slices over random operations. Its memory goes
// to another one at times.
func TestScoreboard(t *testing.T) {
	r, m := rand.New(rand.NewPCG(1, 2)), &memory{}
	var b scoreboard
	var want, last []outstanding
	end := int64(0)
	for step := range 100_000 {
		switch n := len(want); {
		case r.IntN(1000) == 0:
			m.segments.put(b.ring)
			m.history.put(b.last.all)
			b, want, last = scoreboard{}, nil, nil
		case n == 0 || r.IntN(100) < 50-n/2:
			s := outstanding{start: end, end: end + 2 + int64(r.IntN(9)), packet: int64(step)}
			*b.push(m) = s
			want, end = append(want, s), s.end
		case r.IntN(2) == 0:
			b.pop()
			want = want[1:]
		case r.IntN(2) == 0:
			b.acknowledge(m, 0, false)
			last, want = append(last, want[0]), want[1:]
		default:
			i := r.IntN(n)
			pos := want[i].start + 1
			if want[i].end-want[i].start < 2 {
				continue
			}
			b.split(m, i, pos)
			want = slices.Insert(want, i, want[i])
			want[i].end, want[i+1].start = pos, pos
		}
		if b.len() != len(want) {
			t.Fatalf("step %d: %d segments, want %d", step, b.len(), len(want))
		}
		for i := range want {
			if *b.at(i) != want[i] || b.find(want[i].start) != i {
				t.Fatalf("step %d: segment %d is %+v, want %+v", step, i, *b.at(i), want[i])
			}
		}
		last = last[max(len(last)-ackedKept, 0):]
		for i := range last {
			if s := b.acked(last[i].start); s == nil || s.packet != last[i].packet {
				t.Fatalf("step %d: acknowledged segment %d is %+v, want %+v", step, i, s, last[i])
			}
		}
	}
}
