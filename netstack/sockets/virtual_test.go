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
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
)

// oneWay is the delay of the links of tests in virtual time.
const oneWay = 10 * time.Millisecond

// inVirtual runs a client and a server as tasks, at the two ends of a connection, until both have ended.
func inVirtual(t *testing.T, p stack.TransportProtocolFactory, client, server func(v *virtual, c *sockets.Conn)) {
	t.Helper()
	v := newVirtual(p, sim.LinkConfig{Delay: oneWay})
	defer v.close()
	v.tasks.Go(func() {
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
	v.tasks.Go(func() {
		c, err := v.dialer().DialTCP(t.Context(), port(addrB+":80"))
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		client(v, c)
	})
	v.clock.Run(time.Hour)
	if n := v.tasks.Unfinished(); n != 0 {
		t.Errorf("%d tasks still wait after an hour", n)
	}
}

// wantTimeout wants a timeout as package net has them, at an instant.
func wantTimeout(t *testing.T, what string, err error, at, want time.Duration) {
	t.Helper()
	ne, ok := errors.AsType[net.Error](err)
	if !ok || !ne.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: %v, want a timeout", what, err)
	}
	if at != want {
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

// TestDeadlines has each call that waits end at the very instant of its deadline.
func TestDeadlines(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		inVirtual(t, p, func(v *virtual, c *sockets.Conn) {
			in := func(d time.Duration) (time.Time, time.Duration) { return v.clock.Now().Add(d), v.now() + d }
			buf := make([]byte, 100)

			at, want := in(1234567 * time.Nanosecond)
			c.SetReadDeadline(at)
			_, err := c.Read(buf)
			wantTimeout(t, "read", err, v.now(), want)
			_, err = c.Read(buf)
			wantTimeout(t, "read again", err, v.now(), want)

			// The peer reads nothing: what it does not take must wait.
			at, want = in(3 * time.Second)
			c.SetDeadline(at)
			n, err := c.Write(make([]byte, 64<<20))
			wantTimeout(t, "write", err, v.now(), want)
			if n == 0 {
				t.Error("nothing was written")
			}

			// A deadline that is moved while somebody waits, to a later one and to an earlier one.
			at, _ = in(time.Second)
			c.SetReadDeadline(at)
			later, want := in(2 * time.Second)
			v.clock.AfterFunc(500*time.Millisecond, func() { c.SetReadDeadline(later) })
			_, err = c.Read(buf)
			wantTimeout(t, "read, moved to later", err, v.now(), want)
			at, _ = in(time.Hour)
			c.SetReadDeadline(at)
			sooner, want := in(time.Second)
			v.clock.AfterFunc(500*time.Millisecond, func() { c.SetReadDeadline(sooner) })
			_, err = c.Read(buf)
			wantTimeout(t, "read, moved to sooner", err, v.now(), want)
			at, _ = in(time.Hour)
			c.SetReadDeadline(at)
			want = v.now() + time.Second
			v.clock.AfterFunc(time.Second, func() { c.SetReadDeadline(time.Unix(1, 0).Add(-time.Hour)) })
			_, err = c.Read(buf)
			wantTimeout(t, "read, moved to the past", err, v.now(), want)

			// None, and one beyond all clocks.
			for _, at := range []time.Time{{}, v.clock.Now().AddDate(5000, 0, 0)} {
				c.SetReadDeadline(at)
				want = v.now() + 2*oneWay
				c.SetWriteDeadline(time.Time{})
				v.tasks.Go(func() { c.Write([]byte("?")) })
				v.tasks.Sleep(2 * oneWay)
				if v.now() != want {
					t.Errorf("slept until %v, want %v", v.now(), want)
				}
			}
		}, func(v *virtual, c *sockets.Conn) { v.tasks.Sleep(30 * time.Second) })
	})
}

// TestDialEnds has dials end by each of their bounds, at the very instant.
func TestDialEnds(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		v := newVirtual(p, sim.LinkConfig{Delay: oneWay})
		defer v.close()
		v.tasks.Go(func() {
			_, err := v.dialer().DialTCP(t.Context(), port(addrB+":81"))
			wantError(t, "dial a closed port", err, syscall.ECONNREFUSED)
			if want := "dial tcp 10.0.0.2:81: connect: connection refused"; err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
			if v.now() != 2*oneWay {
				t.Errorf("refused at %v, want %v", v.now(), 2*oneWay)
			}

			v.wires[1].cut = true
			start := v.now()
			d := v.dialer()
			d.Timeout = 1500 * time.Millisecond
			_, err = d.Dial("tcp", addrB+":80")
			wantTimeout(t, "dial with a timeout", err, v.now()-start, d.Timeout)
			wantError(t, "dial with a timeout", err, context.DeadlineExceeded)

			start = v.now()
			d.Deadline = v.clock.Now().Add(time.Second)
			_, err = d.Dial("tcp", addrB+":80")
			wantTimeout(t, "dial with a deadline", err, v.now()-start, time.Second)
			_, err = d.Dial("tcp", addrB+":80")
			wantTimeout(t, "dial after the deadline", err, v.now()-start, time.Second)

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
			wantError(t, "dial nobody", err, syscall.ETIMEDOUT)
			if took := v.now() - start; took < 3*time.Second || took > 3*time.Minute {
				t.Errorf("the stack has given up after %v, want 3 s or more: two SYNs again, or what gVisor's TCP makes of it", took)
			}
		})
		v.clock.Run(time.Hour)
		if n := v.tasks.Unfinished(); n != 0 {
			t.Errorf("%d tasks still wait", n)
		}
	})
}

// TestReset has the peer end the connection with a RST: whatever is called afterwards says so, each time.
func TestReset(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		inVirtual(t, p, func(v *virtual, c *sockets.Conn) {
			for range 2 {
				_, err := c.Read(make([]byte, 1))
				wantError(t, "read", err, syscall.ECONNRESET)
				_, err = c.Write([]byte("x"))
				wantError(t, "write", err, syscall.ECONNRESET)
			}
			_, err := io.Copy(io.Discard, c)
			wantError(t, "copy", err, syscall.ECONNRESET)
		}, func(v *virtual, c *sockets.Conn) { c.SetLinger(0) })
	})
}

// TestPeerGone has packets no longer arrive: what is written in vain ends with ETIMEDOUT.
func TestPeerGone(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		inVirtual(t, p, func(v *virtual, c *sockets.Conn) {
			v.wires[0].cut = true
			timeout := tcpip.TCPUserTimeoutOption(20 * time.Second)
			if err := c.Endpoint().SetSockOpt(&timeout); err != nil {
				t.Fatal(err)
			}
			c.Write([]byte("x"))
			_, err := c.Read(make([]byte, 1))
			wantError(t, "read", err, syscall.ETIMEDOUT)
		}, func(v *virtual, c *sockets.Conn) { v.tasks.Sleep(time.Minute) })
	})
}

// TestHalfClose has either side end its stream in its time.
func TestHalfClose(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		inVirtual(t, p, func(v *virtual, c *sockets.Conn) {
			io.WriteString(c, "question")
			if err := c.CloseWrite(); err != nil {
				t.Errorf("CloseWrite: %v", err)
			}
			_, err := c.Write([]byte("more"))
			wantError(t, "write after CloseWrite", err, syscall.EPIPE)
			if got, err := io.ReadAll(c); string(got) != "answer" || err != nil {
				t.Errorf("read %q, %v, want the answer", got, err)
			}
		}, func(v *virtual, c *sockets.Conn) {
			if got, err := io.ReadAll(c); string(got) != "question" || err != nil {
				t.Errorf("read %q, %v, want the question", got, err)
			}
			v.tasks.Sleep(time.Second)
			io.WriteString(c, "answer")
			if err := c.CloseRead(); err != nil && !errors.Is(err, syscall.ENOTCONN) {
				t.Errorf("CloseRead: %v", err)
			}
			if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("read after CloseRead: %d, %v, want io.EOF", n, err)
			}
		})
	})
}

// TestRunsAreIdentical has tasks share a lossy link: two runs send the same packets to the byte, at the same instants.
func TestRunsAreIdentical(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		run := func(processors int) string {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			v := newVirtual(p, sim.LinkConfig{Delay: 7 * time.Millisecond, Rate: 20e6, Loss: sim.Losses{sim.Bernoulli{P: 0.02}},
				Reorder: sim.Reorder{Probability: 0.01}})
			defer v.close()
			var log strings.Builder
			const conns, size = 5, 100_000
			v.tasks.Go(func() {
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
					v.tasks.Go(func() {
						defer c.Close()
						if n, err := io.Copy(c, c); n != size || err != nil {
							t.Errorf("echoed %d octets, %v, want %d", n, err, size)
						}
						c.CloseWrite()
					})
				}
			})
			for i := range conns {
				v.tasks.Go(func() {
					c, err := v.dialer().DialTCP(t.Context(), port(addrB+":80"))
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
					data := make([]byte, size)
					netstack.NewSeededSource(int64(i)).Read(data)
					v.tasks.Go(func() {
						c.Write(data)
						c.CloseWrite()
					})
					h := sha256.New()
					io.Copy(h, c)
					if [32]byte(h.Sum(nil)) != sha256.Sum256(data) {
						t.Errorf("connection %d: other octets came back", i)
					}
					fmt.Fprintf(&log, "%v: connection %d has ended\n", v.now(), i)
				})
			}
			v.clock.Run(time.Hour)
			if n := v.tasks.Unfinished(); n != 0 {
				t.Errorf("%d tasks still wait", n)
			}
			for _, w := range v.wires {
				counts := w.model.Counts()
				if counts.Lost == 0 {
					t.Error("nothing was lost, which makes this no test")
				}
				fmt.Fprintf(&log, "%d packets, sum %x\n", w.packets, w.sum)
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

// TestWaitOutsideOfTasks is a mistake that is told.
func TestWaitOutsideOfTasks(t *testing.T) {
	v := newVirtual(protocols[0].make, sim.LinkConfig{})
	defer v.close()
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
