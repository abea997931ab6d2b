package up

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/tcptimers"
	"tcpwheel/tun"
	"tcpwheel/wheel"
)

// Report is the content of /info: a summary, and the connections that a Selection asks for.
// Durations are in seconds in JSON.
type Report struct {
	Device    string         `json:"device"`
	Uptime    events.Seconds `json:"uptime_s"`
	MTU       int            `json:"mtu"`
	Addrs     []netip.Prefix `json:"addrs"`
	HostAddrs []netip.Prefix `json:"host_addrs"`

	TCP     TCPReport `json:"tcp"`
	Packets tun.Stats `json:"packets"`
	// KernelDropped is how many packets the kernel has dropped because the device's queue was full.
	KernelDropped uint64              `json:"kernel_dropped"`
	Buffers       *netstack.BufferUse `json:"buffers,omitempty"` // Ours, bytes

	Link      *LinkReport      `json:"link,omitempty"` // an emulated one
	Forwards  []ForwardReport  `json:"forwards,omitempty"`
	Capture   *CaptureReport   `json:"capture,omitempty"`
	Counters  *tcp.Counters    `json:"counters,omitempty"`     // Ours
	Timers    *int             `json:"timers,omitempty"`       // running, Ours
	Changes   *TimerCounts     `json:"timer_counts,omitempty"` // Ours, with a status server or a trace
	States    map[string]int   `json:"states"`                 // number of connections by state
	Listeners []netip.AddrPort `json:"listeners"`

	// Connections are the selected ones, sorted by address. Omitted is how many more there are.
	Connections []ConnectionReport `json:"connections,omitempty"`
	Omitted     int                `json:"connections_omitted,omitempty"`
}

// TCPReport is the configuration of the TCP. Policy and the fields after it are of Ours.
type TCPReport struct {
	Name      string         `json:"name"`
	Control   string         `json:"congestion_control"`
	KeepAlive string         `json:"keepalive,omitempty"` // idle,interval,count
	Policy    string         `json:"policy,omitempty"`
	Tick      events.Seconds `json:"tick_s,omitempty"`
	Floor     events.Seconds `json:"rto_floor_s,omitempty"`
	DelAck    string         `json:"delayed_acks,omitempty"` // as tcptimers.ParseDelAck reads it
	Pacing    bool           `json:"pacing,omitempty"`
}

// String lists the configuration in words.
func (t TCPReport) String() string {
	words := []string{"TCP " + t.Name}
	if t.Policy != "" {
		words = append(words, fmt.Sprintf("policy %s", t.Policy), fmt.Sprintf("tick %v", time.Duration(t.Tick)), fmt.Sprintf("RTO floor %v", time.Duration(t.Floor)),
			"delayed ACKs "+t.DelAck)
	}
	if t.Pacing {
		words = append(words, "paced")
	}
	words = append(words, t.Control)
	if t.KeepAlive != "" {
		words = append(words, "keepalive "+t.KeepAlive)
	}
	return strings.Join(words, ", ")
}

// LinkReport is an emulated link.
type LinkReport struct {
	Seed      uint64          `json:"seed"`
	FromStack DirectionReport `json:"from_stack"`
	ToStack   DirectionReport `json:"to_stack"`
}

// String describes the link in words.
func (l *LinkReport) String() string {
	out, in := l.FromStack.text(), l.ToStack.text()
	if out == in {
		return fmt.Sprintf("link %s, seed %d", out, l.Seed)
	}
	return fmt.Sprintf("link from stack %s, to stack %s, seed %d", out, in, l.Seed)
}

// DirectionReport is the model and the counters of a direction of an emulated link.
type DirectionReport struct {
	Model  sim.LinkConfig `json:"model"`
	Counts sim.LinkCounts `json:"counts"`
}

func (d *DirectionReport) text() string {
	b, err := json.Marshal(d.Model)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// ConnectionReport is a connection in a Report.
type ConnectionReport struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	State  string         `json:"state"`
	Timers []TimerReport  `json:"timers,omitempty"` // running, Ours
	Info   *tcp.Info      `json:"info,omitempty"`   // Ours
}

// TimerReport is the running timers of one kind of a connection: one, except for those of segments
// in flight.
type TimerReport struct {
	Kind      tcptimers.Kind `json:"kind"`
	OfSegment bool           `json:"of_segment,omitempty"`
	Count     int            `json:"count"`
	Due       events.Seconds `json:"due_s"` // from now to the earliest deadline; below 0 it is late
}

// timers returns the running timers of a connection.
func timers(e *netstack.Endpoint, now wheel.Time) (list []TimerReport) {
	for _, t := range e.Armed() {
		list = append(list, TimerReport{t.Kind, t.PerSegment, t.Count, events.Seconds(t.Deadline.Sub(now))})
	}
	return list
}

// Selection says which connections a Report lists. The zero value lists none.
type Selection struct {
	State string // a state such as "ESTABLISHED", or "all"; "" is none
	Limit int    // how many; 0 is no limit
}

// defaultLimit is how many connections /info lists unless the query says otherwise.
const defaultLimit = 100

// parseSelection reads the query of /info: connections=STATE or all, and limit=N.
func parseSelection(connections, limit string) (s Selection, err error) {
	s = Selection{strings.ReplaceAll(strings.ToUpper(connections), "_", "-"), defaultLimit}
	switch {
	case s.State == "":
	case s.State == "ALL":
		s.State = "all"
	case !slices.Contains(stateNames, s.State):
		return s, fmt.Errorf("connections %q, want all, %s", connections, strings.ToLower(strings.Join(stateNames, ", ")))
	}
	if limit != "" {
		if s.Limit, err = strconv.Atoi(limit); err != nil || s.Limit < 1 {
			return s, fmt.Errorf("limit %q, want a whole number above 0", limit)
		}
	}
	return s, nil
}

// stateNames are the names of a connection's states.
var stateNames = []string{
	"SYN-SENT", "SYN-RECEIVED", "ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT", "CLOSING", "LAST-ACK", "TIME-WAIT", "CLOSED",
}

// stateName returns the name of an endpoint's state. gVisor's TCP has names of its own.
func stateName(state gtcp.EndpointState) string {
	switch state {
	case gtcp.StateSynSent, gtcp.StateConnecting:
		return "SYN-SENT"
	case gtcp.StateSynRecv:
		return "SYN-RECEIVED"
	case gtcp.StateFinWait1:
		return "FIN-WAIT-1"
	case gtcp.StateFinWait2:
		return "FIN-WAIT-2"
	case gtcp.StateClose, gtcp.StateError:
		return "CLOSED"
	}
	return state.String()
}

// addEndpoints adds the listeners, the number of connections in each state, and the selected
// connections.
func (r *Report) addEndpoints(s *stack.Stack, selected Selection) {
	r.Listeners, r.States = []netip.AddrPort{}, map[string]int{}
	if counts, ok := netstack.CountStates(s); ok && selected.State == "" {
		r.addSummary(s, counts)
		return
	}
	var found []foundEndpoint
	listening := make(map[tcpip.Endpoint]bool) // some are registered for two IP versions
	for _, t := range s.RegisteredEndpoints() {
		e, ok := tcpEndpoint(t)
		if !ok {
			continue
		}
		state := gtcp.EndpointState(e.State())
		if state == gtcp.StateListen {
			if !listening[e] {
				local, _ := endpointAddrs(e)
				r.Listeners = append(r.Listeners, local)
			}
			listening[e] = true
			continue
		}
		name := stateName(state)
		r.States[name]++
		if selected.State == "all" || selected.State == name {
			local, remote := endpointAddrs(e)
			found = append(found, foundEndpoint{ep: e, local: local, remote: remote, state: name})
		}
	}
	for _, w := range netstack.TimeWaits(s) {
		const name = "TIME-WAIT"
		r.States[name]++
		if selected.State == "all" || selected.State == name {
			found = append(found, foundEndpoint{local: w.Local, remote: w.Remote, state: name, ends: w.Deadline})
		}
	}
	slices.SortFunc(r.Listeners, netip.AddrPort.Compare)
	slices.SortFunc(found, func(a, b foundEndpoint) int {
		return cmp.Or(a.local.Compare(b.local), a.remote.Compare(b.remote))
	})
	if n := selected.Limit; n > 0 && n < len(found) {
		r.Omitted, found = len(found)-n, found[:n]
	}
	now := wheel.Time(s.Clock().NowMonotonic().Sub(tcpip.MonotonicTime{}))
	for _, f := range found {
		r.Connections = append(r.Connections, f.report(now))
	}
}

// addSummary adds the listeners, and the number of connections in each state.
func (r *Report) addSummary(s *stack.Stack, counts map[tcp.State]int) {
	for state, n := range counts {
		r.States[state.String()] = n
	}
	for _, e := range netstack.Listeners(s) {
		local, _ := endpointAddrs(e)
		r.Listeners = append(r.Listeners, local)
	}
	slices.SortFunc(r.Listeners, netip.AddrPort.Compare)
}

// tcpEndpoint returns an endpoint of either TCP.
func tcpEndpoint(t stack.TransportEndpoint) (tcpip.Endpoint, bool) {
	switch e := t.(type) {
	case *netstack.Endpoint:
		return e, true
	case *gtcp.Endpoint:
		return e, true
	}
	return nil, false
}

// foundEndpoint is an endpoint of a connection.
type foundEndpoint struct {
	ep            tcpip.Endpoint // nil in TIME-WAIT, once the application has closed the connection
	local, remote netip.AddrPort
	state         string
	ends          wheel.Time // the end of TIME-WAIT, without ep
}

func (f *foundEndpoint) report(now wheel.Time) ConnectionReport {
	c := ConnectionReport{Local: f.local, Remote: f.remote, State: f.state}
	if f.ep == nil {
		c.Timers = []TimerReport{{Kind: tcptimers.TimeWait, Count: 1, Due: events.Seconds(f.ends.Sub(now))}}
	}
	if ours, ok := f.ep.(*netstack.Endpoint); ok {
		info := ours.ConnInfo()
		c.Info, c.State, c.Timers = &info, info.State.String(), timers(ours, now)
	}
	return c
}
