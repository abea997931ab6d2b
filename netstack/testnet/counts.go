package testnet

import (
	"fmt"

	"tcpwheel/netstack"
	"tcpwheel/netstack/virtual"
)

// Counts are counts of losses and of the timers and retransmissions that repaired them.
type Counts struct {
	Packets uint64 // sent
	Lost    uint64 // on the path, in either direction, or because its queue was full

	// Timeouts are the expiries of retransmission timers: a program waited an RTO. SYNs are the
	// retransmitted SYNs and SYN-ACKs among the retransmissions.
	Timeouts, SYNs  uint64
	Probes          uint64 // tail loss probes
	FastRetransmits uint64 // segments that ACKs showed to be lost
	Keepalives      uint64 // keepalive probes
}

// Counts returns the counts since New, over all hosts.
func (n *Net) Counts() (sum Counts) {
	for _, h := range n.hosts {
		sum = sum.plus(h.Counts(), 1)
	}
	return sum
}

// Counts returns the counts since New: of the host's path, and of its TCP.
func (h *Host) Counts() (c Counts) {
	h.net.mu.Lock()
	c.Packets, c.Lost = h.sent, h.taken
	for _, l := range h.links {
		s := l.Counts()
		c.Lost += s.Lost + s.QueueDropped
	}
	h.net.mu.Unlock()
	r := virtual.CountsOf(h.stack)
	c.Timeouts, c.Probes, c.FastRetransmits = r.Timeouts, r.Probes, r.FastRetransmits
	if t, ok := netstack.Counters(h.stack); ok {
		c.SYNs, c.Keepalives = t.TCPSynRetrans, t.TCPKeepAlive
	}
	return c
}

// Since returns the counts since before.
func (c Counts) Since(before Counts) Counts { return c.plus(before, ^uint64(0)) }

// plus returns c + sign·o, for a sign of 1, or of -1 modulo 2^64.
func (c Counts) plus(o Counts, sign uint64) Counts {
	return Counts{
		Packets: c.Packets + sign*o.Packets, Lost: c.Lost + sign*o.Lost,
		Timeouts: c.Timeouts + sign*o.Timeouts, SYNs: c.SYNs + sign*o.SYNs, Probes: c.Probes + sign*o.Probes,
		FastRetransmits: c.FastRetransmits + sign*o.FastRetransmits, Keepalives: c.Keepalives + sign*o.Keepalives,
	}
}

// String lists the counts in a line.
func (c Counts) String() string {
	return fmt.Sprintf("%d packets, %d lost, %d timeouts, %d SYNs retransmitted, %d probes, %d fast retransmissions, %d keepalive probes",
		c.Packets, c.Lost, c.Timeouts, c.SYNs, c.Probes, c.FastRetransmits, c.Keepalives)
}
