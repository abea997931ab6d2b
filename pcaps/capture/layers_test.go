package capture

import (
	"testing"
)

// allocations of a packet, where gopacket has no struct to reuse, or has pointers in it. Others
// have none.
var allocations = map[string]float64{
	"MPLS": 2, "MPLS, IPv6": 1, "MPLS with a pseudowire": 1, "MPLS in GRE": 1,
	"MPLS with a pseudowire without control word": 1, "MPLS with a pseudowire to an address like IPv4": 1,
	"MPLS with a pseudowire to an address like a control word": 1,
	"PPP": 1, "PPP, short": 1, "PPP with directions, out": 1, "PPP with directions, in": 3, "PPTP": 1,
	"PPPoE": 2, "PPPoE, IPv6, on a VLAN": 2, "PPPoE by its own type": 2,
	"FDDI":   1,
	"802.11": 1, "802.11 with radiotap": 2, "802.11 with a timestamp and padding": 3, "802.11 aggregate": 2,
	"802.11 with a Prism header": 1, "802.11 with PPI": 1,
	"Geneve": 2, // per option
}

func TestAllocations(t *testing.T) {
	for _, c := range encapsulations {
		var live Live
		frame := Frame{Data: c.data, Length: uint32(len(c.data)), LinkType: uint16(c.link)}
		live.Decode(&frame)
		got := testing.AllocsPerRun(100, func() { live.Decode(&frame) })
		if got != allocations[c.name] {
			t.Errorf("%s: %v allocations, want %v", c.name, got, allocations[c.name])
		}
	}
}
