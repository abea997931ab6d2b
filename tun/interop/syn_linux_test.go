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
	"tcpwheel/tun/netns"
)

// sentSYN returns the send time of the SYN of an active open over IPv4, in milliseconds by its
// sender's timestamp clock.
func sentSYN(pkt *stack.PacketBuffer) (at uint32, ok bool) {
	if pkt.NetworkProtocolNumber != header.IPv4ProtocolNumber {
		return 0, false
	}
	b := pkt.ToBuffer()
	defer b.Release()
	all := b.Flatten()
	if len(all) < header.IPv4MinimumSize+header.TCPMinimumSize || header.IPv4(all).TransportProtocol() != header.TCPProtocolNumber {
		return 0, false
	}
	h := header.TCP(all[header.IPv4(all).HeaderLength():])
	options := header.ParseSynOptions(h.Options(), false)
	return options.TSVal, h.Flags() == header.TCPFlagSyn && options.TS
}

// TestSYNsLikeLinux: the kernel and ours, with Linux's timers, send SYNs without an answer, by the
// rule since Linux 6.5 and by the one before. The intervals agree and none is short. The SYNs' own
// timestamps give the times, because a busy machine receives them late.
func TestSYNsLikeLinux(t *testing.T) {
	t.Parallel()
	if !isLong() {
		t.Skip("long: set TCPWHEEL_LONG=1")
	}
	for _, test := range []struct {
		linear int
		want   []time.Duration // in seconds
	}{
		{tcptimers.LinuxSynLinearTimeouts, []time.Duration{1, 1, 1}},
		{1, []time.Duration{1, 1, 2}},
		{0, []time.Duration{1, 2}},
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
				var syns []uint32
				n.box.setDrop(func(_ tun.Direction, pkt *stack.PacketBuffer) bool {
					at, ok := sentSYN(pkt)
					if !ok {
						return false
					}
					mu.Lock()
					defer mu.Unlock()
					syns = append(syns, at)
					return len(syns) <= len(test.want)
				})
				late := netns.Lateness(t)
				n.connect(false)
				busy := late()
				mu.Lock()
				defer mu.Unlock()
				if len(syns) <= len(test.want) {
					t.Fatalf("%d SYNs, want %d", len(syns), len(test.want)+1)
				}
				for i, want := range test.want {
					want *= time.Second
					switch gap := time.Duration(syns[i+1]-syns[i]) * time.Millisecond; {
					case gap < want-20*time.Millisecond, gap > want*3/2 && busy < want/8:
						t.Errorf("SYN %d was retransmitted after %v, want %v; the machine was up to %v late", i+1, gap, want, busy)
					case gap > want*3/2:
						t.Skipf("SYN %d was retransmitted after %v: this machine was up to %v late", i+1, gap, busy)
					default:
						t.Logf("%v after %v", want, gap)
					}
				}
			})
		})
	}
}
