package track

import (
	"fmt"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// Vantage is where a capture was made, as seen from one direction.
type Vantage uint8

const (
	VantageUnknown Vantage = iota // nothing tells
	AtSender                      // at the host that sent
	AtReceiver                    // at the host that received
	InTheMiddle                   // on the way
	AtBoth                        // both hosts are one, or next to each other

	vantages
)

var vantageNames = [vantages]string{"unknown", "sender", "receiver", "middle", "both"}

// String returns the name that the vantage has in JSON.
func (v Vantage) String() string { return vantageNames[min(v, vantages-1)] }

// MarshalText writes the name.
func (v Vantage) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// where is what packets of a host tell of how near it is.
type where struct {
	packets           int64
	partial           int64 // whose checksum was left to the network interface
	outbound, inbound int64
	fullTTL           int64 // that have not passed a router
	large             int64 // longer than any that Ethernet carries
}

// place counts what the packet tells.
func (f *Flow) place(p *capture.Packet) {
	w := &f.site
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
	if p.TTL == 64 || p.TTL == 128 || p.TTL == 255 || p.TTL == 32 {
		w.fullTTL++
	}
	if p.Len > 9000 && !p.Header.Flags.Has(tcp.SYN) {
		w.large++
	}
}

// here reports whether the flow's Src is the very host that captured, and not one near it.
func (f *Flow) here() bool { return 2*f.site.fullTTL > f.site.packets }

// locate finds out where the capture was made. Evidence of the host itself counts first, then the round trips to both ends, then TTLs.
func (c *Conn) locate() {
	a, b := &c.Flows[0], &c.Flows[1]
	v, why := c.whereabouts()
	a.Vantage, b.Vantage = v, v.opposite()
	a.VantageEvidence, b.VantageEvidence = why, why
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

// whereabouts returns the vantage as seen from the first flow, and what tells it.
func (c *Conn) whereabouts() (Vantage, []string) {
	a, b := &c.Flows[0].site, &c.Flows[1].site
	if c.Flows[0].Src.Addr() == c.Flows[0].Dst.Addr() || c.Flows[0].Src.Addr().IsLoopback() {
		return AtBoth, []string{"loopback"}
	}
	var why []string
	votes := [2]int{} // for the hosts of both flows
	vote := func(host, n int, text string) {
		votes[host] += n
		why = append(why, text)
	}
	for i, w := range [2]*where{a, b} {
		name := [2]string{"a", "b"}[i]
		if w.partial > 0 && w.partial*2 > w.packets {
			// Between virtual machines a router may see them too.
			n := 4
			if 2*w.fullTTL < w.packets {
				n = 1
			}
			vote(i, n, "unfinished checksums of "+name)
		}
		if w.outbound > 0 && w.inbound == 0 {
			// A router's packets are outbound, too, and not its own.
			n := 4
			if 2*w.fullTTL < w.packets {
				n = 0
			}
			vote(i, n, "outbound packets of "+name)
		}
		if w.large > 0 {
			why = append(why, "super-packets of "+name)
		}
	}
	ha, hb := c.Flows[0].half, c.Flows[1].half
	total := ha.least + hb.least
	split := ha.known && hb.known && total > 0
	middle := false
	if split {
		text := fmt.Sprintf("%v to a, %v to b", ha.least.Round(time.Microsecond), hb.least.Round(time.Microsecond))
		switch {
		case total < 100*time.Microsecond:
			why = append(why, text)
		case ha.least < hb.least/8:
			vote(0, 3, text)
		case hb.least < ha.least/8:
			vote(1, 3, text)
		default:
			middle = true
			why = append(why, text)
		}
	}
	fullA, fullB := a.packets > 0 && a.fullTTL*2 > a.packets, b.packets > 0 && b.fullTTL*2 > b.packets
	if middle && c.Handshake.Complete && min(ha.least, hb.least) >= atOnce {
		// Neither host answered a handshake at once. A router next to one sees packets of it with a full TTL, too.
	} else if a.packets > 0 && b.packets > 0 && fullA != fullB {
		if fullA {
			vote(0, 2, "TTL of a")
		} else {
			vote(1, 2, "TTL of b")
		}
	} else if a.packets > 0 && b.packets > 0 && !fullA && !fullB {
		middle = true
		why = append(why, "TTLs of both")
	}
	switch {
	case votes[0] > votes[1]:
		return AtSender, why
	case votes[1] > votes[0]:
		return AtReceiver, why
	case votes[0] > 0:
		return AtBoth, why
	case middle:
		return InTheMiddle, why
	case split && total < 100*time.Microsecond:
		return AtBoth, why
	}
	return VantageUnknown, why
}
