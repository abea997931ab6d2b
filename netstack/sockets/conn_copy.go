package sockets

import (
	"io"
	"sync"

	"gvisor.dev/gvisor/pkg/waiter"
)

// copyBuffers holds buffers for ReadFrom and WriteTo. A buffer takes a few offloaded packets.
var copyBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// ReadFrom implements io.ReaderFrom. It writes what it reads from r until io.EOF, piece by piece.
// Its buffer is pooled, so io.Copy allocates none.
func (c *Conn) ReadFrom(r io.Reader) (n int64, err error) {
	buf := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(buf)
	for {
		m, err := r.Read(buf[:])
		if m > 0 {
			k, err := c.Write(buf[:m])
			n += int64(k)
			if err != nil {
				return n, err
			}
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// WriteTo implements io.WriterTo. It writes to w what it reads until the peer ends its stream. Data
// of several segments is written in one call. It holds no buffer while it waits.
func (c *Conn) WriteTo(w io.Writer) (n int64, err error) {
	for {
		if err := c.awaitReadable(); err != nil {
			return n, c.opError("read", err)
		}
		m, end, err := c.writeSome(w)
		n += m
		if end || err != nil {
			return n, err
		}
	}
}

// awaitReadable waits until a read would not block.
func (c *Conn) awaitReadable() error {
	for {
		seq := c.rd.events.Load()
		if err := c.rd.err(); err != nil {
			return err
		}
		if c.ep.Readiness(waiter.ReadableEvents)&waiter.ReadableEvents != 0 {
			return nil
		}
		c.wait(&c.rd, seq)
	}
}

// writeSome writes to w what has arrived so far.
func (c *Conn) writeSome(w io.Writer) (n int64, end bool, err error) {
	buf := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(buf)
	have := 0
	var failure error
	for have < len(buf) && failure == nil {
		m, err := c.read(buf[have:], false)
		if have += m; m == 0 {
			failure = err
			break
		}
	}
	if have > 0 {
		m, err := w.Write(buf[:have])
		n = int64(m)
		if err == nil && m < have {
			err = io.ErrShortWrite
		}
		if err != nil {
			return n, false, err
		}
	}
	switch {
	case failure == io.EOF:
		return n, true, nil
	case failure != nil:
		return n, false, c.opError("read", failure)
	}
	return n, false, nil
}
