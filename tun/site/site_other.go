//go:build !linux

package site

import (
	"context"
	"errors"
	"net"

	"tcpwheel/wheel"
)

// Site is two kernels and the link between them.
type Site struct{}

var errOther = errors.New("site: only on Linux")

// New returns an error.
func New(Config) (*Site, error) { return nil, errOther }

// Now is that of the link's clock.
func (*Site) Now() wheel.Time { return 0 }

// Listen listens in the server's kernel.
func (*Site) Listen(uint16) (net.Listener, error) { return nil, errOther }

// Dial connects in the client's kernel.
func (*Site) Dial(context.Context, uint16, uint16) (net.Conn, error) { return nil, errOther }

// AckAtOnce has the kernel acknowledge at once.
func (*Site) AckAtOnce(net.Conn) error { return errOther }

// Counts returns what the server's kernel has counted.
func (*Site) Counts() (Counts, error) { return Counts{}, errOther }

// Close ends both kernels.
func (*Site) Close() error { return errOther }
