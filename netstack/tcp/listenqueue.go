package tcp

import (
	"cmp"
	"maps"
	"slices"

	"tcpwheel/wheel"
)

// ListenQueue has the connections of a listener before Accept, and decides about them as their
// Backlog, whose counts it keeps. C is the host's connection. The zero value is empty.
type ListenQueue[C comparable] struct {
	Backlog
	halfOpen map[C]halfOpenEntry // connections in SYN-RECEIVED
	opened   uint64              // connections that were ever in halfOpen
	queue    []C                 // established, waiting for Accept
}

// halfOpenEntry is what a listener knows of a half-open connection.
type halfOpenEntry struct {
	since wheel.Time // arrival of the SYN
	order uint64     // 1 for the first SYN
}

// Open adds a half-open connection, whose SYN arrived at since.
func (q *ListenQueue[C]) Open(c C, since wheel.Time) {
	if q.halfOpen == nil {
		q.halfOpen = make(map[C]halfOpenEntry)
	}
	q.opened++
	q.halfOpen[c] = halfOpenEntry{since, q.opened}
	q.HalfOpen = len(q.halfOpen)
}

// Since returns when the SYN of a connection arrived, and whether the connection is half-open.
func (q *ListenQueue[C]) Since(c C) (since wheel.Time, halfOpen bool) {
	h, ok := q.halfOpen[c]
	return h.since, ok
}

// Leave records that a connection is no longer half-open.
func (q *ListenQueue[C]) Leave(c C) {
	delete(q.halfOpen, c)
	q.HalfOpen = len(q.halfOpen)
}

// Enqueue lets an established connection wait for Accept.
func (q *ListenQueue[C]) Enqueue(c C) {
	q.Leave(c)
	q.queue = append(q.queue, c)
	q.Queued = len(q.queue)
}

// Accept returns the connection that was established first, if any waits. It waits no longer.
func (q *ListenQueue[C]) Accept() (c C, ok bool) {
	if len(q.queue) == 0 {
		return c, false
	}
	c = q.queue[0]
	clear(q.queue[:1])
	if q.queue = q.queue[1:]; len(q.queue) == 0 {
		q.queue = nil
	}
	q.Queued = len(q.queue)
	return c, true
}

// Drain empties the queue of established connections. It returns these, and then the half-open
// ones in the order of their SYNs, which each leave as they end.
func (q *ListenQueue[C]) Drain() []C {
	half := slices.SortedFunc(maps.Keys(q.halfOpen), func(a, b C) int {
		return cmp.Compare(q.halfOpen[a].order, q.halfOpen[b].order)
	})
	all := append(q.queue, half...)
	q.queue, q.Queued = nil, 0
	return all
}
