package damage

import (
	"container/heap"

	"tcpwheel/wheel"
)

// queue holds packets by time, and in the order of push at one time.
type queue struct {
	all waiting
	n   uint64
}

func (q *queue) push(p *Packet) {
	q.n++
	heap.Push(&q.all, waiter{p, q.n})
}

// pop returns the first packet if its time is at most at, else nil.
func (q *queue) pop(at wheel.Time) *Packet {
	if len(q.all) == 0 || q.all[0].Time > at {
		return nil
	}
	return heap.Pop(&q.all).(waiter).Packet
}

type waiter struct {
	*Packet
	order uint64
}

// waiting is a heap (container/heap).
type waiting []waiter

func (w waiting) Len() int { return len(w) }

func (w waiting) Less(i, k int) bool {
	if w[i].Time != w[k].Time {
		return w[i].Time < w[k].Time
	}
	return w[i].order < w[k].order
}

func (w waiting) Swap(i, k int) { w[i], w[k] = w[k], w[i] }
func (w *waiting) Push(x any)   { *w = append(*w, x.(waiter)) }

func (w *waiting) Pop() any {
	n := len(*w) - 1
	last := (*w)[n]
	(*w)[n] = waiter{}
	*w = (*w)[:n]
	return last
}
