package interop

import (
	"context"
	"io"
	"net/netip"
	"sync/atomic"
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

// bothWays runs f twice, with each end of a new connection in the first role.
func bothWays(t *testing.T, n *network, f func(t *testing.T, x, y conn)) {
	for _, v6 := range []bool{false, true} {
		a, b := n.connect(v6)
		f(t, a, b)
		a, b = n.connect(v6)
		f(t, b, a)
	}
}

// TestHalfClose: one end ends its stream, and the other sends for long after.
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

// TestReset: after a RST, reads return an error instead of the remaining data.
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
				t.Errorf("write after a reported RST: %v, want a broken pipe", err)
			}
		})
		bothWays(t, n, func(t *testing.T, x, y conn) {
			must(t, send(y, 1000))
			must(t, receive(x, 500))
			x.Close() // with unread data
			if _, err := y.Read(make([]byte, 1)); !is(err, syscall.ECONNRESET) {
				t.Errorf("read after the peer closed with bytes unread: %v, want a reset", err)
			}
		})
		bothWays(t, n, func(t *testing.T, x, y conn) {
			x.Close()
			readEnd(t, y)
			must(t, send(y, 1)) // no reader is left
			eventually(t, "a write fails", func() bool {
				_, err := y.Write([]byte("x"))
				return is(err, syscall.EPIPE) || is(err, syscall.ECONNRESET)
			})
		})
		n.wantNothingLeft()
	})
}

// TestRefused dials a port without a listener.
func TestRefused(t *testing.T) {
	t.Parallel()
	forPairs(t, allPairs, plan{}, func(t *testing.T, n *network) {
		for _, v6 := range []bool{false, true} {
			c, err := n.a.dial(t.Context(), netip.AddrPort{}, n.b.at(v6, 81))
			if err == nil {
				c.Close()
			}
			if !is(err, syscall.ECONNREFUSED) {
				t.Errorf("dial of a port without a listener: %v, want a refusal", err)
			}
		}
		n.wantNothingLeft()
	})
}

// far is a link on which both ends act before either sees the other's packets.
var far = sim.LinkConfig{Delay: 150 * time.Millisecond}

// TestSimultaneousClose: both ends end their streams while the other's data is in flight. A busy
// machine may close too slowly for that; then the test tries again.
func TestSimultaneousClose(t *testing.T) {
	t.Parallel()
	forPairs(t, slowPairs(), plan{link: far}, func(t *testing.T, n *network) {
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
					// Both ends closed actively and are in TIME-WAIT. A passive one would be gone.
					if us, ok := isOurs(c); ok && simultaneous {
						eventually(t, "TIME-WAIT", func() bool { return us.state() == gtcp.StateTimeWait })
					}
				}
			}
		}
	})
}

// TestSimultaneousOpen: both ends connect to each other, without a listener. RSTs are dropped, so
// that the first SYN is not refused if a busy machine sends the second late.
func TestSimultaneousOpen(t *testing.T) {
	t.Parallel()
	forPairs(t, slowPairs(), plan{link: far}, func(t *testing.T, n *network) {
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

// TestRetransmittedFINEndsTimeWait duplicates the kernel's FIN, as the kernel does if our stack is
// late. Our end acknowledges it twice. The first ACK closes the kernel's socket, so that the kernel
// answers the second with a RST, which ends TIME-WAIT after a round trip (RFC 1337). On a busy
// machine a test may never see that state.
func TestRetransmittedFINEndsTimeWait(t *testing.T) {
	t.Parallel()
	forPairs(t, withKernel, plan{link: sim.LinkConfig{Duplicate: 1}}, func(t *testing.T, n *network) {
		a, b := n.connect(false)
		us, peer := n.ourEnd(a, b), a
		if n.b.tcp != ours {
			peer = b
		}
		var resets atomic.Int32
		n.box.setDrop(func(d tun.Direction, pkt *stack.PacketBuffer) bool {
			if has(header.TCPFlagRst)(d, pkt) {
				resets.Add(1)
			}
			return false
		})
		us.CloseWrite()
		readEnd(t, peer)
		peer.CloseWrite()
		eventually(t, "TIME-WAIT is over", func() bool { return us.state() == gtcp.StateClose })
		if resets.Load() == 0 {
			t.Error("no RST has ended TIME-WAIT")
		}
	})
}

// TestAbortInEachState resets a connection of our stack in each state, from either end, while the
// packets that lead to the next state are held back. The other end sees the reset, unless its own
// end was over, and nothing is left in the stack.
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
			{gtcp.StateTimeWait, func(us, peer conn) {
				n.box.setDrop(has(header.TCPFlagRst)) // see TestRetransmittedFINEndsTimeWait
				us.CloseWrite()
				readEnd(t, peer)
				peer.CloseWrite()
			}},
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
					var seen []gtcp.EndpointState
					t.Cleanup(func() {
						if t.Failed() {
							t.Logf("our end was in %v", seen)
						}
					})
					eventually(t, test.state.String(), func() bool {
						if s := us.state(); len(seen) == 0 || s != seen[len(seen)-1] {
							seen = append(seen, s)
						}
						return seen[len(seen)-1] == test.state
					})
					// On a busy machine the held-back FIN may be retransmitted before the RST.
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

// TestAbortInHandshake gives up connections that are not established: a dial without an answer, and
// one whose last ACK was lost.
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
		towardsA := tun.Back // towards a
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

// wantNothingLeft closes all connections. Soon our stacks must have none, except in TIME-WAIT, and
// in FIN-WAIT-2 where the peer gave up in LAST-ACK without a RST (RFC 9293 §3.10.5) after its FIN
// was lost.
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

// busy returns how many connections a stack has that are not just waiting for time to pass.
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
