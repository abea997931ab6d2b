//go:build !linux

package netns

import (
	"context"
	"errors"
	"net"
	"time"

	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// Pair is two hosts joined by an emulated link, which only Linux has.
type Pair struct{}

var errNotLinux = errors.New("netns: only on Linux")

// NewPair returns an error.
func NewPair(PairConfig) (*Pair, error) { return nil, errNotLinux }

// Now returns the time since the Pair was made.
func (*Pair) Now() wheel.Time { return 0 }

// Listen listens on a port of the server.
func (*Pair) Listen(uint16) (net.Listener, string, error) { return nil, "", errNotLinux }

// Dial connects from the client to the server.
func (*Pair) Dial(context.Context, uint16, uint16) (net.Conn, error) { return nil, errNotLinux }

// In returns an error.
func (*Pair) In(bool, func() error) error { return errNotLinux }

// Counts returns the server's retransmissions.
func (*Pair) Counts() (virtual.Counts, error) { return virtual.Counts{}, errNotLinux }

// Close removes both hosts.
func (*Pair) Close() error { return errNotLinux }

// SetQuickAck sets TCP_QUICKACK on a connection of a kernel.
func SetQuickAck(net.Conn, bool) error { return errNotLinux }

// SetPacingRate sets SO_MAX_PACING_RATE on a connection of a kernel.
func SetPacingRate(net.Conn, int) error { return errNotLinux }

// SetControl sets TCP_CONGESTION on a connection of a kernel.
func SetControl(net.Conn, string) error { return errNotLinux }

// SetFineTimestamps returns an error.
func SetFineTimestamps() error { return errNotLinux }

// KernelInfo is what the kernel knows of a connection: part of its TCP_INFO.
type KernelInfo struct {
	SRTT, RTO, ATO, Jiffy  time.Duration
	Unacked, Retransmitted uint32
	FineTimestamps         bool
}

// ReadInfo returns an error.
func ReadInfo(net.Conn) (KernelInfo, error) { return KernelInfo{}, errNotLinux }

// WriteSysctls returns an error.
func WriteSysctls(map[string]string) error { return errNotLinux }
