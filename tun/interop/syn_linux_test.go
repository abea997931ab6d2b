package interop

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/tcptimers"
	"tcpwheel/tun"
	"tcpwheel/tun/tuntest"
)

// isSYN reports whether a packet of IPv4 is the SYN of an active open.
func isSYN(pkt *stack.PacketBuffer) bool {
	if pkt.NetworkProtocolNumber != header.IPv4ProtocolNumber {
		return false
	}
	b := pkt.ToBuffer()
	defer b.Release()
	all := b.Flatten()
	if len(all) < header.IPv4MinimumSize+header.TCPMinimumSize || header.IPv4(all).TransportProtocol() != header.TCPProtocolNumber {
		return false
	}
	return header.TCP(all[header.IPv4(all).HeaderLength():]).Flags() == header.TCPFlagSyn
}

// TestSYNsLikeLinux has the kernel and ours, under Linux's timers, send SYNs that nobody answers, as kernels do since 6.5 and as they did
// before: they leave at the same distances. The kernel's wheel is late by an eighth of them at most, and never early.
func TestSYNsLikeLinux(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for 7 s")
	}
	for _, test := range []struct {
		linear int
		want   []time.Duration // in seconds
	}{
		{tcptimers.LinuxSynLinearTimeouts, []time.Duration{1, 1, 1, 1, 1, 2}},
		{1, []time.Duration{1, 1, 2}},
		{0, []time.Duration{1, 2, 4}},
	} {
		t.Run(strconv.Itoa(test.linear), func(t *testing.T) {
			t.Parallel()
			p := plan{sysctl: map[string]string{"tcp_syn_linear_timeouts": strconv.Itoa(test.linear)}, config: func(c *netstack.Config) {
				policy := tcptimers.MustPolicy("linux")
				policy.SynLinearTimeouts = test.linear
				c.Conn.Policy = policy
			}}
			forPairs(t, withKernel, p, func(t *testing.T, n *network) {
				var mu sync.Mutex
				var syns []time.Time
				n.box.setDrop(func(_ tun.Direction, pkt *stack.PacketBuffer) bool {
					if !isSYN(pkt) {
						return false
					}
					mu.Lock()
					defer mu.Unlock()
					syns = append(syns, time.Now())
					return len(syns) <= len(test.want)
				})
				late := tuntest.Lateness(t)
				n.connect(false)
				busy := late() + 20*time.Millisecond
				mu.Lock()
				defer mu.Unlock()
				if len(syns) != len(test.want)+1 {
					t.Fatalf("%d SYNs, want %d", len(syns), len(test.want)+1)
				}
				for i, want := range test.want {
					want *= time.Second
					gap := syns[i+1].Sub(syns[i])
					t.Logf("%v after %v", want, gap)
					if gap < want-busy || gap > want+want/8+busy {
						t.Errorf("SYN %d is sent again after %v, want %v, on a machine that was %v late", i+1, gap, want, busy)
					}
				}
			})
		})
	}
}
