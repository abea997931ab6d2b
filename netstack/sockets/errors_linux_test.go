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

// TestErrno compares the numbers with those that gVisor's own kernel gives for the errors that sockets have. Without a free port Linux's
// connect says that it cannot assign an address, where gVisor says that it should be tried again.
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

// TestEndOf has the ends of contexts be what package net makes of them.
func TestEndOf(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	err := endOf(ctx)
	var timeout interface{ Timeout() bool }
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() ||
		err.Error() != "i/o timeout" {
		t.Errorf("%v, want a timeout", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if err := endOf(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded) || err.Error() != "operation was canceled" {
		t.Errorf("%v, want a cancellation", err)
	}
}
