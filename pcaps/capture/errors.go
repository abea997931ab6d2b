package capture

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"tcpwheel/internal/quantity"
)

// ErrCutShort is wrapped by the error of a file that ends inside a packet, a header or a compressed
// block. All packets before the cut were read.
var ErrCutShort = errors.New("the file is cut short")

// ErrStopped is wrapped by the error of a reader after Stop.
var ErrStopped = errors.New("stopped")

// ErrNotCapture is wrapped by the error of a file that begins like no capture.
var ErrNotCapture = errors.New("not a capture")

// Error says where and why a capture could not be read any further.
type Error struct {
	File   string
	Packet int64 // number of the packet that failed, from 1; 0 if it concerns no packet
	Offset int64 // decompressed bytes before the fault
	Err    error
}

// Error returns file, packet, offset and reason. Control characters of the name are escaped.
func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString(quantity.Printable(e.File))
	if e.Packet > 0 {
		fmt.Fprintf(&s, ": packet %d", e.Packet)
	}
	if e.Packet > 0 || e.Offset > 0 {
		fmt.Fprintf(&s, ": at byte %d", e.Offset)
	}
	return s.String() + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// cutShort returns the error for an item of want bytes with only have of them left.
func cutShort(what string, want int64, have int, err error) error {
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%w: %d bytes left, want %s of %d", ErrCutShort, have, what, want)
}
