//go:build !linux

package watch

import (
	"context"
	"errors"
)

// Listener captures on Linux only.
type Listener struct{}

// Listen returns an error.
func Listen(string, Options) (*Listener, error) {
	return nil, errors.New("watch: an interface needs Linux: pipe tcpdump -U -w - into it")
}

// Run does nothing.
func (*Listener) Run(context.Context, *Watcher) error { return nil }

// Close does nothing.
func (*Listener) Close() error { return nil }
