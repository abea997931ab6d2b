package netstack

import "gvisor.dev/gvisor/pkg/buffer"

// Received data stays in the chunks it arrived in while these carry little else. Otherwise a sender
// of small segments could make the receiver hold many times what the window counts.

const (
	// viewCost is roughly the memory of a view besides its chunk, in bytes.
	viewCost = 64
	// smallView bounds the bytes that are copied again to join them with others.
	smallView = 1024
)

// memoryOf returns roughly how many bytes of memory a buffer holds.
func memoryOf(b *buffer.Buffer) (n int) {
	b.Apply(func(v *buffer.View) { n += v.Capacity() + viewCost })
	return n
}

// wasteful reports whether less than half of that memory is data.
func wasteful(b *buffer.Buffer) bool { return memoryOf(b) > 2*int(b.Size()) }

// appendCompact moves the data of src to the end of dst. It copies data whose views are too large
// for it. It costs O(views), and O(smallView) where the buffers meet.
func appendCompact(dst, src *buffer.Buffer) {
	if !wasteful(src) {
		dst.Merge(src)
		return
	}
	for src.Size() > 0 {
		list := src.AsViewList()
		front := list.Front()
		n := front.Size()
		switch {
		case n == 0:
		case n > smallView && front.Capacity()+viewCost <= 2*n:
			appendView(dst, front.Clone())
		case n <= room(dst):
			appendView(dst, copyOf(n, front))
		case int(dst.Size())+n <= smallView:
			// One view for all of it, with room for as much again.
			v := buffer.NewView(min(2*(int(dst.Size())+n), smallView))
			dst.Apply(func(d *buffer.View) { v.Write(d.AsSlice()) })
			v.Write(front.AsSlice())
			dst.Release()
			appendView(dst, v)
		case n <= smallView:
			list := dst.AsViewList()
			appendView(dst, copyOf(min(max(2*list.Back().Size(), n), smallView), front))
		default:
			appendView(dst, copyOf(n, front))
		}
		src.TrimFront(int64(n))
	}
	src.Release()
}

// room returns how many bytes the last view of a buffer takes without a copy.
func room(b *buffer.Buffer) int {
	list := b.AsViewList()
	return list.Back().AvailableSize() // 0 for nil
}

// copyOf returns a copy of v in a view with room for size bytes.
func copyOf(size int, v *buffer.View) *buffer.View {
	c := buffer.NewView(size)
	c.Write(v.AsSlice())
	return c
}

func appendView(b *buffer.Buffer, v *buffer.View) {
	if err := b.Append(v); err != nil {
		panic("BUG: " + err.Error())
	}
}
