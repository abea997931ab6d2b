package track

import (
	"fmt"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// Vantage is the point of capture as seen from one direction.
type Vantage uint8

const (
	VantageUnknown Vantage = iota // nothing shows it
	AtSender                      // the host that sent
	AtReceiver                    // the host that received
	InTheMiddle                   // between the hosts
	AtBoth                        // both hosts are one machine, or adjacent

	vantages
)

var vantageNames = [vantages]string{"unknown", "sender", "receiver", "middle", "both"}

// String returns the name used in JSON.
func (v Vantage) String() string { return vantageNames[min(v, vantages-1)] }

// MarshalText returns the name.
func (v Vantage) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// vantageClues counts the packets of a host that show how near it is.
type vantageClues struct {
	packets           int64
	partial           int64 // checksum left to the network interface
	outbound, inbound int64
	fullTTL           int64 // passed no router
	initialTTL        uint8 // that the packets began with
	large             int64 // longer than any Ethernet frame
}

// countClues counts what p shows.
func (h *Stack) countClues(p *capture.Packet) {
	w := &h.clues
	w.packets++
	if p.Problems.Has(capture.PartialChecksum) {
		w.partial++
	}
	switch p.Direction {
	case capture.Outbound:
		w.outbound++
	case capture.Inbound:
		w.inbound++
	}
	if p.TTL > w.initialTTL || w.initialTTL == 0 {
		w.initialTTL = initialTTL(p.TTL)
	}
	if p.TTL == 64 || p.TTL == 128 || p.TTL == 255 || p.TTL == 32 {
		w.fullTTL++
	}
	if p.Len > jumboPayload && !p.Header.Flags.Has(tcp.SYN) {
		w.large++
	}
}

// initialTTL returns the usual initial TTL of a packet that arrived with ttl.
func initialTTL(ttl uint8) uint8 {
	switch {
	case ttl <= 32:
		return 32
	case ttl <= 64:
		return 64
	case ttl <= 128:
		return 128
	}
	return 255
}

// isCaptureHost reports whether Src itself made the capture, rather than a neighbour.
func (h *Stack) isCaptureHost() bool { return 2*h.clues.fullTTL > h.clues.packets }

// setVantage determines the point of capture. Clues about a host itself count most, then the round
// trips to both ends, then TTLs.
func (c *Conn) setVantage() {
	a, b := &c.Flows[0], &c.Flows[1]
	a.Vantage = c.vantage(&ballot{})
	b.Vantage = a.Vantage.opposite()
}

// VantageEvidence returns what the point of capture rests on. In it a is the first flow's Src, b
// its Dst. The connection is complete.
func (c *Conn) VantageEvidence() []string {
	b := ballot{inWords: true}
	c.vantage(&b)
	return b.why
}

// opposite returns the vantage of the other direction.
func (v Vantage) opposite() Vantage {
	switch v {
	case AtSender:
		return AtReceiver
	case AtReceiver:
		return AtSender
	}
	return v
}

// ballot collects the votes for each host's having made the capture.
type ballot struct {
	votes   [2]int // for the hosts of both flows
	inWords bool   // why is wanted
	why     []string
}

func (b *ballot) because(reason string) {
	if b.inWords {
		b.why = append(b.why, reason)
	}
}

func (b *ballot) vote(host, n int, reason string) {
	b.votes[host] += n
	b.because(reason)
}

// hostClues votes by what packets of a host itself show. They count less without a full TTL: a
// router may have made the capture, which also sees unfinished checksums of virtual machines, and
// whose forwarded packets are outbound.
func (b *ballot) hostClues(host int, w *vantageClues) {
	name := [2]string{"a", "b"}[host]
	full := 2*w.fullTTL >= w.packets
	weight := func(forwarded int) int {
		if full {
			return 4
		}
		return forwarded
	}
	if w.partial > 0 && 2*w.partial > w.packets {
		b.vote(host, weight(1), "unfinished checksums of "+name)
	}
	if w.outbound > 0 && w.inbound == 0 {
		b.vote(host, weight(0), "outbound packets of "+name)
	}
	if w.large > 0 {
		b.because("super-packets of " + name)
	}
}

// roundTrips votes for the host with the much shorter round trip, which may be longer by off. It
// reports whether the point of capture is between the hosts.
func (b *ballot) roundTrips(toA, toB, off time.Duration) (middle bool) {
	if b.inWords { // to write them takes longer than all the rest
		b.because(fmt.Sprintf("%v to a, %v to b", toA.Round(time.Microsecond), toB.Round(time.Microsecond)))
	}
	switch {
	case toA+toB < neighbours:
	case toA+off < toB/nearerBy:
		b.votes[0] += 3
	case toB+off < toA/nearerBy:
		b.votes[1] += 3
	default:
		middle = min(toA, toB)*nearerBy >= max(toA, toB)+off
	}
	return middle
}

// ttls votes for the host whose packets passed no router. It reports whether those of both did.
func (b *ballot) ttls(first, second *vantageClues) (middle bool) {
	if first.packets == 0 || second.packets == 0 {
		return false
	}
	switch fullA, fullB := 2*first.fullTTL > first.packets, 2*second.fullTTL > second.packets; {
	case fullA && !fullB:
		b.vote(0, 2, "TTL of a")
	case fullB && !fullA:
		b.vote(1, 2, "TTL of b")
	case !fullA:
		b.because("TTLs of both")
		return true
	}
	return false
}

// vantage returns the point of capture as seen from the first flow. b is empty before.
func (c *Conn) vantage(b *ballot) Vantage {
	f, g := &c.Flows[0], &c.Flows[1]
	if f.Src.Addr() == f.Dst.Addr() || f.Src.Addr().IsLoopback() {
		b.because("loopback")
		return AtBoth
	}
	b.hostClues(0, &f.clues)
	b.hostClues(1, &g.clues)
	toA, toB := f.sourceRTT, g.sourceRTT
	measured := toA.known && toB.known && toA.min+toB.min > 0
	middle := measured && b.roundTrips(toA.min, toB.min, c.unsure(c.First, c.First))
	// If neither host answered a handshake at once, neither made the capture. A router next to one
	// sees its packets with a full TTL.
	if !(middle && c.Handshake.Complete && min(toA.min, toB.min) >= sameHost) {
		middle = b.ttls(&f.clues, &g.clues) || middle
	}
	switch {
	case b.votes[0] > b.votes[1]:
		return AtSender
	case b.votes[1] > b.votes[0]:
		return AtReceiver
	case b.votes[0] > 0:
		return AtBoth
	case middle:
		return InTheMiddle
	case measured && toA.min+toB.min < neighbours:
		return AtBoth
	}
	return VantageUnknown
}
