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

// Check returns an error that names the value that is out of its bounds.
func (o *Options) Check() error {
	if n := o.snaplen(); n < leastSnaplen || n > mostSnaplen {
		return fmt.Errorf("snaplen %d, want %d to %d bytes", n, leastSnaplen, mostSnaplen)
	}
	if n := o.ring(); n < leastRing || n > mostRing {
		return fmt.Errorf("ring of %d bytes, want %d to %d", n, leastRing, mostRing)
	}
	return nil
}

// Rotation says when a Recorder begins another file, and how many it keeps.
type Rotation struct {
	Files int   // 1 to 1000
	Size  int64 // bytes, at least 65,536
}

// Check returns an error that names the value that is out of its bounds.
func (r *Rotation) Check() error {
	const mostFiles, leastSize = 1000, 64 << 10
	switch {
	case r.Files < 1 || r.Files > mostFiles:
		return fmt.Errorf("%d files, want 1 to %d", r.Files, mostFiles)
	case r.Size < leastSize:
		return fmt.Errorf("files of %d bytes, want at least %d", r.Size, leastSize)
	}
	return nil
}
