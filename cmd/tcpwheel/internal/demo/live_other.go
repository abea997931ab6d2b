//go:build !linux

package demo

import "tcpwheel/tun/up"

// NewLive returns nil: a host runs only on Linux.
func NewLive(*up.Host) up.Page { return nil }
