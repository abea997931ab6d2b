package interop

import (
	"context"
	"io"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
)

// bothWays runs f with each end of a new connection in the role of the first.
func bothWays(t *testing.T, n *network, f func(t *testing.T, x, y conn)) {
	for _, v6 := range []bool{false, true} {
		a, b := n.connect(v6)
		f(t, a, b)
		a, b = n.connect(v6)
		f(t, b, a)
	}
}

// TestHalfClose has one end finish its stream, and the other send for long after.
func TestHalfClose(t *testing.T) {
	t.Parallel()
	forPairs(t, allPairs, plan{}, func(t *testing.T, n *network) {
		bothWays(t, n, func(t *testing.T, x, y conn) {
			must(t, send(x, 1000))
			must(t, x.CloseWrite())
			must(t, receiveEnd(y, 1000))
			if _, err := x.Write([]byte("x")); !is(err, syscall.EPIPE) {
				t.Errorf("write after CloseWrite: %v, want a broken pipe", err)
			}
			n.transfer(t, y, x, fewer(3<<20))
			must(t, y.CloseWrite())
			readEnd(t, x)
		})
		n.wantNothingLeft()
	})
}

// TestReset ends a connection with a RST: what is to be read after it is the error.
func TestReset(t *testing.T) {
	t.Parallel()
	forPairs(t, allPairs, plan{}, func(t *testing.T, n *network) {
		bothWays(t, n, func(t *testing.T, x, y conn) {
			n.transfer(t, x, y, 1000)
			x.abort() // SO_LINGER of 0
			if _, err := y.Read(make([]byte, 1)); !is(err, syscall.ECONNRESET) {
				t.Errorf("read after a RST: %v, want a reset", err)
			}
			if _, err := y.Write([]byte("x")); !is(err, syscall.EPIPE) {
				t.Errorf("write after a RST that was told: %v, want a broken pipe", err)
			}
		})
		bothWays(t, n, func(t *testing.T, x, y conn) {
			must(t, send(y, 1000))
			must(t, receive(x, 500))
			x.Close() // with octets unread
			if _, err := y.Read(make([]byte, 1)); !is(err, syscall.ECONNRESET) {
				t.Errorf("read after the peer closed with octets unread: %v, want a reset", err)
			}
		})
		bothWays(t, n, func(t *testing.T, x, y conn) {
			x.Close()
			readEnd(t, y)
			must(t, send(y, 1)) // nobody is there to read it
			eventually(t, "a write fails", func() bool {
				_, err := y.Write([]byte("x"))
				return is(err, syscall.EPIPE) || is(err, syscall.ECONNRESET)
			})
		})
		n.wantNothingLeft()
	})
}

// TestRefused dials a port that nobody has.
func TestRefused(t *testing.T) {
	t.Parallel()
	forPairs(t, allPairs, plan{}, func(t *testing.T, n *network) {
		for _, v6 := range []bool{false, true} {
			c, err := n.a.dial(t.Context(), netip.AddrPort{}, n.b.at(v6, 81))
			if err == nil {
				c.Close()
			}
			if !is(err, syscall.ECONNREFUSED) {
				t.Errorf("dial of a port that nobody has: %v, want a refusal", err)
			}
		}
		n.wantNothingLeft()
	})
}

// far is a link on which both ends do something before either learns of it.
var far = sim.LinkConfig{Delay: 150 * time.Millisecond}

// TestSimultaneousClose has both ends finish their streams with the other's still on its way. A machine that is busy may close so slowly
// that it is not, and tries again.
func TestSimultaneousClose(t *testing.T) {
	t.Parallel()
	forPairs(t, allPairs, plan{link: far}, func(t *testing.T, n *network) {
		for _, v6 := range []bool{false, true} {
			for simultaneous := false; !simultaneous; {
				a, b := n.connect(v6)
				for _, c := range []conn{a, b} {
					must(t, send(c, 1000))
				}
				start := time.Now()
				must(t, a.CloseWrite())
				must(t, b.CloseWrite())
				simultaneous = time.Since(start) < far.Delay
				must(t, receiveEnd(a, 1000))
				must(t, receiveEnd(b, 1000))
				for _, c := range []conn{a, b} {
					// Both have been active, and end in TIME-WAIT. If one were passive, it would be gone.
					if us, ok := isOurs(c); ok && simultaneous {
						eventually(t, "TIME-WAIT", func() bool { return us.state() == gtcp.StateTimeWait })
					}
				}
			}
		}
	})
}

// TestSimultaneousOpen has both ends connect to each other, with nobody listening. No RST comes through, so that the first is not refused
// where a busy machine takes long until the second connects.
func TestSimultaneousOpen(t *testing.T) {
	t.Parallel()
	forPairs(t, allPairs, plan{link: far}, func(t *testing.T, n *network) {
		n.box.setDrop(has(header.TCPFlagRst))
		for i, v6 := range []bool{false, true} {
			port := uint16(5000 + i)
			at := [2]netip.AddrPort{n.a.at(v6, port), n.b.at(v6, port)}
			type dialled struct {
				c   conn
				err error
			}
			var ends [2]chan dialled
			ctx, cancel := context.WithTimeout(t.Context(), testLimit)
			defer cancel()
			for i, h := range []*host{n.a, n.b} {
				ends[i] = make(chan dialled, 1)
				go func() {
					c, err := h.dial(ctx, at[i], at[1-i])
					ends[i] <- dialled{c, err}
				}()
			}
			x, y := <-ends[0], <-ends[1]
			if x.err != nil || y.err != nil {
				t.Fatalf("dials: %v, %v", x.err, y.err)
			}
			n.exchange(t, x.c, y.c, 100_000)
			x.c.Close()
			y.c.Close()
		}
	})
}

// TestAbortInEachState resets a connection of our stack's in every state that it can be in, either end doing it, with the packets that
// would lead on to the next state held back. The other end is told, unless its own end was over, and nothing is left in the stack.
func TestAbortInEachState(t *testing.T) {
	t.Parallel()
	forPairs(t, allPairs, plan{}, func(t *testing.T, n *network) {
		for _, test := range []struct {
			state gtcp.EndpointState
			lead  func(us, peer conn)
		}{
			{gtcp.StateEstablished, func(us, peer conn) {}},
			{gtcp.StateFinWait1, func(us, peer conn) { n.box.dropAll(); us.CloseWrite() }},
			{gtcp.StateFinWait2, func(us, peer conn) { us.CloseWrite() }},
			{gtcp.StateCloseWait, func(us, peer conn) { peer.CloseWrite() }},
			{gtcp.StateLastAck, func(us, peer conn) { peer.CloseWrite(); readEnd(t, us); n.box.dropAll(); us.CloseWrite() }},
			{gtcp.StateTimeWait, func(us, peer conn) { us.CloseWrite(); readEnd(t, peer); peer.CloseWrite() }},
		} {
			for _, first := range []string{"us", "peer"} {
				t.Run(test.state.String()+"/"+first, func(t *testing.T) {
					sub := *n
					sub.t = t
					a, b := sub.connect(first == "us")
					n.port = sub.port
					us, peer := n.ourEnd(a, b), a
					if n.b.tcp != ours {
						peer = b
					}
					test.lead(us, peer)
					eventually(t, test.state.String(), func() bool { return us.state() == test.state })
					// A FIN that was held back may be sent again before the RST, on a busy machine.
					n.box.setDrop(has(header.TCPFlagFin))
					defer n.box.setDrop(nil)
					if first == "us" {
						us.abort()
						if test.state != gtcp.StateTimeWait && test.state != gtcp.StateLastAck {
							if _, err := io.Copy(io.Discard, peer); test.state != gtcp.StateFinWait2 && !is(err, syscall.ECONNRESET) {
								t.Errorf("the peer reads: %v, want a reset", err)
							}
						}
						return
					}
					peer.abort()
					if test.state == gtcp.StateEstablished || test.state == gtcp.StateFinWait2 {
						if _, err := us.Read(make([]byte, 1)); !is(err, syscall.ECONNRESET) {
							t.Errorf("our end reads: %v, want a reset", err)
						}
					}
				})
			}
		}
		n.wantNothingLeft()
	})
}

// TestAbortInHandshake gives up connections that are not established: a dial that nobody answers, and one that was answered and whose
// last ACK was lost.
func TestAbortInHandshake(t *testing.T) {
	t.Parallel()
	forPairs(t, allPairs, plan{}, func(t *testing.T, n *network) {
		to := n.b.at(false, 80)
		l := n.b.listen(t, to)
		dial := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			c, err := n.a.dial(ctx, netip.AddrPort{}, to)
			if err == nil {
				c.abort()
			}
			return err
		}
		n.box.dropAll()
		if err := dial(); err == nil {
			t.Error("a dial over a dead link succeeded")
		}
		towardsA := tun.Back // of packets
		if n.a.tcp == kernel {
			towardsA = tun.There
		}
		n.box.setDrop(func(d tun.Direction, _ *stack.PacketBuffer) bool { return d == towardsA })
		if err := dial(); err == nil { // the listener has a connection in SYN-RECEIVED
			t.Error("a dial without an answer succeeded")
		}
		n.box.setDrop(nil)
		l.Close()
		n.wantNothingLeft()
	})
}

// wantNothingLeft closes all connections, and wants our stacks to have none soon but those whose time is still to come: in TIME-WAIT,
// and in FIN-WAIT-2, where the peer gave up in LAST-ACK without a RST (RFC 9293 §3.10.5) after its FIN was lost.
func (n *network) wantNothingLeft() {
	n.t.Helper()
	for _, c := range *n.conns {
		c.Close()
	}
	for _, h := range []*host{n.a, n.b} {
		if h.tcp == ours {
			eventually(n.t, "all connections end", func() bool { return h.busy() == 0 })
		}
	}
}

// busy returns how many connections a stack has, but for those that wait for time to pass.
func (h *host) busy() (n int) {
	if h.stack == nil {
		return 0
	}
	for _, te := range h.stack.RegisteredEndpoints() {
		switch gtcp.EndpointState(te.(tcpip.Endpoint).State()) {
		case gtcp.StateListen, gtcp.StateTimeWait, gtcp.StateFinWait2:
		default:
			n++
		}
	}
	return n
}
