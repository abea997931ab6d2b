package sim

import "tcpwheel/wheel"

// packetQueue is the queue before a sender of fixed rate. It stores the times at which packets
// start to be sent: the content at any instant follows, without events. push and the pops that it
// causes cost amortised O(1).
type packetQueue struct {
	ring  []waitingPacket // a power of two
	head  uint32
	n     uint32
	bytes uint64
}

// waitingPacket waits until its transmission starts.
type waitingPacket struct {
	start wheel.Time
	bytes uint32
}

// removeStarted removes the packets whose transmission has started by now.
func (q *packetQueue) removeStarted(now wheel.Time) {
	for q.n > 0 {
		t := &q.ring[q.head]
		if t.start > now {
			return
		}
		q.bytes -= uint64(t.bytes)
		q.head = (q.head + 1) & uint32(len(q.ring)-1)
		q.n--
	}
}

// push appends a packet.
func (q *packetQueue) push(start wheel.Time, bytes uint32) {
	if int(q.n) == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)&uint32(len(q.ring)-1)] = waitingPacket{start, bytes}
	q.n++
	q.bytes += uint64(bytes)
}

func (q *packetQueue) grow() {
	ring := make([]waitingPacket, max(16, 2*len(q.ring)))
	n := copy(ring, q.ring[q.head:])
	copy(ring[n:], q.ring[:q.head])
	q.ring, q.head = ring, 0
}
