package netstack

import (
	"io"

	"gvisor.dev/gvisor/pkg/buffer"

	"tcpwheel/netstack/bufpool"
)

// writeOut writes a buffer to w, and returns how many octets w has taken. The buffer has them still.
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

// wasRead lets go of the first n octets of b, which was ready until now. Views that were full are those of a link that has read into them:
// they wait for it. Those that show less than their chunk are often clones, of what a sender in the same process has.
func (e *Endpoint) wasRead(b *buffer.Buffer, n int) {
	var full [16]*buffer.View
	for n > 0 {
		octets, k := 0, 0
		list := b.AsViewList()
		for v := list.Front(); v != nil && k < len(full) && octets+v.Size() <= n; v = v.Next() {
			octets += v.Size()
			if v.Size() >= bufpool.MinSize && v.Size() == v.Capacity() || e.cut {
				full[k] = v.Clone()
				k++
			}
			e.cut = false
		}
		if octets == 0 { // a part of a view
			list := b.AsViewList()
			v := list.Front()
			e.cut = e.cut || v.Size() >= bufpool.MinSize && v.Size() == v.Capacity()
			octets = n
		}
		b.TrimFront(int64(octets))
		n -= octets
		for _, v := range full[:k] {
			bufpool.Put(v)
		}
	}
}
