package up

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	prometheus "github.com/VictoriaMetrics/metrics"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// observer sees all timers and segments of a stack: it counts them, measures recoveries and the
// lateness of timers, and feeds the stream of events. Multiple goroutines may invoke its methods.
type observer struct {
	now    func() wheel.Time
	log    recoveryLog
	timers [tcptimers.Kinds]timerCounts
	flows  flows
	stream *eventStream
	trace  *traceFile // nil without one

	late       [tcptimers.Kinds]*prometheus.PrometheusHistogram // of timers, by kind
	recoveries *prometheus.PrometheusHistogram

	lateSet, recoverySet *prometheus.Set // what they are written by
}

// timerCounts counts the changes of timers of one kind. Timers run that were started, and neither
// stopped nor expired.
type timerCounts struct{ started, moved, stopped, expired atomic.Uint64 }

// TimerCounts is how many timers of the stack were started, stopped and have expired.
type TimerCounts struct {
	Started uint64 `json:"started"`
	Moved   uint64 `json:"moved"` // started again while they ran
	Stopped uint64 `json:"stopped"`
	Expired uint64 `json:"expired"`
}

// timerTotals adds up all kinds.
func (o *observer) timerTotals() (t TimerCounts) {
	for k := range o.timers {
		c := &o.timers[k]
		t.Started += c.started.Load()
		t.Moved += c.moved.Load()
		t.Stopped += c.stopped.Load()
		t.Expired += c.expired.Load()
	}
	return t
}

// running returns how many timers run.
func (c *timerCounts) running() int {
	ended := c.stopped.Load() + c.expired.Load() // first: a timer that ends later has started
	return int(c.started.Load() - min(ended, c.started.Load()))
}

// newObserver makes an observer for a stack on that clock.
func newObserver(clock tcpip.Clock) *observer {
	buckets := prometheus.ExponentialBuckets(1e-6, 2, 27) // 1 µs to 67 s
	o := &observer{
		now: nowOf(clock), flows: flows{all: map[flowKey]*flow{}}, stream: newEventStream(endpointName),
		lateSet: prometheus.NewSet(), recoverySet: prometheus.NewSet(),
	}
	o.recoveries = o.recoverySet.NewPrometheusHistogramExt("tcpwheel_recovery_seconds", buckets)
	for k := range o.late {
		o.late[k] = o.lateSet.NewPrometheusHistogramExt(withLabels("tcpwheel_timer_lateness_seconds", "kind", tcptimers.Kind(k).String()), buckets)
	}
	return o
}

// withLabels returns the name of a metric with its labels, which are pairs of a name and a value.
func withLabels(name string, labels ...string) string {
	if len(labels) == 0 {
		return name
	}
	pairs := make([]string, 0, len(labels)/2)
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%s=%q", labels[i], labels[i+1]))
	}
	slices.Sort(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// nowOf returns a function that reads the clock as a time of package wheel.
func nowOf(clock tcpip.Clock) func() wheel.Time {
	return func() wheel.Time { return wheel.Time(clock.NowMonotonic().Sub(tcpip.MonotonicTime{})) }
}

// timer counts a change of a timer: see netstack.Config.TimerEvents.
func (o *observer) timer(ev netstack.TimerEvent) {
	c := &o.timers[ev.Kind]
	switch ev.Change {
	case netstack.TimerStarted:
		c.started.Add(1)
	case netstack.TimerMoved:
		c.moved.Add(1)
	case netstack.TimerStopped:
		c.stopped.Add(1)
	case netstack.TimerExpired:
		c.expired.Add(1)
		o.late[ev.Kind].Update(max(0, ev.Time.Sub(ev.Deadline)).Seconds())
	}
	if o.stream.active.Load() {
		o.stream.add(Event{Time: ev.Time, Name: timerEvents[ev.Change], Timer: ev})
	}
}

// add implements linkTap.
func (o *observer) add(pkt *stack.PacketBuffer, d pcapng.Direction) {
	s, ok := parseSegment(pkt, d)
	if !ok {
		return
	}
	now := o.now()
	e := Event{Time: now, Name: segmentEvent(d), Segment: s}
	if d == pcapng.Outbound {
		e.Transmissions = o.flows.sending(now, &s)
		if o.stream.active.Load() {
			e.Causes = netstack.Causes(pkt)
		}
		o.stream.add(e)
		return
	}
	o.stream.add(e)
	for _, r := range o.flows.acknowledged(now, &s) {
		o.recoveries.Update(r.took.Seconds())
		o.log.add(r.took)
		done := s
		done.Header.Seq = r.end
		o.stream.add(Event{Time: now, Name: events.Recovered, Segment: done, Took: r.took, Transmissions: r.transmissions})
	}
}

// close ends the stream and the trace.
func (o *observer) close() error {
	o.stream.close()
	if o.trace == nil {
		return nil
	}
	return o.trace.close()
}

// connName names a connection in events.
func connName(local, remote netip.AddrPort) string { return local.String() + "-" + remote.String() }

// endpointName names the connection of an endpoint in events.
func endpointName(e *netstack.Endpoint) string { return connName(endpointAddrs(e)) }

// endpointAddrs returns the addresses and ports of an endpoint.
func endpointAddrs(e tcpip.Endpoint) (local, remote netip.AddrPort) {
	info, ok := e.Info().(*stack.TransportEndpointInfo)
	if !ok {
		return local, remote
	}
	return addrPort(info.ID.LocalAddress, info.ID.LocalPort), addrPort(info.ID.RemoteAddress, info.ID.RemotePort)
}

// addrPort translates gVisor's form of an address and port. An empty address is any, and invalid.
func addrPort(a tcpip.Address, port uint16) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(a.AsSlice())
	return netip.AddrPortFrom(addr, port)
}
