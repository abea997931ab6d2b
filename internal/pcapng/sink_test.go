package pcapng

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// disk is a file on a disk with room for so many bytes.
type disk struct {
	data   []byte
	room   int
	closed bool
}

var errFull = errors.New("no space left")

func (d *disk) Write(b []byte) (int, error) {
	n := min(len(b), d.room-len(d.data))
	d.data = append(d.data, b[:n]...)
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

func (d *disk) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekCurrent {
		return 0, errors.ErrUnsupported
	}
	return int64(len(d.data)) + offset, nil
}

func (d *disk) Truncate(size int64) error { d.data = d.data[:size]; return nil }
func (d *disk) Close() error              { d.closed = true; return nil }

// TestSinkOnFullDisk: whatever the room, the file has as many whole records as fit, and the error
// is kept. What was in the file before stays.
func TestSinkOnFullDisk(t *testing.T) {
	const before, record, records = "before", 100, 10_000
	for _, room := range []int{0, 1, 99, 100, 101, 12_345, sinkSize, sinkSize + 1, 2*sinkSize + 77, records * record} {
		d := &disk{data: []byte(before), room: len(before) + room}
		s := NewSink(d)
		var failed error
		for i := range records {
			if _, err := fmt.Fprintf(s, "%099d\n", i); err != nil {
				failed = err
			}
			if i%1000 == 999 {
				s.Flush()
			}
		}
		want := room / record
		if err := s.Close(); errors.Is(err, errFull) != (want < records) || !d.closed {
			t.Errorf("room %d: close: %v, closed: %t", room, err, d.closed)
		}
		if want < records-1000 && !errors.Is(failed, errFull) {
			t.Errorf("room %d: the last write: %v", room, failed)
		}
		lines := strings.Split(strings.TrimPrefix(string(d.data), before), "\n")
		if len(lines) != want+1 || lines[want] != "" || want > 0 && !strings.HasSuffix(lines[want-1], fmt.Sprintf("0%d", want-1)) {
			t.Errorf("room %d: %d records, and %q behind them, want %d", room, len(lines)-1, lines[len(lines)-1], want)
		}
		if s.Len() != int64(len(d.data)-len(before)) {
			t.Errorf("room %d: Len %d, want %d", room, s.Len(), len(d.data)-len(before))
		}
	}
}

// TestSinkFlushes: records reach the file at Flush, and before it if they are many.
func TestSinkFlushes(t *testing.T) {
	d := &disk{room: 1 << 30}
	s := NewSink(d)
	s.Write([]byte("one\n"))
	if len(d.data) != 0 || s.Len() != 4 {
		t.Errorf("before Flush: %q, Len %d", d.data, s.Len())
	}
	if err := s.Flush(); err != nil || string(d.data) != "one\n" {
		t.Errorf("after Flush: %q, %v", d.data, err)
	}
	big := strings.Repeat("x", sinkSize)
	for range 3 {
		io.WriteString(s, big)
	}
	if n := len(d.data); n != 4+2*sinkSize || s.Len() != 4+3*sinkSize {
		t.Errorf("%d bytes written, Len %d", n, s.Len())
	}
}

// TestSinkOfPipe: what a pipe has taken cannot be taken back.
func TestSinkOfPipe(t *testing.T) {
	r, w := io.Pipe()
	go func() {
		io.ReadFull(r, make([]byte, 5))
		r.CloseWithError(errFull)
	}()
	s := NewSink(w)
	io.WriteString(s, "one\n")
	io.WriteString(s, "two\n")
	if err := s.Flush(); !errors.Is(err, errFull) || s.Len() != 5 {
		t.Errorf("%v after %d bytes", err, s.Len())
	}
}
