package pacing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tcpwheel/wheel"
)

// check returns the black height of a subtree, or an error: the rules of a left-leaning red-black
// tree, and the order of its nodes.
func (t *redBlack) check(h int32, from, to wheel.Time) (black int, err error) {
	if h == 0 {
		return 0, nil
	}
	n := t.nodes[h]
	if n.at < from || n.at > to || t.red(n.right) || n.red && t.red(n.left) {
		return 0, fmt.Errorf("node %d: %+v, want it in %v to %v, black or with black children, and red to the left", h, n,
			from, to)
	}
	left, err := t.check(n.left, from, n.at)
	right, err2 := t.check(n.right, n.at, to)
	switch {
	case err != nil:
		return 0, err
	case err2 != nil:
		return 0, err2
	case left != right:
		return 0, fmt.Errorf("node %d: black heights %d and %d", h, left, right)
	case !n.red:
		left++
	}
	return left, nil
}

// TestRedBlack sets and releases random instants, and compares them with a sorted slice.
func TestRedBlack(t *testing.T) {
	const flows = 200
	r := rand.New(rand.NewPCG(1, 2))
	tree := &redBlack{nodes: make([]rbNode, flows+1)}
	var waiting [flows]wheel.Time // 0 is none
	now := wheel.Time(0)
	for range 3000 {
		flow := r.IntN(flows)
		if waiting[flow] == 0 {
			waiting[flow] = now + 1 + wheel.Time(r.IntN(50))
			tree.set(flow, waiting[flow])
		}
		if r.IntN(4) == 0 {
			now += wheel.Time(r.IntN(10))
			var want []wheel.Time
			for i, at := range waiting {
				if at != 0 && at <= now {
					want, waiting[i] = append(want, at), 0
				}
			}
			slices.Sort(want)
			i := 0
			tree.advance(now, func(flow int) {
				if i >= len(want) || tree.nodes[flow+1].at != want[i] {
					t.Fatalf("at %d: flow %d of %d, want %v", now, flow, tree.nodes[flow+1].at, want)
				}
				i++
			})
			if i != len(want) {
				t.Fatalf("at %d: %d flows, want %v", now, i, want)
			}
		}
		if _, err := tree.check(tree.root, 0, 1<<62); err != nil || tree.red(tree.root) {
			t.Fatal(err)
		}
	}
}
