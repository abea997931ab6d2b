package netstack

import "gvisor.dev/gvisor/pkg/buffer"

// What is received is kept in the chunks in which it came, as long as these hold little beside it. Else whoever sends small segments has a
// receiver hold many times what the window counts.

const (
	// viewCost is about what a view takes beside its chunk.
	viewCost = 64
	// smallView is the most octets that are copied again to join them with others.
	smallView = 1024
)

// held returns about how much memory a buffer holds.
func held(b *buffer.Buffer) (n int) {
	b.Apply(func(v *buffer.View) { n += v.Capacity() + viewCost })
	return n
}

// wasteful reports whether less than half of that are octets.
func wasteful(b *buffer.Buffer) bool { return held(b) > 2*int(b.Size()) }

// join moves the octets of src behind those of dst, and copies those that their views are too large for. It costs O(views), and O(smallView)
// for the octets where they meet.
func join(dst, src *buffer.Buffer) {
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
			// All in one, with room for as much again.
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

// room returns how many octets the last view of a buffer takes without being copied.
func room(b *buffer.Buffer) int {
	list := b.AsViewList()
	return list.Back().AvailableSize() // 0 of nil
}

// copyOf returns a view with the octets of v and room for size.
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
