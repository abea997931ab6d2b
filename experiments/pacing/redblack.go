package pacing

import "tcpwheel/wheel"

// redBlack is a red-black tree by instant and flow, as fq of Linux keeps the flows that wait for
// their release (net/sched/sch_fq.c: fq_flow_set_throttled). It is left-leaning (Sedgewick 2008).
// Only the first instant leaves it, and no instant is moved.
type redBlack struct {
	nodes   []rbNode // flow i is node i+1
	root    int32    // 0 is none
	records uint64
	wakes   uint64
}

type rbNode struct {
	at          wheel.Time
	left, right int32
	red         bool
}

func (t *redBlack) red(h int32) bool { return h != 0 && t.nodes[h].red }

// before compares two nodes.
func (t *redBlack) before(a, b int32) bool {
	t.records++
	return t.nodes[a].at < t.nodes[b].at || t.nodes[a].at == t.nodes[b].at && a < b
}

// rotate makes the right child of h, or the left one, the root of the subtree.
func (t *redBlack) rotate(h int32, left bool) int32 {
	t.records++
	n := &t.nodes[h]
	x := n.left
	if left {
		x = n.right
		n.right, t.nodes[x].left = t.nodes[x].left, h
	} else {
		n.left, t.nodes[x].right = t.nodes[x].right, h
	}
	t.nodes[x].red, n.red = n.red, true
	return x
}

func (t *redBlack) flip(h int32) {
	n := &t.nodes[h]
	n.red = !n.red
	t.nodes[n.left].red, t.nodes[n.right].red = !t.nodes[n.left].red, !t.nodes[n.right].red
}

// balance restores the order of colours at h.
func (t *redBlack) balance(h int32) int32 {
	if t.red(t.nodes[h].right) && !t.red(t.nodes[h].left) {
		h = t.rotate(h, true)
	}
	if t.red(t.nodes[h].left) && t.red(t.nodes[t.nodes[h].left].left) {
		h = t.rotate(h, false)
	}
	if t.red(t.nodes[h].left) && t.red(t.nodes[h].right) {
		t.flip(h)
	}
	return h
}

func (t *redBlack) insert(h, x int32) int32 {
	if h == 0 {
		return x
	}
	if t.before(x, h) {
		l := t.insert(t.nodes[h].left, x)
		t.nodes[h].left = l
	} else {
		r := t.insert(t.nodes[h].right, x)
		t.nodes[h].right = r
	}
	return t.balance(h)
}

// removeFirst takes the first node out of the subtree h.
func (t *redBlack) removeFirst(h int32) int32 {
	n := &t.nodes[h]
	if n.left == 0 {
		return 0
	}
	if !t.red(n.left) && !t.red(t.nodes[n.left].left) {
		t.flip(h)
		if r := t.nodes[h].right; t.red(t.nodes[r].left) {
			t.nodes[h].right = t.rotate(r, false)
			h = t.rotate(h, true)
			t.flip(h)
		}
	}
	l := t.removeFirst(t.nodes[h].left)
	t.nodes[h].left = l
	return t.balance(h)
}

// first returns the first node of a tree that is not empty.
func (t *redBlack) first() int32 {
	h := t.root
	for t.nodes[h].left != 0 {
		h = t.nodes[h].left
	}
	return h
}

func (t *redBlack) set(flow int, at wheel.Time) {
	x := int32(flow + 1)
	t.nodes[x] = rbNode{at: at, red: true}
	t.root = t.insert(t.root, x)
	t.nodes[t.root].red = false
}

func (t *redBlack) advance(now wheel.Time, due func(int)) {
	any := false
	for t.root != 0 {
		x := t.first() // the kernel caches it
		if t.nodes[x].at > now {
			break
		}
		any = true
		if t.root = t.removeFirst(t.root); t.root != 0 {
			t.nodes[t.root].red = false
		}
		due(int(x) - 1)
	}
	if any {
		t.wakes++
	}
}

func (t *redBlack) work() (records, wakes uint64) { return t.records, t.wakes }
