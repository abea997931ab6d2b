package watch

import "fmt"

// Options configures Listen. The zero value is valid.
type Options struct {
	Filter  Filter
	Snaplen int // bytes kept of a packet, 128 to 65535; 0 means 192: the headers, in a tunnel too
	Ring    int // bytes shared with the kernel; 0 means 16 MiB
}

const (
	leastSnaplen = 128
	mostSnaplen  = 1<<16 - 1
	leastRing    = 1 << 20
	mostRing     = 1 << 30
)

func (o *Options) snaplen() int {
	if o.Snaplen == 0 {
		return 192
	}
	return o.Snaplen
}

func (o *Options) ring() int {
	if o.Ring == 0 {
		return 16 << 20
	}
	return o.Ring
}

func (o *Options) check() error {
	if n := o.snaplen(); n < leastSnaplen || n > mostSnaplen {
		return fmt.Errorf("watch: snaplen %d, want %d to %d bytes", n, leastSnaplen, mostSnaplen)
	}
	if n := o.ring(); n < leastRing || n > mostRing {
		return fmt.Errorf("watch: a ring of %d bytes, want %d to %d", n, leastRing, mostRing)
	}
	return nil
}
