package up

import (
	"io"
	"sync"
)

// chunkSize is how much is read and written at a time.
const chunkSize = 32 << 10

// source reads the input for one connection after the other. It stays one chunk ahead.
type source struct {
	chunks chan []byte // closed at the end, after err is set
	err    error       // nil for io.EOF
	once   sync.Once
	done   chan struct{}
}

func newSource(r io.Reader) *source {
	s := &source{chunks: make(chan []byte), done: make(chan struct{})}
	go s.read(r)
	return s
}

// read passes chunks on. The receiver of a chunk is done with earlier ones, so two buffers are
// enough.
func (s *source) read(r io.Reader) {
	defer close(s.chunks)
	var bufs [2][chunkSize]byte
	for i := 0; ; i = 1 - i {
		n, err := r.Read(bufs[i][:])
		if n > 0 {
			select {
			case s.chunks <- bufs[i][:n]:
			case <-s.done:
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				s.err = err
			}
			return
		}
	}
}

// stop ends the goroutine as soon as the reader returns.
func (s *source) stop() { s.once.Do(func() { close(s.done) }) }
