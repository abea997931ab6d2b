//go:build !linux

package link

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Link is two devices with an emulated link between them. Here there are none.
type Link struct{}

// String returns nothing.
func (*Link) String() string { return "" }

// Summary returns nothing.
func (*Link) Summary() (s [2]Summary) { return s }

// CheckRealtime returns an error if Config.Realtime is not to be had.
func CheckRealtime() error { return errors.New("link: only on Linux") }

// Commands are programs to run in the namespaces while there is a link.
type Commands struct {
	B string
	A []string

	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs a link until the context ends. Here there are no TUN devices as Linux has them, so that it is always an error.
func Run(_ context.Context, c Config, _ Commands, _ func(*Link) func()) (s [2]Summary, err error) {
	if err := c.Check(); err != nil {
		return s, fmt.Errorf("link: %w", err)
	}
	return s, errors.New("link: only on Linux")
}
