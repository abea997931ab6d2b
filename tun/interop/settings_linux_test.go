package interop

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tun"
)

// TestSettings runs kernels with unusual settings over a slightly lossy link. Both ends agree on
// the options that both have, and everything arrives.
func TestSettings(t *testing.T) {
	t.Parallel()
	lossy := sim.LinkConfig{Delay: 500 * time.Microsecond, Loss: sim.Losses{sim.Bernoulli{P: 0.01}}}
	// Of a super-segment, whose packets arrive together on any machine, all but the first two are
	// marked.
	marking := sim.LinkConfig{Delay: time.Millisecond, Rate: 50_000_000, Queue: sim.Limit{Packets: 100}, Mark: sim.Limit{Packets: 1}}
	ecn := func(c *netstack.Config) { c.Conn.ECN = true }
	for name, test := range map[string]struct {
		plan plan
		want func(i *tcp.Info) bool
	}{
		"defaults":      {plan{link: lossy}, func(i *tcp.Info) bool { return i.Timestamps && i.SACK && i.WScale && !i.ECN }},
		"no-timestamps": {plan{link: lossy, sysctl: map[string]string{"tcp_timestamps": "0"}}, func(i *tcp.Info) bool { return !i.Timestamps }},
		"no-SACK":       {plan{link: lossy, sysctl: map[string]string{"tcp_sack": "0"}}, func(i *tcp.Info) bool { return !i.SACK }},
		"no-scaling":    {plan{link: lossy, sysctl: map[string]string{"tcp_window_scaling": "0"}}, func(i *tcp.Info) bool { return !i.WScale }},
		"no-options":    {plan{link: lossy, sysctl: map[string]string{"tcp_window_scaling": "0", "tcp_sack": "0", "tcp_timestamps": "0"}}, func(i *tcp.Info) bool { return !i.WScale && !i.SACK && !i.Timestamps }},
		"we-want-none":  {plan{link: lossy, config: func(c *netstack.Config) { c.Conn.SACK, c.Conn.Timestamps, c.Conn.WScale = false, false, false }}, func(i *tcp.Info) bool { return !i.WScale && !i.SACK && !i.Timestamps }},
		"ECN":           {plan{link: marking, sysctl: map[string]string{"tcp_ecn": "1"}, config: ecn}, func(i *tcp.Info) bool { return i.ECN && i.DeliveredCE > 0 }},
		// falls back to RFC 3168's, or to none
		"accurate-ECN":   {plan{link: marking, sysctl: map[string]string{"tcp_ecn": "3"}, config: ecn}, nil},
		"ECN-is-theirs":  {plan{link: marking, sysctl: map[string]string{"tcp_ecn": "1"}}, func(i *tcp.Info) bool { return !i.ECN }},
		"ECN-is-ours":    {plan{link: marking, sysctl: map[string]string{"tcp_ecn": "0"}, config: ecn}, func(i *tcp.Info) bool { return !i.ECN }},
		"SYN-cookies":    {plan{link: lossy, sysctl: map[string]string{"tcp_syncookies": "2"}}, nil},
		"F-RTO-off":      {plan{link: lossy, sysctl: map[string]string{"tcp_frto": "0", "tcp_recovery": "0", "tcp_early_retrans": "0"}}, nil},
		"no-DSACK":       {plan{link: lossy, sysctl: map[string]string{"tcp_dsack": "0"}}, nil},
		"reno":           {plan{link: lossy, sysctl: map[string]string{"tcp_congestion_control": "reno"}}, nil},
		"small-buffers":  {plan{link: lossy, sysctl: map[string]string{"tcp_rmem": "4096 8192 16384", "tcp_wmem": "4096 8192 16384"}}, nil},
		"large-buffers":  {plan{link: lossy, sysctl: map[string]string{"tcp_rmem": "4096 4194304 33554432"}}, nil},
		"shrinks-window": {plan{link: lossy, sysctl: map[string]string{"tcp_shrink_window": "1"}}, nil},
		"MTU-probing":    {plan{link: lossy, sysctl: map[string]string{"tcp_mtu_probing": "2"}}, nil},
		"small-segments": {plan{link: lossy, setUp: maxSeg(200)}, func(i *tcp.Info) bool { return i.SndMSS <= 200 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forPairs(t, withKernel, test.plan, func(t *testing.T, n *network) {
				for _, v6 := range []bool{false, true} {
					a, b := n.connect(v6)
					n.exchange(t, a, b, 200_000)
					if i := n.ourEnd(a, b).info(); test.want != nil && !test.want(&i) {
						t.Errorf("the connection has timestamps %v, SACK %v, scaling %v, ECN %v with %d marks, segments of %d",
							i.Timestamps, i.SACK, i.WScale, i.ECN, i.DeliveredCE, i.SndMSS)
					}
				}
			})
		})
	}
}

// maxSeg makes the routes of a kernel announce that MSS.
func maxSeg(mss int) func(*testing.T, *host) {
	return func(t *testing.T, h *host) {
		if h.tcp == ours {
			h.maxSeg = mss
		}
	}
}

// TestUrgent: the kernel sends urgent data among other data (RFC 9293 §3.8.5). Our stack delivers
// it as ordinary data, and none is lost.
func TestUrgent(t *testing.T) {
	t.Parallel()
	forPairs(t, withKernel, plan{}, func(t *testing.T, n *network) {
		a, b := n.connect(false)
		us := n.ourEnd(a, b)
		k, ok := a.(kernelConn)
		if !ok {
			k = b.(kernelConn)
		}
		raw, err := k.SyscallConn()
		must(t, err)
		at := 0
		for _, size := range []int{1, 10, 5000} {
			must(t, raw.Write(func(fd uintptr) bool {
				err = unix.Sendto(int(fd), pattern[at:at+size], unix.MSG_OOB, nil)
				return true
			}))
			must(t, err)
			at += size
			_, err := k.Write(pattern[at : at+100])
			must(t, err)
			at += 100
		}
		must(t, receive(us, at))
		n.transfer(t, us, k, 10_000)
	})
}

// TestFastOpen: the kernel asks for a TCP Fast Open cookie and sends data with its SYN. Our stack
// supports neither, and the connection is an ordinary one.
func TestFastOpen(t *testing.T) {
	t.Parallel()
	// 4: data without a cookie
	forPairs(t, []pair{{kernel, ours}}, plan{sysctl: map[string]string{"tcp_fastopen": "5"}}, func(t *testing.T, n *network) {
		var withData atomic.Int32 // SYNs
		n.box.setDrop(func(d tun.Direction, pkt *stack.PacketBuffer) bool {
			if h := tcpOf(pkt); d == tun.Back && h != nil && h.Flags() == header.TCPFlagSyn && len(h) > int(h.DataOffset()) {
				withData.Add(1)
			}
			return false
		})
		for i, v6 := range []bool{false, true} {
			to := n.b.at(v6, uint16(80+i))
			l := n.b.listen(t, to)
			for range 2 {
				var c net.Conn
				must(t, n.a.ns.Do(func() (err error) {
					d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
						return errors.Join(raw.Control(func(fd uintptr) {
							err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1)
						}), err)
					}}
					c, err = d.DialContext(t.Context(), "tcp", to.String())
					return err
				}))
				defer c.Close()
				_, err := c.Write(pattern[:3000]) // the SYN leaves now, with some of the data
				must(t, err)
				got, err := l.accept()
				must(t, err)
				defer got.Close()
				got.SetDeadline(time.Now().Add(testLimit))
				must(t, receive(got, 3000))
				must(t, send(got, 3000))
				c.SetDeadline(time.Now().Add(testLimit))
				must(t, receive(kernelConn{TCPConn: c.(*net.TCPConn)}, 3000))
			}
		}
		if withData.Load() == 0 {
			t.Error("no SYN had data")
		}
	})
}

// TestOurSYNCookies: our listeners answer with cookies. Timestamps preserve the options of the
// handshake; without timestamps both sides drop them.
func TestOurSYNCookies(t *testing.T) {
	t.Parallel()
	always := func(t *testing.T, h *host) {
		if h.tcp == ours {
			on := tcpip.TCPAlwaysUseSynCookies(true)
			mustNot(t, h.stack.SetTransportProtocolOption(netstack.ProtocolNumber, &on))
		}
	}
	for name, sysctl := range map[string]map[string]string{"timestamps": nil, "no-timestamps": {"tcp_timestamps": "0"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pairs := []pair{{kernel, ours}, {gvisor, ours}, {ours, ours}}
			forPairs(t, pairs, plan{setUp: always, sysctl: sysctl}, func(t *testing.T, n *network) {
				for _, v6 := range []bool{false, true} {
					a, b := n.connect(v6)
					n.exchange(t, a, b, 300_000)
					if got := n.b.stack.Stats().TCP.ListenOverflowSynCookieRcvd.Value(); got == 0 {
						t.Error("no cookie came back")
					}
				}
			})
		})
	}
}

// TestSYNFlood dials more connections at once than a listener's half-open backlog holds. Cookies
// admit them all. A busy machine may dial too slowly to fill it; then the test tries again.
func TestSYNFlood(t *testing.T) {
	t.Parallel()
	forPairs(t, []pair{{kernel, ours}, {ours, ours}}, plan{link: far}, func(t *testing.T, n *network) {
		const conns, backlog = 200, 64
		to := n.b.at(false, 80)
		l := n.b.listenFor(t, to, backlog)
		for i := 0; n.b.stack.Stats().TCP.ListenOverflowSynCookieSent.Value() == 0; i++ {
			if i == 10 {
				t.Fatal("no cookie was sent")
			}
			n.flood(l, to, conns)
		}
	})
}

// flood opens connections at once and sends data over each in both directions.
func (n *network) flood(l listener, to netip.AddrPort, conns int) {
	n.t.Helper()
	done := make(chan error, conns)
	ctx, cancel := context.WithTimeout(n.t.Context(), testLimit)
	defer cancel()
	for range conns {
		go func() {
			c, err := n.a.dial(ctx, netip.AddrPort{}, to)
			if err == nil {
				defer c.Close()
				c.SetDeadline(time.Now().Add(testLimit))
				err = send(c, 100)
			}
			if err == nil {
				err = receiveEnd(c, 100)
			}
			done <- err
		}()
	}
	accepted := make(chan error, conns)
	go func() {
		for range conns {
			c, err := l.accept()
			accepted <- err
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(testLimit))
				if receive(c, 100) == nil {
					_ = send(c, 100)
				}
			}()
		}
	}()
	for range conns { // the first failure ends the test and closes the listener
		must(n.t, <-done)
	}
	for range conns {
		must(n.t, <-accepted)
	}
}
