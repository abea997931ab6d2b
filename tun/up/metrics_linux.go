package up

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"time"

	prometheus "github.com/VictoriaMetrics/metrics"
	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/tcptimers"
)

// writeMetrics writes the metrics of a host of now, with those of the process and of Go's runtime.
func (h *Host) writeMetrics(w io.Writer) error {
	prometheus.ExposeMetadata(true)
	m := metrics{prometheus.NewSet(), map[string]string{}}
	t := h.tcpReport()
	m.gauge("tcpwheel_info", "The configuration of the TCP, in labels.", 1, "device", h.device.Name(), "tcp", t.Name, "policy", t.Policy,
		"tick", time.Duration(t.Tick).String(), "congestion_control", t.Control)
	m.addPackets(h)
	m.addLink(h)
	r := Report{}
	r.addEndpoints(h.stack, Selection{})
	for state, n := range r.States {
		m.gauge("tcpwheel_connections", "Connections by state.", float64(n), "state", state)
	}
	var page bytes.Buffer
	if b, ok := netstack.Buffers(h.stack); ok {
		m.gauge("tcpwheel_buffers_bytes", "Memory of all buffers of connections.", float64(b.Used))
		m.gauge("tcpwheel_buffers_limit_bytes", "Bound of all buffers of connections.", float64(b.Limit))
		m.netstat("TCPMemoryPressures", b.Pressures)
		m.netstat("TCPRcvQDrop", b.Refused)
		m.netstat("TCPAbortOnMemory", b.Aborted)
	}
	if counters, ok := netstack.Counters(h.stack); ok {
		m.addTimers(h.observer)
		counters.Each(m.netstat)
		m.help["tcpwheel_timer_lateness_seconds"] = "Time from the deadline of a timer to its expiry, tick included."
		h.observer.lateSet.WritePrometheus(&page)
	} else {
		m.addGVisor(h.stack.Stats().TCP)
	}
	m.counter("tcpwheel_events_dropped_total", "Events that a reader of /events or the trace missed.", h.observer.stream.missed())
	if h.capture != nil {
		report := h.capture.report()
		m.counter("tcpwheel_capture_packets_total", "Packets captured.", report.Packets)
		m.counter("tcpwheel_capture_dropped_total", "Packets missing in the capture.", report.Dropped)
	}
	m.help["tcpwheel_recovery_seconds"] = "Time from the first transmission of a retransmitted segment to its ACK."
	h.observer.recoverySet.WritePrometheus(&page)
	m.set.WritePrometheus(&page)
	for line := range strings.Lines(page.String()) {
		if name, ok := strings.CutPrefix(line, "# HELP "); ok { // the library leaves the text out
			line = "# HELP " + strings.TrimSpace(name) + " " + m.help[strings.TrimSpace(name)] + "\n"
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	prometheus.WriteProcessMetrics(w)
	return nil
}

// serveMetrics serves /metrics.
func (h *Host) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = h.writeMetrics(w) // a reader that has gone misses the rest
}

// metrics are the metrics of a host at one moment, and the texts of their names.
type metrics struct {
	set  *prometheus.Set
	help map[string]string
}

// counter adds a counter. labels are pairs of a name and a value.
func (m metrics) counter(name, help string, value uint64, labels ...string) {
	m.help[name] = help
	m.set.GetOrCreateCounter(withLabels(name, labels...)).Set(value)
}

// gauge adds a gauge. labels are pairs of a name and a value.
func (m metrics) gauge(name, help string, value float64, labels ...string) {
	m.help[name] = help
	m.set.GetOrCreateGauge(withLabels(name, labels...), nil).Set(value)
}

// addPackets adds the counters of the device.
func (m metrics) addPackets(h *Host) {
	s := h.device.Stats()
	for _, d := range []struct {
		direction                    string
		packets, bytes, super, drops uint64
	}{
		{"to_stack", s.RxPackets, s.RxBytes, s.RxSuperSegments, s.RxMalformed + s.RxBadChecksums},
		{"from_stack", s.TxPackets, s.TxBytes, s.TxSuperSegments, s.TxErrors},
	} {
		m.counter("tcpwheel_device_packets_total", "Packets that passed the device.", d.packets, "direction", d.direction)
		m.counter("tcpwheel_device_bytes_total", "Bytes of IP packets that passed the device.", d.bytes, "direction", d.direction)
		m.counter("tcpwheel_device_super_segments_total", "Packets that held several segments.", d.super, "direction", d.direction)
		m.counter("tcpwheel_device_dropped_total", "Packets that were malformed, had a wrong checksum, or were refused by the kernel.",
			d.drops, "direction", d.direction)
	}
	if n, err := h.device.KernelDrops(); err == nil {
		m.counter("tcpwheel_kernel_dropped_total", "Packets that the kernel dropped because the device's queue was full.", n)
	}
}

// addLink adds the counters of an emulated link.
func (m metrics) addLink(h *Host) {
	l := h.linkReport()
	if l == nil {
		return
	}
	for _, d := range []struct {
		direction string
		counts    sim.LinkCounts
	}{{"from_stack", l.FromStack.Counts}, {"to_stack", l.ToStack.Counts}} {
		for fate, n := range map[string]uint64{"delivered": d.counts.Delivered, "lost": d.counts.Lost, "queue_dropped": d.counts.QueueDropped} {
			m.counter("tcpwheel_link_packets_total", "Packets of the emulated link by fate.", n, "direction", d.direction, "fate", fate)
		}
	}
}

// addTimers adds the counters of timers by kind.
func (m metrics) addTimers(o *observer) {
	for k := range o.timers {
		kind, c := tcptimers.Kind(k).String(), &o.timers[k]
		m.gauge("tcpwheel_timers_running", "Running timers by kind.", float64(c.running()), "kind", kind)
		m.counter("tcpwheel_timers_started_total", "Timers started.", c.started.Load(), "kind", kind)
		m.counter("tcpwheel_timers_moved_total", "Timers started again while they ran.", c.moved.Load(), "kind", kind)
		m.counter("tcpwheel_timers_stopped_total", "Timers stopped.", c.stopped.Load(), "kind", kind)
		m.counter("tcpwheel_timers_expired_total", "Timers expired.", c.expired.Load(), "kind", kind)
	}
}

// netstatTCP are the counters of /proc/net/snmp's Tcp line. All others are of /proc/net/netstat's
// TcpExt line.
var netstatTCP = map[string]bool{
	"ActiveOpens": true, "PassiveOpens": true, "AttemptFails": true, "EstabResets": true, "CurrEstab": true,
	"InSegs": true, "OutSegs": true, "RetransSegs": true, "InErrs": true, "OutRsts": true, "InCsumErrors": true,
}

// netstat adds a counter of the TCP under Linux's name, as node_exporter does.
func (m metrics) netstat(name string, n uint64) {
	full := "tcpwheel_netstat_TcpExt_" + name
	if netstatTCP[name] {
		full = "tcpwheel_netstat_Tcp_" + name
	}
	if name == "CurrEstab" {
		m.gauge(full, "Linux's counter of this name.", float64(n))
		return
	}
	m.counter(full, "Linux's counter of this name.", n)
}

// addGVisor adds the counters of gVisor's TCP that Linux has too.
func (m metrics) addGVisor(s tcpip.TCPStats) {
	for name, c := range map[string]*tcpip.StatCounter{
		"ActiveOpens": s.ActiveConnectionOpenings, "PassiveOpens": s.PassiveConnectionOpenings, "AttemptFails": s.FailedConnectionAttempts,
		"EstabResets": s.EstablishedResets, "CurrEstab": s.CurrentEstablished, "InSegs": s.ValidSegmentsReceived, "OutSegs": s.SegmentsSent,
		"RetransSegs": s.Retransmits, "InErrs": s.InvalidSegmentsReceived, "OutRsts": s.ResetsSent, "InCsumErrors": s.ChecksumErrors,
		"TCPTimeouts": s.Timeouts, "TCPFastRetrans": s.FastRetransmit, "TCPSlowStartRetrans": s.SlowStartRetransmits,
	} {
		m.netstat(name, c.Value())
	}
}
