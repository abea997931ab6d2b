package netstack

import (
	"slices"
	"sort"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
)

// recvQueue is what has arrived and the application has not read. Offsets count octets of the peer's stream.
type recvQueue struct {
	ready buffer.Buffer // in order
	end   uint64        // after the last octet that was ever in ready
	later []recvChunk   // out of order: sorted, without overlaps
}

type recvChunk struct {
	start uint64
	data  buffer.Buffer
}

func (c *recvChunk) end() uint64 { return c.start + uint64(c.data.Size()) }

// insert keeps what the verdict says of a segment's payload, in the chunks in which it came if it fills half of them.
func (q *recvQueue) insert(pkt *stack.PacketBuffer, v tcp.Disposition) {
	if v.Len > 0 {
		b := pkt.Data().ToBuffer()
		b.TrimFront(int64(v.Offset))
		b.Truncate(int64(v.Len))
		q.put(recvChunk{v.Stream, b})
	}
	for len(q.later) > 0 && q.later[0].start <= q.end {
		q.take(&q.later[0])
		q.later[0] = recvChunk{}
		if q.later = q.later[1:]; len(q.later) == 0 {
			q.later = nil
		}
	}
}

// take appends to what is in order a chunk that does not begin after it.
func (q *recvQueue) take(c *recvChunk) {
	end := c.end()
	if end <= q.end {
		c.data.Release()
		return
	}
	c.data.TrimFront(int64(q.end - c.start))
	join(&q.ready, &c.data)
	q.end = end
}

// put adds a chunk where it belongs. Octets that are there already are not kept twice.
func (q *recvQueue) put(c recvChunk) {
	if c.start <= q.end && len(q.later) == 0 {
		q.take(&c)
		return
	}
	i := sort.Search(len(q.later), func(i int) bool { return q.later[i].start >= c.start })
	if i > 0 {
		if prev := &q.later[i-1]; prev.end() > c.start {
			if prev.end() >= c.end() {
				c.data.Release()
				return
			}
			cut := prev.end() - c.start
			c.data.TrimFront(int64(cut))
			c.start += cut
		}
	}
	j := i
	for j < len(q.later) && q.later[j].end() <= c.end() {
		q.later[j].data.Release()
		j++
	}
	if j < len(q.later) && q.later[j].start < c.end() {
		c.data.Truncate(int64(q.later[j].start - c.start))
	}
	// Where it meets those before and behind it, they become one.
	if j < len(q.later) && q.later[j].start == c.end() {
		join(&c.data, &q.later[j].data)
		j++
	}
	if i > 0 && q.later[i-1].end() == c.start {
		join(&q.later[i-1].data, &c.data)
		q.later = slices.Delete(q.later, i, j)
		return
	}
	if wasteful(&c.data) {
		b := c.data
		c.data = buffer.Buffer{}
		join(&c.data, &b)
	}
	q.later = slices.Replace(q.later, i, j, c)
}

// drop lets go of everything, and returns how many octets were ready.
func (q *recvQueue) drop() int {
	n := int(q.ready.Size())
	q.ready.Release()
	for i := range q.later {
		q.later[i].data.Release()
	}
	q.later = nil
	return n
}
