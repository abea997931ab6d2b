package up

import (
	"cmp"
	"net/netip"
	"slices"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tun"
)

// Report is what /info tells of a Site.
type Report struct {
	Device      string             `json:"device"`
	MTU         int                `json:"mtu"`
	Addrs       []netip.Prefix     `json:"addrs"`
	HostAddrs   []netip.Prefix     `json:"host_addrs"`
	TCP         string             `json:"tcp"`
	Packets     tun.Stats          `json:"packets"`
	Link        *[2]sim.LinkCounts `json:"link,omitempty"`     // of an emulated link: from the stack, and to it
	Counters    *tcp.Counters      `json:"counters,omitempty"` // of Ours
	Listeners   []netip.AddrPort   `json:"listeners"`
	Connections []ConnectionReport `json:"connections"`
}

// ConnectionReport is one connection of a Report.
type ConnectionReport struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	State  string         `json:"state"`
	Info   *tcp.Info      `json:"info,omitempty"` // of Ours; times in nanoseconds
}

// addEndpoints tells about the listeners and the connections of a stack, by address.
func (r *Report) addEndpoints(s *stack.Stack) {
	r.Listeners, r.Connections = []netip.AddrPort{}, []ConnectionReport{}
	seen := make(map[stack.TransportEndpoint]bool)
	for _, t := range s.RegisteredEndpoints() {
		e, ok := t.(tcpip.Endpoint)
		if !ok || seen[t] {
			continue
		}
		seen[t] = true
		info, ok := e.Info().(*stack.TransportEndpointInfo)
		if !ok {
			continue
		}
		local := addrPort(info.ID.LocalAddress, info.ID.LocalPort)
		if info.ID.RemotePort == 0 {
			r.Listeners = append(r.Listeners, local)
			continue
		}
		c := ConnectionReport{Local: local, Remote: addrPort(info.ID.RemoteAddress, info.ID.RemotePort)}
		if ours, ok := e.(*netstack.Endpoint); ok {
			info := ours.ConnInfo()
			c.Info, c.State = &info, info.State.String()
		} else {
			c.State = gtcp.EndpointState(e.State()).String()
		}
		r.Connections = append(r.Connections, c)
	}
	slices.SortFunc(r.Listeners, netip.AddrPort.Compare)
	slices.SortFunc(r.Connections, func(a, b ConnectionReport) int {
		return cmp.Or(a.Local.Compare(b.Local), a.Remote.Compare(b.Remote))
	})
}

func addrPort(a tcpip.Address, port uint16) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(a.AsSlice()) // not valid if it is empty: any address
	return netip.AddrPortFrom(addr, port)
}
