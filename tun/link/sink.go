package link

import (
	"errors"
	"fmt"
	"os"
)

// sink is a file that is always whole: flush writes everything put in before, or nothing.
type sink struct {
	file *os.File
	buf  []byte
	good int64 // length of the whole part, for a regular file
	err  error // the first error
}

func createSink(name string) (*sink, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return &sink{file: file}, nil
}

// Write never fails: see flush.
func (s *sink) Write(b []byte) (int, error) {
	if s.err == nil {
		s.buf = append(s.buf, b...)
	}
	return len(b), nil
}

// flush writes what was put in. After an error, the file ends at its last whole state, and nothing
// more is written.
func (s *sink) flush() {
	if s.err != nil || len(s.buf) == 0 {
		return
	}
	n, err := s.file.Write(s.buf)
	if err != nil {
		s.err = fmt.Errorf("write %s: %w", s.file.Name(), unwrap(err))
		if n > 0 {
			_ = s.file.Truncate(s.good) // fails on a pipe, which cannot be repaired
		}
		return
	}
	s.good += int64(n)
	s.buf = s.buf[:0]
}

func (s *sink) close() error {
	s.flush()
	return errors.Join(s.err, s.file.Close())
}

// unwrap returns the system's error without the operation and path.
func unwrap(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
