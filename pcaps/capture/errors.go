package capture

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrCutShort is in the error of a file that ends in the middle of something: a packet, a header, a compressed block. All
// packets before the cut were read.
var ErrCutShort = errors.New("the file is cut short")

// ErrStopped is in the error of a reader that was told to stop.
var ErrStopped = errors.New("stopped")

// Error says where a capture could not be read any further, and why.
type Error struct {
	File   string
	Packet int64 // number of the packet that would have come, from 1; 0 if it is not about a packet
	Offset int64 // octets before the fault, after decompression
	Err    error
}

// Error names the file, the packet, the offset and the reason, and the package nowhere: the file says it.
func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString(e.File)
	if e.Packet > 0 {
		fmt.Fprintf(&s, ": packet %d", e.Packet)
	}
	if e.Packet > 0 || e.Offset > 0 {
		fmt.Fprintf(&s, ": at octet %d", e.Offset)
	}
	return s.String() + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// cut is the error of something of want octets, of which the file has only some.
func cut(what string, want int64, have int, err error) error {
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%w: %d octets left, want %s of %d", ErrCutShort, have, what, want)
}
