package corpus

import (
	"io"
	"sync/atomic"
	"time"
)

// Progress counts what a run has read. The zero value is ready for use.
type Progress struct {
	objects, bytes           atomic.Int64 // done
	totalObjects, totalBytes int64
	start                    time.Time
}

// Start begins a run over so many objects and bytes. It must come before all other calls.
func (p *Progress) Start(objects []Object) {
	p.totalObjects, p.totalBytes, p.start = int64(len(objects)), 0, time.Now()
	for i := range objects {
		p.totalBytes += max(objects[i].Size, 0)
	}
}

// Count returns a reader that counts what is read of an object.
func (p *Progress) Count(r io.Reader) io.Reader { return &counter{p, r} }

type counter struct {
	p *Progress
	r io.Reader
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.p.bytes.Add(int64(n))
	return n, err
}

// Done counts an object as done.
func (p *Progress) Done() { p.objects.Add(1) }

// Now returns how many objects are done and how many bytes are read, of how many, and since when.
func (p *Progress) Now() (objects, ofObjects, bytes, ofBytes int64, since time.Duration) {
	return p.objects.Load(), p.totalObjects, p.bytes.Load(), p.totalBytes, time.Since(p.start)
}
