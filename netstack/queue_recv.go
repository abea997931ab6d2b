package netstack

import (
	"slices"
	"sort"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
)

// recvQueue holds received data that the application has not read. Offsets are bytes of the peer's
// stream.
type recvQueue struct {
	ready buffer.Buffer // in order
	end   uint64        // offset after the last byte ever in ready
	later []recvChunk   // out of order: sorted, without overlaps
	held  int           // bytes in later
}

type recvChunk struct {
	start uint64
	data  buffer.Buffer
}

func (c *recvChunk) end() uint64 { return c.start + uint64(c.data.Size()) }

// insert queues the part of a segment's payload that the disposition accepts. It keeps the chunks
// that carried it if the payload fills half of them.
func (q *recvQueue) insert(pkt *stack.PacketBuffer, d tcp.Disposition) {
	if d.Len > 0 {
		b := pkt.Data().ToBuffer()
		b.TrimFront(int64(d.Offset))
		b.Truncate(int64(d.Len))
		q.put(recvChunk{d.Stream, b})
	}
	for len(q.later) > 0 && q.later[0].start <= q.end {
		q.held -= int(q.later[0].data.Size())
		q.appendReady(&q.later[0])
		q.later[0] = recvChunk{}
		if q.later = q.later[1:]; len(q.later) == 0 {
			q.later = nil
		}
	}
}

// appendReady appends chunk c, which begins at or before end, to ready.
func (q *recvQueue) appendReady(c *recvChunk) {
	end := c.end()
	if end <= q.end {
		c.data.Release()
		return
	}
	c.data.TrimFront(int64(q.end - c.start))
	appendCompact(&q.ready, &c.data)
	q.end = end
}

// put inserts a chunk. Bytes already queued are not kept twice.
func (q *recvQueue) put(c recvChunk) {
	if c.start <= q.end && len(q.later) == 0 {
		q.appendReady(&c)
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
		q.held -= int(q.later[j].data.Size())
		q.later[j].data.Release()
		j++
	}
	if j < len(q.later) && q.later[j].start < c.end() {
		c.data.Truncate(int64(q.later[j].start - c.start))
	}
	q.held += int(c.data.Size())
	// Adjacent chunks are merged.
	if j < len(q.later) && q.later[j].start == c.end() {
		appendCompact(&c.data, &q.later[j].data)
		j++
	}
	if i > 0 && q.later[i-1].end() == c.start {
		appendCompact(&q.later[i-1].data, &c.data)
		q.later = slices.Delete(q.later, i, j)
		return
	}
	if wasteful(&c.data) {
		b := c.data
		c.data = buffer.Buffer{}
		appendCompact(&c.data, &b)
	}
	q.later = slices.Replace(q.later, i, j, c)
}

// drop releases all data, and returns the number of bytes in ready.
func (q *recvQueue) drop() int {
	n := int(q.ready.Size())
	q.ready.Release()
	for i := range q.later {
		q.later[i].data.Release()
	}
	q.later, q.held = nil, 0
	return n
}
