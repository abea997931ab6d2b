package watch

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are a Watcher's numbers for Prometheus. Labels are the kind, the interface, the direction
// and the verdict: never a host, a port or a connection.
type metrics struct {
	iface      string
	registry   *prometheus.Registry
	recoveries *prometheus.HistogramVec
	episodes   *prometheus.CounterVec
	lost       *prometheus.CounterVec
	waited     *prometheus.CounterVec
}

func newMetrics(w *Watcher) *metrics {
	labels := []string{"kind", "interface", "direction"}
	counter := func(name, help string, labels []string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		iface: w.cfg.Interface, registry: prometheus.NewRegistry(),
		recoveries: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tcpwheel_watch_recovery_seconds", Help: "T_rec of losses that were repaired.",
			// Classic buckets from 100 µs to 52 s, and native ones.
			Buckets: prometheus.ExponentialBuckets(1e-4, 2, 20), NativeHistogramBucketFactor: 1.1,
		}, labels),
		episodes: counter("tcpwheel_watch_episodes_total", "Loss episodes that ended.", append(labels[:3:3], "spurious")),
		lost:     counter("tcpwheel_watch_time_lost_seconds_total", "Time that applications lost in episodes.", labels),
		waited:   counter("tcpwheel_watch_timer_wait_seconds_total", "Time of it that senders waited for timers.", labels),
	}
	m.registry.MustRegister(
		m.recoveries, m.episodes, m.lost, m.waited, &collector{w},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// observe adds an episode.
func (m *metrics) observe(r *recovery, direction string) {
	kind := r.kind.String()
	m.episodes.WithLabelValues(kind, m.iface, direction, r.verdict.String()).Inc()
	m.lost.WithLabelValues(kind, m.iface, direction).Add(r.lost.Seconds())
	m.waited.WithLabelValues(kind, m.iface, direction).Add(r.waited.Seconds())
	if r.measured() {
		m.recoveries.WithLabelValues(kind, m.iface, direction).Observe(r.tRec.Seconds())
	}
}

// collector collects the numbers that are read from a Watcher.
type collector struct{ w *Watcher }

// Describe implements prometheus.Collector. It describes none, so the registry checks each
// collection.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	send := func(kind prometheus.ValueType, name, help string, value float64) {
		desc := prometheus.NewDesc("tcpwheel_watch_"+name, help, []string{"interface"}, nil)
		to <- prometheus.MustNewConstMetric(desc, kind, value, w.cfg.Interface)
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	send(counter, "packets_total", "TCP packets of the connections watched.", float64(w.packets))
	send(counter, "bytes_total", "Their payload, retransmissions included.", float64(w.bytes))
	send(counter, "kernel_dropped_total", "Packets that the kernel dropped because they came too fast to be read.", float64(w.drops.n))
	send(counter, "uncertain_total", "Episodes not counted, because of drops or evictions.", float64(w.total.uncertain))
	send(counter, "evicted_total", "Connections forgotten before their end, to bound memory.", float64(w.tracker.Evicted()))
	send(gauge, "connections", "Connections that are not known to be ended.", float64(w.tracker.Connections()))
	send(gauge, "recovering", "Episodes that have not ended.", float64(w.tracker.Recovering()))
}
