package sockets_test

import (
	"io"
	"syscall"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// TestAwaitReset: a reader that has seen io.EOF learns of a later reset, and sees no error after a
// normal close.
func TestAwaitReset(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		s := newLoop(t, p)
		for _, reset := range []bool{true, false} {
			a, b := mustPipe(t, s)
			if err := b.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(a); err != nil {
				t.Fatal(err)
			}
			told := make(chan error, 1)
			go func() { told <- a.AwaitReset() }()
			if reset {
				time.Sleep(10 * time.Millisecond)
				if err := b.SetLinger(0); err != nil {
					t.Fatal(err)
				}
				b.Close()
				wantError(t, "AwaitReset", <-told, syscall.EPIPE)
				continue
			}
			if err := a.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(b); err != nil {
				t.Fatal(err)
			}
			b.Close()
			select {
			case err := <-told:
				t.Errorf("AwaitReset = %v before Close, want it to wait", err)
			case <-time.After(20 * time.Millisecond):
			}
			a.Close()
			if err := <-told; err != nil {
				t.Errorf("AwaitReset = %v after Close, want nil", err)
			}
		}
	})
}
