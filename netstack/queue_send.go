package netstack

import (
	"sort"

	"gvisor.dev/gvisor/pkg/buffer"

	"tcpwheel/netstack/bufpool"
)

// sendQueue holds written data that the peer has not acknowledged. Offsets are bytes since the
// connection began.
type sendQueue struct {
	chunks []sendChunk
	head   int    // chunks[:head] is released
	start  uint64 // offset of the first byte
	end    uint64 // offset after the last byte
}

type sendChunk struct {
	offset uint64
	view   *buffer.View
}

func (q *sendQueue) size() int { return int(q.end - q.start) }

// chunkCost is roughly the memory of a chunk besides its data, in bytes.
const chunkCost = 128

// memory returns roughly how many bytes of memory the queue holds.
func (q *sendQueue) memory() int { return q.size() + (len(q.chunks)-q.head)*chunkCost }

// append appends views and takes ownership.
func (q *sendQueue) append(views []*buffer.View) {
	for _, v := range views {
		q.chunks = append(q.chunks, sendChunk{q.end, v})
		q.end += uint64(v.Size())
	}
}

// window returns n bytes from offset on, without copying.
func (q *sendQueue) window(offset uint64, n uint32) (b buffer.Buffer) {
	i := q.head + sort.Search(len(q.chunks)-q.head, func(i int) bool { return q.chunks[q.head+i].offset > offset }) - 1
	for ; n > 0; i++ {
		c := &q.chunks[i]
		v := c.view.Clone()
		v.TrimFront(int(offset - c.offset))
		if k := uint32(v.Size()); k > n {
			v.CapLength(int(n))
		}
		k := uint32(v.Size())
		if err := b.Append(v); err != nil {
			panic("BUG: " + err.Error())
		}
		offset += uint64(k)
		n -= k
	}
	return b
}

// release releases the data before offset. alone says that the chunks have no clones.
func (q *sendQueue) release(offset uint64, alone bool) {
	for q.head < len(q.chunks) {
		c := &q.chunks[q.head]
		if c.offset+uint64(c.view.Size()) > offset {
			break
		}
		if alone {
			bufpool.Put(c.view)
		} else {
			c.view.Release()
		}
		*c = sendChunk{}
		q.head++
	}
	q.start = max(q.start, offset)
	switch {
	case q.head == len(q.chunks):
		q.chunks, q.head = nil, 0
	case q.head > 32 && 2*q.head > len(q.chunks):
		n := copy(q.chunks, q.chunks[q.head:])
		clear(q.chunks[n:])
		q.chunks, q.head = q.chunks[:n], 0
	}
}

// drop releases all data.
func (q *sendQueue) drop() { q.release(q.end, false) }
