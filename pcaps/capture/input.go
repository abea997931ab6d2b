package capture

import (
	"io"

	"tcpwheel/internal/pcapng"
)

const (
	inputSize = 256 << 10 // bytes read at once

	// maxRecord is the largest packet in a file. A file with a larger one is damaged.
	maxRecord = pcapng.MaxPacket

	// maxEmptyReads without bytes and without an error end a stream with io.ErrNoProgress.
	maxEmptyReads = 100
)

// input is a window that slides over a stream. Unlike bufio.Reader it grows for long items, but
// only as bytes arrive, so that a false length costs nothing.
type input struct {
	r      io.Reader
	buf    []byte
	window []byte // bytes read and not consumed, in buf
	offset int64  // of window[0] in the stream
	unit   int64  // offset of the current packet or block, for errors
	err    error  // sticky error of r
}

// newInput returns an input over r, whose size is -1 if unknown.
func newInput(r io.Reader, size int64) *input {
	if size < 0 || size > inputSize {
		size = inputSize
	}
	return &input{r: r, buf: make([]byte, max(size, 64))}
}

// peek returns the next n bytes, valid until the next peek or discard. If fewer are left it returns
// them with the reason, io.EOF at the end of the stream.
func (in *input) peek(n int) (b []byte, err error) {
	if len(in.window) < n {
		b, err = in.fill(n)
		return // so that the compiler inlines peek
	}
	return in.window[:n], nil
}

// fill is peek where more must be read.
func (in *input) fill(n int) ([]byte, error) {
	for empty := 0; len(in.window) < n; {
		if in.err != nil {
			return in.window, in.err
		}
		have := len(in.window)
		if cap(in.window) < cap(in.buf) { // it does not begin where the buffer does
			copy(in.buf, in.window)
		}
		if have == len(in.buf) {
			in.buf = append(in.buf, make([]byte, len(in.buf))...)
		}
		var got int
		got, in.err = in.r.Read(in.buf[have:])
		in.window = in.buf[:have+got]
		if empty++; got > 0 {
			empty = 0
		}
		if empty == maxEmptyReads && in.err == nil {
			in.err = io.ErrNoProgress
		}
	}
	return in.window[:n], nil
}

// advance consumes n bytes that were peeked.
func (in *input) advance(n int) {
	in.window = in.window[n:]
	in.offset += int64(n)
}

// discard consumes n bytes and returns how many of them were missing.
func (in *input) discard(n int64) (missing int64, err error) {
	return in.copy(nil, n)
}

// copy is discard that writes the bytes to w, if w is not nil.
func (in *input) copy(w io.Writer, n int64) (missing int64, err error) {
	for n > 0 {
		var b []byte
		if b, err = in.peek(int(min(n, inputSize))); len(b) == 0 {
			return n, err
		}
		if w != nil {
			if _, err := w.Write(b); err != nil {
				return n, err
			}
		}
		in.advance(len(b))
		n -= int64(len(b))
	}
	return 0, nil
}
