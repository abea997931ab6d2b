package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
)

// NetcatConfig configures a netcat: standard input and output of a process, connected to a
// connection of a stack behind a TUN device. The zero value of a field is its default, except for
// Host, At, In and Out.
//
// In ending ends the stream to the peer; the other direction continues. A connection has ended well
// when both streams have ended and the peer has acknowledged all of ours: its TCP then has every
// byte. Any other end is an error, worded as by package net.
type NetcatConfig struct {
	Host Config // the stack; Bare is set

	Listen bool           // listen at At (all addresses if it has none), do not connect to it
	Keep   bool           // with Listen: accept the next connection after each, until the context ends
	At     netip.AddrPort // the port is not 0
	Source netip.AddrPort // where a connection comes from; the stack's choice by default

	// Timeout bounds connecting, and how long a connection may be idle in both directions. 0 is no
	// bound but TCP's.
	Timeout time.Duration

	// Interactive ends a connection when the peer ends its stream, even if In has not ended.
	Interactive bool

	In  io.Reader
	Out io.Writer

	Counts *NetcatCounts       // bytes passed; may be nil
	Say    func(string)        // receives lines about events; may be nil
	Report func(*NetcatReport) // called at the end of each connection; may be nil
}

// NetcatReport describes a connection that has ended.
type NetcatReport struct {
	Local    netip.AddrPort `json:"local"`
	Remote   netip.AddrPort `json:"remote"`
	TCP      string         `json:"tcp"`
	Sent     uint64         `json:"bytes_sent"` // bytes that the stack accepted
	Received uint64         `json:"bytes_received"`
	Time     time.Duration  `json:"duration_ns"`
	Error    string         `json:"error,omitempty"` // why it did not end well
	Info     *tcp.Info      `json:"info,omitempty"`  // this module's TCP only
}

// Check returns an error that names the first invalid field, its value and the bound.
func (c *NetcatConfig) Check() error {
	if err := c.Host.Check(); err != nil {
		return err
	}
	switch {
	case c.At.Port() == 0:
		return errors.New("port 0, want 1 to 65535")
	case !c.Listen && !c.At.Addr().IsValid():
		return errors.New("no address to connect to")
	case !c.Listen && (c.At.Addr().IsUnspecified() || c.At.Addr().IsMulticast()):
		return fmt.Errorf("address %v, want a unicast address", c.At.Addr())
	case c.Listen && c.Source != netip.AddrPort{}:
		return errors.New("a source address or port for a server, which does not connect")
	case c.Keep && !c.Listen:
		return errors.New("keep listening without listening")
	case c.Timeout < 0:
		return fmt.Errorf("timeout %v, want 0s or more", c.Timeout)
	}
	return nil
}

// RunNetcat makes the stack and runs a client or server on it until its connection has ended, with
// Keep until the context ends. The device is removed before it returns. The end of the context is
// an error, except for a server that keeps listening.
//
// In is read ahead by one buffer, in a goroutine that outlives RunNetcat while it is blocked there.
func RunNetcat(ctx context.Context, c NetcatConfig) error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("nc: %w", err)
	}
	c.Host.Bare = true
	run, end := context.WithCancel(ctx)
	defer end()
	var (
		done   chan struct{} // nil until the stack is ready
		failed error
	)
	err := Run(run, c.Host, func(site Running) {
		c.say("%v", site)
		done = make(chan struct{})
		go func() {
			defer close(done)
			defer end()
			failed = c.serve(run, site.(interface{ Stack() *stack.Stack }).Stack())
		}()
	})
	end()
	if done != nil {
		<-done
	}
	switch {
	case err != nil:
		return err // the connection's error follows from it
	case ctx.Err() != nil && !c.Keep:
		return ctx.Err()
	case ctx.Err() != nil || failed == nil:
		return nil
	}
	return fmt.Errorf("nc: %w", failed)
}

func (c *NetcatConfig) say(format string, args ...any) {
	if c.Say != nil {
		c.Say(fmt.Sprintf(format, args...))
	}
}

// serve runs a client or server on a stack.
func (c *NetcatConfig) serve(ctx context.Context, s *stack.Stack) error {
	if c.Counts == nil {
		c.Counts = &NetcatCounts{}
	}
	in := newSource(c.In)
	defer in.stop()
	if !c.Listen {
		d := sockets.Dialer{Stack: s, Timeout: c.Timeout, LocalAddr: c.Source, KeepAlive: c.Host.KeepAlive}
		conn, err := d.DialTCP(ctx, c.At)
		if err != nil {
			return err
		}
		return c.talk(ctx, conn, in)
	}
	waiting := 1
	if c.Keep {
		waiting = 128
	}
	l, err := (&sockets.ListenConfig{Stack: s, Backlog: waiting, KeepAlive: c.Host.KeepAlive}).ListenTCP(c.At)
	if err != nil {
		return err
	}
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	c.say("listening at %v", l.Addr())
	for {
		conn, err := l.AcceptTCP()
		if errors.Is(err, net.ErrClosed) && ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if !c.Keep {
			stop()
			l.Close() // the next connection is refused
		}
		switch err := c.talk(ctx, conn, in); {
		case !c.Keep:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, new(*stdioError)):
			return err // the next connection would fail too
		case err != nil:
			c.say("%v", err)
		}
	}
}
