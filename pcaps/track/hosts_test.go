package track

import (
	"net/netip"
	"testing"
	"time"
)

// TestHostsAreBounded adds connections between more hosts than are kept. Hosts with time lost stay;
// of hosts that all did, the later ones are left out.
func TestHostsAreBounded(t *testing.T) {
	add := func(h *Hosts, i int, lost time.Duration) {
		end := func(b byte) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, b, byte(i >> 8), byte(i)}), 80)
		}
		c := &Conn{Flows: &[2]Flow{{Src: end(0), Dst: end(1)}, {Src: end(1), Dst: end(0)}}}
		c.Flows[0].Packets, c.Flows[0].TimeLost = 1, lost
		c.Flows[0].conn, c.Flows[1].conn = c, c
		h.Add(c)
	}
	h := Hosts{most: 10}
	for i := range 1000 {
		lost := time.Duration(0)
		if i%200 == 7 {
			lost = time.Second
		}
		add(&h, i, lost)
	}
	if all := h.List(); len(all) > 10 || all[4].TimeLost != time.Second || h.LeftOut != 1000-len(all) {
		t.Errorf("%d hosts, the fifth %+v, %d left out", len(all), all[4], h.LeftOut)
	}
	for i := 2000; i < 2020; i++ {
		add(&h, i, time.Second)
	}
	if all := h.List(); len(all) != 10 || !h.full || h.Host(netip.AddrFrom4([4]byte{10, 0, 2001 >> 8, 2001 & 255})) == nil {
		t.Errorf("%d hosts of 25 that lost time, want 10", len(all))
	}
}
