package counterfactual

import (
	"net/netip"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// The classes of losses. The rules were set before the captures were measured by them. Only losses
// that count are in claims; the others are shown apart, like losses that were never repaired.
const (
	counted    = "counted"
	ofLoopback = "loopback" // both ends have addresses of one host
	ofTool     = "resent"   // a tool sends recorded packets: see resentPackets
)

// resentPackets finds connections whose packets a tool sends, and not a TCP. A TCP that retransmits
// gives the packet a new IPv4 identification and a new timestamp: RFC 7323 §5.4 has its clock tick
// once a second or faster. A tool repeats both.
type resentPackets struct {
	sent map[[2]netip.AddrPort]map[tcp.Seq]sentPacket
	by   map[[2]netip.AddrPort]bool
}

type sentPacket struct {
	at     wheel.Time
	length uint32
	id     uint32
	stamp  uint32
}

const (
	resentAfter = 2 * time.Second
	keptPackets = 4096 // of a direction
)

func newResentPackets() *resentPackets {
	return &resentPackets{map[[2]netip.AddrPort]map[tcp.Seq]sentPacket{}, map[[2]netip.AddrPort]bool{}}
}

// see adds a packet.
func (r *resentPackets) see(p *capture.Packet) {
	if p.Len == 0 && !p.Header.Flags.Has(tcp.SYN) {
		return
	}
	flow := [2]netip.AddrPort{p.Src, p.Dst}
	all := r.sent[flow]
	if all == nil || len(all) >= keptPackets {
		all = map[tcp.Seq]sentPacket{}
		r.sent[flow] = all
	}
	o := &p.Header.Options
	now := sentPacket{p.Time, p.Len, p.ID, o.TSVal}
	before, ok := all[p.Header.Seq]
	if !ok || before.length != p.Len {
		all[p.Header.Seq] = now
		return
	}
	if p.Time.Sub(before.at) < resentAfter {
		return
	}
	sameID, sameStamp := p.HasID && p.ID != 0 && p.ID == before.id, o.HasTimestamps && o.TSVal == before.stamp
	if sameID && (sameStamp || !o.HasTimestamps) || sameStamp && !p.HasID {
		r.by[flow] = true
	}
	all[p.Header.Seq] = now
}

// class returns the class of a connection's losses.
func (r *resentPackets) class(c *track.Conn) string {
	a, b := c.Flows[0].Src, c.Flows[0].Dst
	switch {
	case a.Addr() == b.Addr() || a.Addr().IsLoopback() && b.Addr().IsLoopback():
		return ofLoopback
	case r.by[[2]netip.AddrPort{a, b}] || r.by[[2]netip.AddrPort{b, a}]:
		return ofTool
	}
	return counted
}
