package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack/sockets"
)

// NetcatCounts are the bytes of all connections.
type NetcatCounts struct{ Sent, Received atomic.Uint64 }

// talk sends in and writes what arrives, until both streams have ended. It owns the connection.
func (c *NetcatConfig) talk(ctx context.Context, conn *sockets.Conn, in *source) error {
	c.say("connected, %v to %v", conn.LocalAddr(), conn.RemoteAddr())
	t := &talk{NetcatConfig: c, conn: conn, idle: func() {}, start: time.Now(), sent: c.Counts.Sent.Load(), received: c.Counts.Received.Load()}
	whole := ctx
	ctx, cancel := context.WithCancelCause(whole)
	defer cancel(nil)
	if c.Timeout > 0 {
		timer := time.AfterFunc(c.Timeout, func() { cancel(idleError(c.Timeout)) })
		defer timer.Stop()
		t.idle = func() { timer.Reset(c.Timeout) }
	}
	stop := context.AfterFunc(ctx, func() { // ends all waiting
		conn.SetLinger(0)
		conn.Close()
	})
	defer stop()
	err := t.run(ctx, in)
	// A peer whose context is the same may have reset the connection before ctx ended after whole.
	if why := cmp.Or(context.Cause(ctx), context.Cause(whole)); why != nil {
		err = why
	}
	if c.Report != nil {
		c.Report(t.report(err))
	}
	if err != nil {
		conn.SetLinger(0) // tells the peer with a reset
	}
	conn.Close()
	return err
}

// talk is one connection.
type talk struct {
	*NetcatConfig
	conn           *sockets.Conn
	idle           func() // restarts the idle timeout
	start          time.Time
	sent, received uint64 // at the start of this connection
}

// run copies both directions until both streams have ended or one has failed.
func (t *talk) run(ctx context.Context, in *source) error {
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	enough := make(chan struct{})
	sent, received, reset := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { sent <- t.send(sending, enough, in) }()
	go func() { received <- t.receive() }()
	for sent != nil || received != nil {
		var err error
		select {
		case err = <-sent:
			sent = nil
		case err = <-received:
			received = nil
			if t.Interactive {
				close(enough)
			}
			if err == nil {
				go func() { reset <- t.conn.AwaitReset() }() // until the connection is closed
			}
		case err = <-reset:
		}
		if err != nil {
			cancel()
			t.conn.SetLinger(0)
			t.conn.Close() // ends all waiting
			for _, c := range []chan error{sent, received} {
				if c != nil {
					<-c
				}
			}
			return err
		}
	}
	return t.linger(ctx)
}

// send sends until in ends or enough is closed, and then ends the stream. At the end of the context
// it returns without ending the stream.
func (t *talk) send(ctx context.Context, enough <-chan struct{}, in *source) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-enough:
			return t.endStream()
		case chunk, ok := <-in.chunks:
			if !ok && in.err != nil {
				return &stdioError{fmt.Errorf("input: %w", in.err)}
			}
			if !ok {
				return t.endStream()
			}
			n, err := t.conn.Write(chunk)
			t.Counts.Sent.Add(uint64(n))
			t.idle()
			if err != nil {
				return err
			}
		}
	}
}

// endStream ends the stream to the peer. If the connection has ended already, receive returns why.
func (t *talk) endStream() error {
	err := t.conn.CloseWrite()
	if errors.Is(err, syscall.ENOTCONN) {
		return nil
	}
	return err
}

// receive writes what arrives, until the peer ends its stream.
func (t *talk) receive() error {
	out := &countedWriter{t: t}
	_, err := io.Copy(out, t.conn)
	if out.err != nil {
		return &stdioError{fmt.Errorf("output: %w", out.err)}
	}
	return err
}

// countedWriter writes to Config.Out and counts.
type countedWriter struct {
	t   *talk
	err error
}

// Write implements io.Writer.
func (w *countedWriter) Write(p []byte) (n int, err error) {
	n, err = w.t.Out.Write(p)
	w.t.Counts.Received.Add(uint64(n))
	w.t.idle()
	w.err = err
	return n, err
}

// linger waits until the peer has acknowledged the end of our stream, after the peer has ended its
// own.
func (t *talk) linger(ctx context.Context) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	ep := t.conn.Endpoint()
	for {
		switch gtcp.EndpointState(ep.State()) {
		case gtcp.StateTimeWait, gtcp.StateClose:
			return nil
		case gtcp.StateError:
			_, err := t.conn.Read(make([]byte, 1))
			if err == nil || err == io.EOF {
				err = errors.New("reset")
			}
			return fmt.Errorf("before everything was acknowledged: %w", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (t *talk) report(err error) *NetcatReport {
	r := &NetcatReport{
		TCP: t.Host.TCP, Sent: t.Counts.Sent.Load() - t.sent, Received: t.Counts.Received.Load() - t.received, Time: time.Since(t.start),
	}
	if r.TCP == "" {
		r.TCP = Ours
	}
	r.Local, r.Remote = t.conn.LocalAddrPort(), t.conn.RemoteAddrPort()
	if info, ok := t.conn.Info(); ok {
		r.Info = &info
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// stdioError is an error of NetcatConfig.In or Out.
type stdioError struct{ error }

// Unwrap returns the error of the reader or writer.
func (e *stdioError) Unwrap() error { return e.error }

// idleError says that nothing has passed for that long.
type idleError time.Duration

// Error implements error.
func (e idleError) Error() string {
	return fmt.Sprintf("nothing sent or received for %v", time.Duration(e))
}

// Timeout implements net.Error.
func (idleError) Timeout() bool { return true }

// Temporary implements net.Error.
func (idleError) Temporary() bool { return false }

// Is matches os.ErrDeadlineExceeded.
func (idleError) Is(target error) bool { return target == os.ErrDeadlineExceeded }
