package up

import (
	"io"
	"sync"
)

// chunkSize is what is read and written at once.
const chunkSize = 32 << 10

// source reads what is to be sent, for one connection after the other. It stays one piece ahead.
type source struct {
	chunks chan []byte // closed at the end, with err set
	err    error       // nil for io.EOF
	once   sync.Once
	done   chan struct{}
}

func newSource(r io.Reader) *source {
	s := &source{chunks: make(chan []byte), done: make(chan struct{})}
	go s.read(r)
	return s
}

// read hands over pieces. Whoever takes one has done with those before, so that two buffers are enough.
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

// stop ends the goroutine, as soon as the reader returns.
func (s *source) stop() { s.once.Do(func() { close(s.done) }) }
