package sockets

import (
	"context"
	"net"
	"os"
	"syscall"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// errno returns the errno that a kernel's socket returns for err.
func errno(err tcpip.Error) syscall.Errno {
	switch err.(type) {
	case *tcpip.ErrConnectionRefused:
		return syscall.ECONNREFUSED
	case *tcpip.ErrConnectionReset:
		return syscall.ECONNRESET
	case *tcpip.ErrConnectionAborted:
		return syscall.ECONNABORTED
	case *tcpip.ErrTimeout:
		return syscall.ETIMEDOUT
	case *tcpip.ErrHostUnreachable:
		return syscall.EHOSTUNREACH
	case *tcpip.ErrHostDown:
		return syscall.EHOSTDOWN
	case *tcpip.ErrNetworkUnreachable:
		return syscall.ENETUNREACH
	case *tcpip.ErrClosedForSend, *tcpip.ErrAborted:
		return syscall.EPIPE
	case *tcpip.ErrNotConnected:
		return syscall.ENOTCONN
	case *tcpip.ErrAlreadyConnected:
		return syscall.EISCONN
	case *tcpip.ErrAlreadyConnecting:
		return syscall.EALREADY
	case *tcpip.ErrPortInUse:
		return syscall.EADDRINUSE
	case *tcpip.ErrBadLocalAddress, *tcpip.ErrNoPortAvailable:
		return syscall.EADDRNOTAVAIL
	case *tcpip.ErrAddressFamilyNotSupported:
		return syscall.EAFNOSUPPORT
	case *tcpip.ErrUnknownProtocol:
		return syscall.EPROTONOSUPPORT
	case *tcpip.ErrUnknownProtocolOption:
		return syscall.ENOPROTOOPT
	case *tcpip.ErrUnknownNICID, *tcpip.ErrUnknownDevice:
		return syscall.ENODEV
	case *tcpip.ErrMessageTooLong:
		return syscall.EMSGSIZE
	case *tcpip.ErrNoBufferSpace:
		return syscall.ENOBUFS
	case *tcpip.ErrNotPermitted:
		return syscall.EPERM
	case *tcpip.ErrNotSupported:
		return syscall.EOPNOTSUPP
	case *tcpip.ErrNoSuchFile:
		return syscall.ENOENT
	}
	return syscall.EINVAL
}

// syscallError returns err as the error of a system call.
func syscallError(call string, err tcpip.Error) error { return os.NewSyscallError(call, errno(err)) }

// err returns why the gate is closed to everyone, or nil. gateClosed precedes gateExpired.
func (g *gate) err() error {
	switch state := g.state.Load(); {
	case state == 0:
		return nil
	case state&gateClosed != 0:
		return net.ErrClosed
	}
	return os.ErrDeadlineExceeded
}

// contextError returns the error of package net for the end of a dial's context.
func contextError(ctx context.Context) error {
	if ctx.Err() == context.Canceled {
		return canceled{}
	}
	return timedOut{}
}

type canceled struct{}

func (canceled) Error() string        { return "operation was canceled" }
func (canceled) Is(target error) bool { return target == context.Canceled }

type timedOut struct{}

func (timedOut) Error() string   { return "i/o timeout" }
func (timedOut) Timeout() bool   { return true }
func (timedOut) Temporary() bool { return true }
func (timedOut) Is(target error) bool {
	return target == context.DeadlineExceeded || target == os.ErrDeadlineExceeded
}
