package tcp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSACKGenProperties receives at random, and checks every option against the rules.
func TestSACKGenProperties(t *testing.T) {
	// RFC 2018 §4: "The data receiver SHOULD include as many distinct SACK blocks as possible in
	// the SACK option."
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		q, _ := newBoth(t, -Seq(rnd.IntN(300)), 10)
		var g sackGenerator
		for range 100 {
			ins := q.insert(Arrival{Seq: q.Nxt() + Seq(rnd.IntN(200)-20), Len: uint32(1 + rnd.IntN(20))}, 1<<16)
			g.OnInsert(&ins)
			var buf [MaxSACKBlocks]SeqRange
			room := rnd.IntN(5)
			blocks := buf[:g.Blocks(q, buf[:room])]
			g.OnAckSent(q)
			dups := 0
			if ins.Duplicate.Len() > 0 && room > 0 {
				if dups = 1; blocks[0] != ins.Duplicate {
					t.Fatalf("%v: the duplicate %v is not first", blocks, ins.Duplicate)
				}
			}
			rest := blocks[dups:]
			if want := min(room-dups, len(q.Held())); len(rest) != want {
				t.Fatalf("%v: %d blocks besides the duplicate, want %d", blocks, len(rest), want)
			}
			if dups == 0 && ins.Block.Len() > 0 && len(rest) > 0 && rest[0] != ins.Block {
				t.Fatalf("%v: the segment's block %v is not first", blocks, ins.Block)
			}
			for i, b := range rest {
				if !slices.Contains(q.Held(), b) || slices.Contains(rest[:i], b) {
					t.Fatalf("%v: %v is not held, or twice", blocks, b)
				}
			}
		}
	}
}
