package netstack

import (
	"io"

	"gvisor.dev/gvisor/pkg/buffer"

	"tcpwheel/netstack/bufpool"
)

// writeOut writes a buffer to w without consuming it. It returns how many bytes w has taken.
func writeOut(b *buffer.Buffer, w io.Writer) (n int, err error) {
	list := b.AsViewList()
	for v := list.Front(); v != nil && err == nil; v = v.Next() {
		if v.Size() == 0 {
			continue
		}
		var m int
		if m, err = w.Write(v.AsSlice()); err == nil && m < v.Size() {
			err = io.ErrShortWrite
		}
		n += m
	}
	return n, err
}

// releaseRead releases the first n bytes of b, which the application has read. Full views go to
// bufpool: a link has read into them and waits for more. Other views are often clones that a sender
// in the same process still uses.
func (r *reading) releaseRead(b *buffer.Buffer, n int) {
	var full [16]*buffer.View
	for n > 0 {
		size, k := 0, 0
		list := b.AsViewList()
		for v := list.Front(); v != nil && k < len(full) && size+v.Size() <= n; v = v.Next() {
			size += v.Size()
			if v.Size() >= bufpool.MinSize && v.Size() == v.Capacity() || r.readSplitView {
				full[k] = v.Clone()
				k++
			}
			r.readSplitView = false
		}
		if size == 0 { // part of a view
			list := b.AsViewList()
			v := list.Front()
			r.readSplitView = r.readSplitView || v.Size() >= bufpool.MinSize && v.Size() == v.Capacity()
			size = n
		}
		b.TrimFront(int64(size))
		n -= size
		for _, v := range full[:k] {
			bufpool.Put(v)
		}
	}
}
