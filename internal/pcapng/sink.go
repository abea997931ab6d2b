package pcapng

import (
	"errors"
	"io"
)

// Sink writes whole records: the blocks of a Writer, or lines. Each Write is one record. They reach
// the file in Flush, and before that when many wait. If the file is full, it ends with its last
// whole record, unless it is a pipe or device, which cannot be repaired.
type Sink struct {
	to    io.Writer
	buf   []byte
	ends  []int // of the records in buf
	wrote int64
	err   error
}

const sinkSize = 256 << 10 // bytes that wait for Flush, if one record is not larger

// NewSink returns a sink of a file or another writer.
func NewSink(to io.Writer) *Sink { return &Sink{to: to} }

// Write takes a record. It fails after a failed write.
func (s *Sink) Write(b []byte) (int, error) {
	if len(s.buf)+len(b) > sinkSize {
		s.Flush()
	}
	if s.err != nil {
		return 0, s.err
	}
	s.buf = append(s.buf, b...)
	s.ends = append(s.ends, len(s.buf))
	return len(b), nil
}

// Flush writes the records that wait, and returns the first error. Nothing is written after it.
func (s *Sink) Flush() error {
	if s.err != nil || len(s.buf) == 0 {
		return s.err
	}
	n, err := s.to.Write(s.buf)
	if err != nil {
		n -= s.cut(n)
	}
	s.wrote, s.err, s.buf, s.ends = s.wrote+int64(n), err, s.buf[:0], s.ends[:0]
	return err
}

// cut takes the part of a record behind n written bytes back. It returns its length.
func (s *Sink) cut(n int) int {
	part := n
	for _, end := range s.ends {
		if end <= n {
			part = n - end
		}
	}
	file, ok := s.to.(interface {
		io.Seeker
		Truncate(size int64) error
	})
	if !ok || part == 0 {
		return 0
	}
	// not from the file's beginning: standard output may have begun elsewhere
	at, err := file.Seek(int64(-part), io.SeekCurrent)
	if err != nil || file.Truncate(at) != nil {
		return 0
	}
	return part
}

// Len returns the bytes written and waiting.
func (s *Sink) Len() int64 { return s.wrote + int64(len(s.buf)) }

// Close flushes, and closes the file.
func (s *Sink) Close() error {
	err := s.Flush()
	if c, ok := s.to.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}
