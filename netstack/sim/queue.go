package sim

import "tcpwheel/wheel"

// packetQueue is the queue before a sender of fixed rate, as the instants at which its packets leave: what it holds at an
// instant follows from those, and no event is needed for a packet's turn. push and the pops it causes are O(1) amortised.
type packetQueue struct {
	ring   []waitingPacket // a power of two
	head   uint32
	n      uint32
	octets uint64
}

// waitingPacket is a packet that waits until its transmission starts.
type waitingPacket struct {
	start  wheel.Time
	octets uint32
}

// removeStarted takes out the packets whose turn has come by now.
func (q *packetQueue) removeStarted(now wheel.Time) {
	for q.n > 0 {
		t := &q.ring[q.head]
		if t.start > now {
			return
		}
		q.octets -= uint64(t.octets)
		q.head = (q.head + 1) & uint32(len(q.ring)-1)
		q.n--
	}
}

// push adds a packet behind all others.
func (q *packetQueue) push(start wheel.Time, octets uint32) {
	if int(q.n) == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)&uint32(len(q.ring)-1)] = waitingPacket{start, octets}
	q.n++
	q.octets += uint64(octets)
}

func (q *packetQueue) grow() {
	ring := make([]waitingPacket, max(16, 2*len(q.ring)))
	n := copy(ring, q.ring[q.head:])
	copy(ring[n:], q.ring[:q.head])
	q.ring, q.head = ring, 0
}
