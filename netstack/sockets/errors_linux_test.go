// Package syserr of gVisor builds for these processors only.

//go:build amd64 || arm64

package sockets

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"gvisor.dev/gvisor/pkg/syserr"
	"gvisor.dev/gvisor/pkg/tcpip"
)

// TestErrno compares the errnos with those of gVisor's kernel. If no port is free, Linux's connect
// returns EADDRNOTAVAIL, gVisor's EAGAIN.
func TestErrno(t *testing.T) {
	for _, err := range []tcpip.Error{
		&tcpip.ErrConnectionRefused{}, &tcpip.ErrConnectionReset{}, &tcpip.ErrConnectionAborted{}, &tcpip.ErrTimeout{},
		&tcpip.ErrHostUnreachable{}, &tcpip.ErrHostDown{}, &tcpip.ErrNetworkUnreachable{}, &tcpip.ErrClosedForSend{}, &tcpip.ErrAborted{},
		&tcpip.ErrNotConnected{}, &tcpip.ErrAlreadyConnected{}, &tcpip.ErrAlreadyConnecting{}, &tcpip.ErrPortInUse{},
		&tcpip.ErrBadLocalAddress{}, &tcpip.ErrAddressFamilyNotSupported{}, &tcpip.ErrUnknownProtocolOption{},
		&tcpip.ErrUnknownNICID{}, &tcpip.ErrUnknownDevice{}, &tcpip.ErrMessageTooLong{}, &tcpip.ErrNoBufferSpace{},
		&tcpip.ErrNotPermitted{}, &tcpip.ErrNotSupported{}, &tcpip.ErrNoSuchFile{}, &tcpip.ErrInvalidOptionValue{},
		&tcpip.ErrInvalidEndpointState{}, &tcpip.ErrAlreadyBound{},
	} {
		want := syscall.Errno(syserr.TranslateNetstackError(err).ToLinux())
		if got := errno(err); got != want {
			t.Errorf("errno(%T) = %v, want %v", err, got, want)
		}
	}
	if got := errno(&tcpip.ErrNoPortAvailable{}); got != syscall.EADDRNOTAVAIL {
		t.Errorf("errno of no port = %v, want %v", got, syscall.EADDRNOTAVAIL)
	}
}

// TestContextError compares the errors of ended contexts with package net's.
func TestContextError(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	err := contextError(ctx)
	var timeout interface{ Timeout() bool }
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() ||
		err.Error() != "i/o timeout" {
		t.Errorf("%v, want a timeout", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if err := contextError(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded) || err.Error() != "operation was canceled" {
		t.Errorf("%v, want a cancellation", err)
	}
}
