package sockets_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
)

// oneWay is the links' delay in virtual time.
const oneWay = 10 * time.Millisecond

// inVirtual runs a client and a server as tasks at the ends of a connection, until both have ended.
func inVirtual(t *testing.T, tcp virtual.TCP, client, server func(v *virtualNet, c *sockets.Conn)) {
	t.Helper()
	v := newVirtual(tcp, sim.LinkConfig{Delay: oneWay})
	defer v.Close()
	v.Tasks.Go(func() {
		l, err := v.listen(addrB + ":80")
		if err != nil {
			t.Error(err)
			return
		}
		defer l.Close()
		c, err := l.AcceptTCP()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		server(v, c)
	})
	v.Tasks.Go(func() {
		c, err := v.dialer().DialTCP(t.Context(), port(addrB+":80"))
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		client(v, c)
	})
	v.Clock.Run(time.Hour)
	if n := v.Tasks.Unfinished(); n != 0 {
		t.Errorf("%d tasks still wait after an hour", n)
	}
}

// wantTimeout checks for a timeout error, as package net's, at a time.
func (v *virtualNet) wantTimeout(t *testing.T, what string, err error, at, want time.Duration) {
	t.Helper()
	ne, ok := errors.AsType[net.Error](err)
	if !ok || !ne.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: %v, want a timeout", what, err)
	}
	if at < want || at > want+v.late {
		t.Errorf("%s: timeout at %v, want %v", what, at, want)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("%s: %v is a %T, want a *net.OpError", what, err, err)
	}
}

// TestDeadlines: each call that waits ends at the exact time of its deadline.
func TestDeadlines(t *testing.T) {
	forVirtual(t, func(t *testing.T, tcp virtual.TCP) {
		inVirtual(t, tcp, func(v *virtualNet, c *sockets.Conn) {
			in := func(d time.Duration) (time.Time, time.Duration) { return v.Clock.Now().Add(d), v.now() + d }
			buf := make([]byte, 100)

			at, want := in(1234567 * time.Nanosecond)
			c.SetReadDeadline(at)
			_, err := c.Read(buf)
			v.wantTimeout(t, "read", err, v.now(), want)
			_, err = c.Read(buf)
			v.wantTimeout(t, "read again", err, v.now(), want)

			// The peer reads nothing, so the write must wait.
			at, want = in(3 * time.Second)
			c.SetDeadline(at)
			n, err := c.Write(make([]byte, 64<<20))
			v.wantTimeout(t, "write", err, v.now(), want)
			if n == 0 {
				t.Error("nothing was written")
			}

			// A deadline that moves during a read: later, sooner, and into the past.
			at, _ = in(time.Second)
			c.SetReadDeadline(at)
			later, want := in(2 * time.Second)
			v.Clock.AfterFunc(500*time.Millisecond, func() { c.SetReadDeadline(later) })
			_, err = c.Read(buf)
			v.wantTimeout(t, "read, moved to later", err, v.now(), want)
			at, _ = in(time.Hour)
			c.SetReadDeadline(at)
			sooner, want := in(time.Second)
			v.Clock.AfterFunc(500*time.Millisecond, func() { c.SetReadDeadline(sooner) })
			_, err = c.Read(buf)
			v.wantTimeout(t, "read, moved to sooner", err, v.now(), want)
			at, _ = in(time.Hour)
			c.SetReadDeadline(at)
			want = v.now() + time.Second
			v.Clock.AfterFunc(time.Second, func() { c.SetReadDeadline(time.Unix(1, 0).Add(-time.Hour)) })
			_, err = c.Read(buf)
			v.wantTimeout(t, "read, moved to the past", err, v.now(), want)

			// No deadline, and one beyond the clock's range.
			for _, at := range []time.Time{{}, v.Clock.Now().AddDate(5000, 0, 0)} {
				c.SetReadDeadline(at)
				want = v.now() + 2*oneWay
				c.SetWriteDeadline(time.Time{})
				v.Tasks.Go(func() { c.Write([]byte("?")) })
				v.Tasks.Sleep(2 * oneWay)
				if v.now() != want {
					t.Errorf("slept until %v, want %v", v.now(), want)
				}
			}
		}, func(v *virtualNet, c *sockets.Conn) { v.Tasks.Sleep(30 * time.Second) })
	})
}

// TestDialEnds: dials end by each of their limits, at the exact time.
func TestDialEnds(t *testing.T) {
	forVirtual(t, func(t *testing.T, tcp virtual.TCP) {
		v := newVirtual(tcp, sim.LinkConfig{Delay: oneWay})
		defer v.Close()
		v.Tasks.Go(func() {
			_, err := v.dialer().DialTCP(t.Context(), port(addrB+":81"))
			wantError(t, "dial a closed port", err, syscall.ECONNREFUSED)
			if want := "dial tcp 10.9.0.2:81: connect: connection refused"; err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
			if v.now() != 2*oneWay {
				t.Errorf("refused at %v, want %v", v.now(), 2*oneWay)
			}

			v.cut[1] = true
			start := v.now()
			d := v.dialer()
			d.Timeout = 1500 * time.Millisecond
			_, err = d.Dial("tcp", addrB+":80")
			v.wantTimeout(t, "dial with a timeout", err, v.now()-start, d.Timeout)
			wantError(t, "dial with a timeout", err, context.DeadlineExceeded)

			start = v.now()
			d.Deadline = v.Clock.Now().Add(time.Second)
			_, err = d.Dial("tcp", addrB+":80")
			v.wantTimeout(t, "dial with a deadline", err, v.now()-start, time.Second)
			_, err = d.Dial("tcp", addrB+":80")
			v.wantTimeout(t, "dial after the deadline", err, v.now()-start, time.Second)

			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = v.dialer().DialTCP(ctx, port(addrB+":80"))
			wantError(t, "dial with a context that has ended", err, context.Canceled)

			start = v.now()
			d = v.dialer()
			d.Control = func(ep tcpip.Endpoint) error {
				if err := ep.SetSockOptInt(tcpip.TCPSynCountOption, 2); err != nil {
					return errors.New(err.String())
				}
				return nil
			}
			_, err = d.DialTCP(t.Context(), port(addrB+":80"))
			wantError(t, "dial a host that does not answer", err, syscall.ETIMEDOUT)
			if took := v.now() - start; took < 3*time.Second || took > 3*time.Minute {
				t.Errorf("the dial gave up after %v, want at least 3 s (two SYN retransmissions)", took)
			}
		})
		v.Clock.Run(time.Hour)
		if n := v.Tasks.Unfinished(); n != 0 {
			t.Errorf("%d tasks still wait", n)
		}
	})
}

// TestReset: after a RST each call returns ECONNRESET, every time.
func TestReset(t *testing.T) {
	forVirtual(t, func(t *testing.T, tcp virtual.TCP) {
		inVirtual(t, tcp, func(v *virtualNet, c *sockets.Conn) {
			for range 2 {
				_, err := c.Read(make([]byte, 1))
				wantError(t, "read", err, syscall.ECONNRESET)
				_, err = c.Write([]byte("x"))
				wantError(t, "write", err, syscall.ECONNRESET)
			}
			_, err := io.Copy(io.Discard, c)
			wantError(t, "copy", err, syscall.ECONNRESET)
		}, func(v *virtualNet, c *sockets.Conn) { c.SetLinger(0) })
	})
}

// TestPeerGone: without an answer a write ends with ETIMEDOUT.
func TestPeerGone(t *testing.T) {
	forVirtual(t, func(t *testing.T, tcp virtual.TCP) {
		inVirtual(t, tcp, func(v *virtualNet, c *sockets.Conn) {
			v.cut[0] = true
			timeout := tcpip.TCPUserTimeoutOption(20 * time.Second)
			if err := c.Endpoint().SetSockOpt(&timeout); err != nil {
				t.Fatal(err)
			}
			c.Write([]byte("x"))
			_, err := c.Read(make([]byte, 1))
			wantError(t, "read", err, syscall.ETIMEDOUT)
		}, func(v *virtualNet, c *sockets.Conn) { v.Tasks.Sleep(time.Minute) })
	})
}

// TestRunsAreIdentical: tasks share a lossy link. Two runs send equal packets at equal times.
func TestRunsAreIdentical(t *testing.T) {
	forVirtual(t, func(t *testing.T, tcp virtual.TCP) {
		run := func(processors int) string {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			v := newVirtual(tcp, sim.LinkConfig{Delay: 7 * time.Millisecond, Rate: 20e6, Loss: sim.Losses{sim.Bernoulli{P: 0.02}},
				Reorder: sim.Reorder{Probability: 0.01}})
			defer v.Close()
			var log strings.Builder
			const conns, size = 5, 100_000
			v.Tasks.Go(func() {
				l, err := v.listen("[::]:80")
				if err != nil {
					t.Error(err)
					return
				}
				defer l.Close()
				for range conns {
					c, err := l.AcceptTCP()
					if err != nil {
						t.Error(err)
						return
					}
					v.Tasks.Go(func() {
						defer c.Close()
						if n, err := io.Copy(c, c); n != size || err != nil {
							t.Errorf("echoed %d bytes, %v, want %d", n, err, size)
						}
						c.CloseWrite()
					})
				}
			})
			for i := range conns {
				v.Tasks.Go(func() {
					c, err := v.dialer().DialTCP(t.Context(), port(addrB+":80"))
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
					data := make([]byte, size)
					netstack.NewSeededSource(int64(i)).Read(data)
					v.Tasks.Go(func() {
						c.Write(data)
						c.CloseWrite()
					})
					h := sha256.New()
					io.Copy(h, c)
					if [32]byte(h.Sum(nil)) != sha256.Sum256(data) {
						t.Errorf("connection %d: the echo differs", i)
					}
					fmt.Fprintf(&log, "%v: connection %d has ended\n", v.now(), i)
				})
			}
			v.Clock.Run(time.Hour)
			if n := v.Tasks.Unfinished(); n != 0 {
				t.Errorf("%d tasks still wait", n)
			}
			for i, l := range v.links {
				if l.Counts().Lost == 0 {
					t.Error("nothing was lost; the test needs loss")
				}
				fmt.Fprintf(&log, "%d packets, sum %x\n", v.packets[i], v.sums[i])
			}
			return log.String()
		}
		first := run(1)
		for _, processors := range []int{1, 4} {
			if again := run(processors); again != first {
				t.Errorf("with GOMAXPROCS %d:\n%swant\n%s", processors, again, first)
			}
		}
		t.Log(first)
	})
}

// TestWaitOutsideOfTasks: a wait outside a task panics.
func TestWaitOutsideOfTasks(t *testing.T) {
	v := newVirtual(protocols[0].tcp, sim.LinkConfig{})
	defer v.Close()
	l, err := v.listen("[::]:80")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	defer func() {
		if msg := fmt.Sprint(recover()); !strings.HasPrefix(msg, "BUG: sockets: ") {
			t.Errorf("panic %q, want one that begins BUG: sockets:", msg)
		}
	}()
	l.Accept()
}
