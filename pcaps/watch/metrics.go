package watch

import (
	"net/http"
	"reflect"
	"strings"

	runtimemetrics "github.com/VictoriaMetrics/metrics"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel/stat/promtext"
)

// metrics are a Watcher's numbers for Prometheus. Labels are the kind, the interface, the direction
// and the verdict: never a host, a port or a connection. The Watcher's lock guards them.
type metrics map[lossKey]*losses

type lossKey struct{ kind, direction string }

// losses are those of a kind in a direction.
type losses struct {
	episodes     map[track.Spuriousness]float64
	lost, waited float64 // seconds
	recoveries   *promtext.Histogram
}

// observe adds an episode.
func (m metrics) observe(r *recovery, direction string) {
	key := lossKey{r.kind.String(), direction}
	l := m[key]
	if l == nil {
		// Buckets from 100 µs to 52 s.
		l = &losses{episodes: map[track.Spuriousness]float64{}, recoveries: promtext.NewHistogram(1e-4, 2, 20)}
		m[key] = l
	}
	l.episodes[r.verdict]++
	l.lost += r.lost.Seconds()
	l.waited += r.waited.Seconds()
	if r.measured() {
		l.recoveries.Observe(r.tRec.Seconds())
	}
}

// page returns the metrics of now.
func (w *Watcher) page() *promtext.Page {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &promtext.Page{}
	iface := []string{"interface", w.cfg.Interface}
	for key, l := range w.metrics {
		labels := append(iface[:2:2], "kind", key.kind, "direction", key.direction)
		p.Histogram("tcpwheel_watch_recovery_seconds", "T_rec of losses that were repaired.", l.recoveries, labels...)
		for verdict, n := range l.episodes {
			p.Counter("tcpwheel_watch_episodes_total", "Loss episodes that ended.", n, append(labels[:6:6], "spurious", verdict.String())...)
		}
		p.Counter("tcpwheel_watch_time_lost_seconds_total", "Time that applications lost in episodes.", l.lost, labels...)
		p.Counter("tcpwheel_watch_timer_wait_seconds_total", "Time of it that senders waited for timers.", l.waited, labels...)
	}
	w.addLosses(p, iface)
	p.Counter("tcpwheel_watch_packets_total", "TCP packets of the connections watched.", float64(w.packets), iface...)
	p.Counter("tcpwheel_watch_bytes_total", "Their payload, retransmissions included.", float64(w.bytes), iface...)
	p.Counter("tcpwheel_watch_kernel_dropped_total", "Packets that the kernel dropped because they came too fast to be read.", float64(w.drops.n), iface...)
	p.Counter("tcpwheel_watch_uncertain_total", "Episodes not counted, because of drops or evictions.", float64(w.total.uncertain), iface...)
	p.Counter("tcpwheel_watch_evicted_total", "Connections forgotten before their end, to bound memory.", float64(w.tracker.Evicted()), iface...)
	p.Gauge("tcpwheel_watch_connections", "Connections that are not known to be ended.", float64(w.tracker.Connections()), iface...)
	p.Gauge("tcpwheel_watch_recovering", "Episodes that have not ended.", float64(w.tracker.Recovering()), iface...)
	return p
}

// addLosses adds a counter for each field of the sums that no metric above has by kind.
func (w *Watcher) addLosses(p *promtext.Page, iface []string) {
	sums := reflect.ValueOf(w.total.losses.Record())
	for _, f := range record.Fields(sums.Type()) {
		name, labels := f.Name, iface
		if base, key := f.Key(); key != "" {
			name, labels = base, append(iface[:2:2], "of", key)
		}
		switch v, _ := f.Value(sums); {
		case name == "stalls", name == "time_lost_s", name == "timer_wait_s":
		case f.Unit() == "s":
			p.Counter("tcpwheel_watch_"+strings.TrimSuffix(name, "_s")+"_seconds_total", f.Help, v.Float(), labels...)
		default:
			p.Counter("tcpwheel_watch_"+name+"_total", f.Help, float64(v.Int()), labels...)
		}
	}
}

// serveMetrics serves /metrics, with those of the process and of Go's runtime.
func (w *Watcher) serveMetrics(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", promtext.ContentType)
	if w.page().Write(rw) == nil {
		runtimemetrics.WriteProcessMetrics(rw)
	}
}
