//go:build !linux

package link

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Link is two devices with an emulated link between them, which only Linux has.
type Link struct{}

// String returns "".
func (*Link) String() string { return "" }

// Summary returns zeros.
func (*Link) Summary() (s [2]Summary) { return s }

// CheckRealtime returns an error.
func CheckRealtime() error { return errors.New("link: only on Linux") }

// Commands are programs to run in the namespaces while the link is up.
type Commands struct {
	B string
	A []string

	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run returns an error: other systems lack Linux's TUN devices.
func Run(_ context.Context, c Config, _ Commands, _ func(*Link) func()) (s [2]Summary, err error) {
	if err := c.Check(); err != nil {
		return s, fmt.Errorf("link: %w", err)
	}
	return s, errors.New("link: only on Linux")
}
