package up

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/tun"
	"tcpwheel/wheel"
)

// Report is the content of /info.
type Report struct {
	Device    string         `json:"device"`
	MTU       int            `json:"mtu"`
	Addrs     []netip.Prefix `json:"addrs"`
	HostAddrs []netip.Prefix `json:"host_addrs"`
	TCP       string         `json:"tcp"`
	Packets   tun.Stats      `json:"packets"`
	// of an emulated link: from the stack, and to it
	Link        *[2]sim.LinkCounts `json:"link,omitempty"`
	Forwards    []ForwardReport    `json:"forwards,omitempty"`
	Capture     *CaptureReport     `json:"capture,omitempty"`
	Counters    *tcp.Counters      `json:"counters,omitempty"` // of Ours
	Listeners   []netip.AddrPort   `json:"listeners"`
	Connections []ConnectionReport `json:"connections"`
}

// ConnectionReport is a connection in a Report.
type ConnectionReport struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	State  string         `json:"state"`
	Timers []TimerReport  `json:"timers,omitempty"` // that run, of Ours
	Info   *tcp.Info      `json:"info,omitempty"`   // of Ours; times in nanoseconds
}

// TimerReport is the armed timers of one kind of a connection: one, except for those of segments in
// flight.
type TimerReport struct {
	Kind      tcptimers.Kind `json:"kind"`
	OfSegment bool           `json:"of_segment,omitempty"`
	Count     int            `json:"count"`
	// the earliest: from now on, in nanoseconds; below 0 it is late
	Due time.Duration `json:"due_ns"`
}

// timers returns the armed timers of a connection.
func timers(e *netstack.Endpoint, now wheel.Time) (list []TimerReport) {
	for _, t := range e.Armed() {
		list = append(list, TimerReport{t.Kind, t.PerSegment, t.Count, t.Deadline.Sub(now)})
	}
	return list
}

// addEndpoints adds the listeners and connections of a stack, sorted by address.
func (r *Report) addEndpoints(s *stack.Stack) {
	r.Listeners, r.Connections = []netip.AddrPort{}, []ConnectionReport{}
	now := wheel.Time(s.Clock().NowMonotonic().Sub(tcpip.MonotonicTime{}))
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
			c.Info, c.State, c.Timers = &info, info.State.String(), timers(ours, now)
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
	addr, _ := netip.AddrFromSlice(a.AsSlice()) // invalid if a is empty, which is any address
	return netip.AddrPortFrom(addr, port)
}
