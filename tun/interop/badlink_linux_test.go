package interop

import (
	"fmt"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// badLinks are links with one or more impairments in both directions, and how much to send each
// way.
var badLinks = []struct {
	name string
	size int
	link sim.LinkConfig
}{
	{"loses-3-percent", 400_000, sim.LinkConfig{Delay: time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.03}}}},
	{"reorders", 1 << 20, sim.LinkConfig{Delay: time.Millisecond, Reorder: sim.Reorder{Probability: 0.1, Extra: 3 * time.Millisecond}}},
	{"overtakes", 1 << 20, sim.LinkConfig{Delay: 2 * time.Millisecond, Jitter: sim.Jitter{Amount: 2 * time.Millisecond, Overtake: true}}},
	{"duplicates", 1 << 20, sim.LinkConfig{Delay: time.Millisecond, Duplicate: 0.2}},
	{"corrupts", 400_000, sim.LinkConfig{Delay: time.Millisecond, Corrupt: 0.03}},
	{"narrow", 400_000, sim.LinkConfig{Delay: 2 * time.Millisecond, Rate: 20_000_000, Queue: sim.Limit{Packets: 10}}},
	{"everything", 200_000, sim.LinkConfig{Delay: time.Millisecond, Jitter: sim.Jitter{Amount: time.Millisecond, Overtake: true},
		Rate: 20_000_000, Queue: sim.Limit{Packets: 5}, Loss: sim.Losses{sim.Bernoulli{P: 0.03}}, Duplicate: 0.03, Corrupt: 0.02,
		Reorder: sim.Reorder{Probability: 0.03, Extra: 5 * time.Millisecond}}},
}

// happened reports whether every impairment of link has happened to packets of a direction.
func happened(link *sim.LinkConfig, c sim.LinkCounts) bool {
	return !(link.Loss != nil && c.Lost == 0 || link.Duplicate > 0 && c.Duplicated == 0 || link.Corrupt > 0 && c.Corrupted == 0 ||
		link.Reorder.Probability > 0 && c.Reordered == 0 || link.Queue.Packets > 0 && c.QueueDropped == 0)
}

// TestBadLinks sends in both directions at once over impaired links, until every impairment has
// happened. How many packets that takes, and whether a queue is full, depends on how busy the
// machine is.
func TestBadLinks(t *testing.T) {
	t.Parallel()
	for _, bad := range badLinks {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			forPairs(t, slowPairs(), plan{link: bad.link}, func(t *testing.T, n *network) {
				for i := 0; ; i++ {
					a, b := n.connect(i%2 == 1)
					n.exchange(t, a, b, max(fewer(bad.size), 100_000))
					c := n.link.Counts()
					if i > 0 && happened(&bad.link, c[0]) && happened(&bad.link, c[1]) {
						break
					}
					if i == 20 {
						t.Fatalf("want every impairment in both directions: %+v", c)
					}
				}
			})
		})
	}
}

// TestHeavyLoss opens connections and sends over links that lose 30 % of the packets in both
// directions. Half of the retransmissions are lost too, so with timeouts that double without bound
// the time would have no mean. All hosts bound the timeout.
func TestHeavyLoss(t *testing.T) {
	t.Parallel()
	p := plan{
		link: sim.LinkConfig{Delay: 200 * time.Microsecond, Loss: sim.Losses{sim.Bernoulli{P: 0.3}}},
		sysctl: map[string]string{
			"tcp_rto_min_us": "50000", "tcp_rto_max_ms": "1000", "tcp_retries2": "100", "tcp_syn_retries": "20", "tcp_synack_retries": "20",
		},
		config: func(c *netstack.Config) {
			c.Conn.Policy.Bounds.Initial, c.Conn.Policy.Bounds.Max = time.Second/8, time.Second/8
		},
		setUp: func(t *testing.T, h *host) {
			if h.tcp != gvisor {
				return
			}
			longest, retries, syns := tcpip.TCPMaxRTOOption(time.Second/2), tcpip.TCPMaxRetriesOption(100), tcpip.TCPSynRetriesOption(20)
			for _, o := range []tcpip.SettableTransportProtocolOption{&longest, &retries, &syns} {
				mustNot(t, h.stack.SetTransportProtocolOption(gtcp.ProtocolNumber, o))
			}
		},
	}
	pairs := []pair{{ours, ours}} // the kernel's RTO doubles up to a second
	if isLong() {
		pairs = allPairs
	}
	forPairs(t, pairs, p, func(t *testing.T, n *network) {
		for _, v6 := range []bool{false, true} {
			a, b := n.connect(v6)
			n.exchange(t, a, b, max(fewer(30_000), 8_000))
		}
		for d, c := range n.link.Counts() {
			if c.Lost*5 < c.Packets {
				t.Errorf("direction %d: %d packets of %d were lost, want 30 %%", d, c.Lost, c.Packets)
			}
		}
	})
}

// TestPoliciesOverLoss sends over a lossy link with each timer policy, at ticks from fine to coarse.
func TestPoliciesOverLoss(t *testing.T) {
	t.Parallel()
	link := sim.LinkConfig{Delay: 500 * time.Microsecond, Loss: sim.Losses{sim.Bernoulli{P: 0.01}}}
	for _, name := range tcptimers.PolicyNames() {
		for _, tick := range []time.Duration{0, 100 * time.Microsecond, 10 * time.Millisecond, 100 * time.Millisecond} {
			if tick == 100*time.Millisecond && !isLong() {
				continue
			}
			policy := tcptimers.MustPolicy(name)
			if tick != 0 {
				policy.Tick = tick
			}
			if policy.Check() != nil {
				continue // 4.4BSD's sweeps have ticks of their own
			}
			t.Run(fmt.Sprintf("%s/tick=%v", name, policy.Tick), func(t *testing.T) {
				t.Parallel()
				config := func(c *netstack.Config) { c.Conn = tcp.DefaultConfig(policy) }
				pairs := []pair{{kernel, ours}, {ours, kernel}, {ours, ours}}
				forPairs(t, pairs, plan{link: link, config: config}, func(t *testing.T, n *network) {
					a, b := n.connect(tick == 0)
					n.exchange(t, a, b, 150_000)
				})
			})
		}
	}
}
