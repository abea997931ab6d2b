package interop

import (
	"syscall"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tun"
)

// counters returns the sums of our stacks' counters.
func (n *network) counters(t *testing.T) (all tcp.Counters) {
	t.Helper()
	for _, h := range []*host{n.a, n.b} {
		if h.tcp == ours {
			c, ok := netstack.Counters(h.stack)
			if !ok {
				t.Fatal("our stack has no counters")
			}
			all.Add(&c)
		}
	}
	return all
}

// isOurs returns the end if it is of our stack.
func isOurs(c conn) (us stackConn, ok bool) {
	if us, ok = c.(stackConn); ok {
		_, ok = us.ep.(*netstack.Endpoint)
	}
	return us, ok
}

// info returns the Info of a connection of our stack.
func (c stackConn) info() tcp.Info { return c.ep.(*netstack.Endpoint).ConnInfo() }

// TestKeepaliveIsAnswered: an idle connection outlives many probes of either end. Then one end
// finds the other gone.
func TestKeepaliveIsAnswered(t *testing.T) {
	t.Parallel()
	forPairs(t, slowPairs(), plan{}, func(t *testing.T, n *network) {
		a, b := n.connect(false)
		c, d := n.connect(true)
		probing := []conn{a, d}
		probe := func(count int) {
			for _, end := range probing {
				end.keepalive(t, time.Second, time.Second, count) // the shortest that Linux accepts
			}
		}
		probe(100) // more than a busy machine can leave unanswered
		probes, count := uint64(1), 1
		if isLong() {
			probes, count = 3, 2
		}
		before := n.ourEnd(a, b).info().SegsIn
		eventually(t, "a probe or an answer a second while the connection is idle", func() bool {
			return n.ourEnd(a, b).info().SegsIn-before >= probes
		})
		n.transfer(t, a, b, 10_000)
		n.transfer(t, c, d, 10_000)
		probe(count)
		n.box.dropAll()
		for _, end := range probing {
			if _, err := end.Read(make([]byte, 1)); !is(err, syscall.ETIMEDOUT) {
				t.Errorf("read from a peer that is gone: %v, want a timeout", err)
			}
		}
	})
}

// smallBuffers is a plan of hosts whose buffers fill soon.
var smallBuffers = plan{
	sysctl: map[string]string{"tcp_rmem": "4096 131072 524288", "tcp_wmem": "4096 131072 524288"},
	setUp: func(t *testing.T, h *host) {
		if h.tcp == kernel {
			return
		}
		const least, usual, most = 4096, 131072, 524288
		in := tcpip.TCPReceiveBufferSizeRangeOption{Min: least, Default: usual, Max: most}
		out := tcpip.TCPSendBufferSizeRangeOption{Min: least, Default: usual, Max: most}
		mustNot(t, h.stack.SetTransportProtocolOption(netstack.ProtocolNumber, &in))
		mustNot(t, h.stack.SetTransportProtocolOption(netstack.ProtocolNumber, &out))
	},
}

// TestZeroWindow: a reader pauses for longer than the persist timer waits, and then reads
// everything. The connection survives, and the closed window is probed.
func TestZeroWindow(t *testing.T) {
	t.Parallel()
	forPairs(t, slowPairs(), smallBuffers, func(t *testing.T, n *network) {
		bothWays(t, n, func(t *testing.T, x, y conn) {
			const size = 4 << 20 // more than all buffers hold
			sent := make(chan error, 1)
			go func() { sent <- send(x, size) }()
			if us, ok := isOurs(x); ok {
				before := n.counters(t).TCPWinProbe
				eventually(t, "a window without room for a segment", func() bool { i := us.info(); return i.SndWnd < i.SndMSS })
				if us.info().SndWnd == 0 {
					eventually(t, "window probes", func() bool { return n.counters(t).TCPWinProbe >= before+3 })
				}
			} else {
				time.Sleep(700 * time.Millisecond)
			}
			n.check(t, receive(y, size))
			n.check(t, <-sent)
		})
	})
}

// TestWindowUpdateIsLost loses all packets of the reader while it makes room. Only the sender's
// probes can find out.
func TestWindowUpdateIsLost(t *testing.T) {
	t.Parallel()
	forPairs(t, slowPairs(), smallBuffers, func(t *testing.T, n *network) {
		for _, fromA := range []bool{true, false} {
			x, y := n.connect(false)
			towards := tun.Back // x, on the stack's side of the link
			if n.a.tcp == kernel {
				towards = tun.There
			}
			if !fromA {
				x, y = y, x
				towards = map[tun.Direction]tun.Direction{tun.There: tun.Back, tun.Back: tun.There}[towards]
			}
			const size = 4 << 20
			sent := make(chan error, 1)
			go func() { sent <- send(x, size) }()
			time.Sleep(300 * time.Millisecond)
			n.box.setDrop(func(d tun.Direction, _ *stack.PacketBuffer) bool { return d == towards })
			got := make(chan error, 1)
			go func() { got <- receive(y, size) }()
			time.Sleep(300 * time.Millisecond)
			n.box.setDrop(nil)
			n.check(t, <-got)
			n.check(t, <-sent)
		}
	})
}

// TestPathMTU narrows the path twice during a transfer. A router reports it by ICMP. Each network
// is new, because kernels remember path MTUs.
func TestPathMTU(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		v6    bool
		fromA bool
		mtus  []int
	}{
		{"ipv4", false, true, []int{1400, 1000, 576}}, // above Linux's route/min_pmtu
		{"ipv4-back", false, false, []int{1400, 1000, 576}},
		{"ipv6", true, true, []int{1400, 1300, 1280}},
		{"ipv6-back", true, false, []int{1400, 1300, 1280}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			forPairs(t, allPairs, plan{}, func(t *testing.T, n *network) {
				x, y := n.connect(test.v6)
				if !test.fromA {
					x, y = y, x
				}
				n.transfer(t, x, y, fewer(1<<20))
				for _, mtu := range test.mtus {
					n.box.setMTU(mtu)
					n.transfer(t, x, y, fewer(1<<20))
				}
				if got, _ := n.box.counts(); got < len(test.mtus) {
					t.Errorf("%d packets were too big, want at least one for each of %v", got, test.mtus)
				}
				if us, ok := isOurs(x); ok {
					if got, want := us.info().PMTU, uint32(test.mtus[2]); got != want {
						t.Errorf("path MTU %d, want %d", got, want)
					}
				}
			})
		})
	}
}

// TestDeviceMTU changes the MTU of the device during transfers in both directions.
func TestDeviceMTU(t *testing.T) {
	t.Parallel()
	forPairs(t, withKernel, plan{mtu: 3000}, func(t *testing.T, n *network) {
		for _, v6 := range []bool{false, true} {
			a, b := n.connect(v6)
			done := make(chan error, 1)
			go func() { done <- tryExchange(a, b, fewer(24<<20)) }()
			for i := range 20 {
				must(t, n.dev.SetMTU([]int{1500, 3000, 1280, 9000}[i%4]))
				time.Sleep(5 * time.Millisecond)
			}
			must(t, <-done)
		}
	})
}
