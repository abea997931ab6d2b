package watch

import (
	"sync"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Config configures a Watcher. The zero value is valid.
type Config struct {
	Interface string // name in records and labels
	Filter    Filter // exact, by the innermost addresses
	MaxConns  int    // connections followed at once; 0 means 16,384

	// Episode, if not nil, gets each episode when it has settled. It must not call the Watcher.
	Episode func(*Episode)
	// Recorder, if not nil, copies the packets around episodes. Close closes it.
	Recorder *Recorder
}

const (
	defaultConns = 1 << 14

	// keepClosed is how long an ended connection waits for late packets. It is shorter than in
	// files, as a busy server would fill the memory with ended connections.
	keepClosed = 5 * time.Second
)

// Episode is a recovery as a record: an EpisodeRecord of package track, whose file is the
// interface, and more.
type Episode struct {
	track.EpisodeRecord
	Direction string `json:"direction" help:"of the flow at the capturing host: outbound, inbound or unknown"`
	Uncertain string `json:"uncertain,omitempty" help:"dropped: the kernel dropped packets meanwhile; evicted: its connection was forgotten before it ended"`
}

// Watcher follows connections and sums up their recoveries. Multiple goroutines may invoke its
// methods.
type Watcher struct {
	cfg     Config
	metrics metrics

	mu      sync.Mutex
	live    capture.Live
	tracker *track.Tracker
	now     wheel.Time // of the last packet, or later
	begun   wheel.Time
	packets int64 // of the filter's connections
	bytes   int64 // of payload, retransmissions included
	drops   drops
	minute  minute
	total   totals
	rate    rate
	closed  bool
	failed  error // of the Recorder
}

// New returns a Watcher that has seen no packet.
func New(cfg Config) *Watcher {
	if cfg.MaxConns <= 0 {
		cfg.MaxConns = defaultConns
	}
	w := &Watcher{cfg: cfg}
	w.metrics = metrics{}
	w.tracker = track.New(track.Config{
		Reuse: true, MaxConns: cfg.MaxConns, KeepClosed: keepClosed, Settled: w.settled, Done: func(c *track.Conn) { w.total.losses.AddConn(c) },
	})
	return w
}

// frame handles a packet of a live capture. The caller holds the lock.
func (w *Watcher) frame(f *capture.Frame) {
	if p, ok := w.live.Decode(f); ok {
		w.packet(p, f)
	}
}

// packet handles a TCP segment and the frame that it came in. The caller holds the lock.
func (w *Watcher) packet(p *capture.Packet, f *capture.Frame) {
	if !w.cfg.Filter.Matches(p) {
		return
	}
	if w.begun == 0 {
		w.begun = p.Time
	}
	w.now = max(w.now, p.Time)
	w.packets++
	w.bytes += int64(p.Len)
	if w.cfg.Recorder != nil {
		w.cfg.Recorder.add(p, f)
	}
	w.tracker.Add(p)
}

// icmpError handles an ICMP error. The caller holds the lock.
func (w *Watcher) icmpError(e capture.ICMPError) { w.tracker.ICMP(e) }

// Advance tells the Watcher that the capture's clock is at now.
func (w *Watcher) Advance(now wheel.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun == 0 {
		w.begun = now
	}
	w.now = max(w.now, now)
	w.tracker.Advance(now)
	w.rate.note(now, w.packets)
	if r := w.cfg.Recorder; r != nil {
		if err := r.advance(now); w.failed == nil {
			w.failed = err
		}
	}
}

// dropped notes that the kernel dropped n packets in that time.
func (w *Watcher) dropped(n uint64, from, to wheel.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drops.add(n, from, to)
}

// settled counts an episode. The lock is held.
func (w *Watcher) settled(c *track.Conn, f *track.Flow, e *track.Episode) {
	direction, uncertain := f.Direction().String(), w.uncertain(c, e)
	if w.cfg.Recorder != nil {
		w.cfg.Recorder.mark(f, e)
	}
	if w.cfg.Episode != nil {
		w.cfg.Episode(&Episode{f.Record(w.cfg.Interface, e), direction, uncertain})
	}
	if uncertain != "" {
		w.total.uncertain++
		w.minute.add(recovery{at: w.now, uncertain: true})
		return
	}
	host, port := blame(c, f)
	r := recovery{
		at: w.now, kind: e.Kind, verdict: e.Spurious, repaired: e.Repaired, never: e.Gap == track.NoGap && e.Unrepaired > 0, unmeasured: e.Gap != track.NoGap,
		tRec: e.TRec, lost: e.TimeLost, waited: e.TimerWait, host: host, port: port,
	}
	w.minute.add(r)
	w.total.add(c, e, &r)
	w.metrics.observe(&r, direction)
}

// uncertain says why an episode may be none.
func (w *Watcher) uncertain(c *track.Conn, e *track.Episode) string {
	from, to := min(e.FirstSent, e.PrevSent), max(e.Seen, e.Acked, e.Ended)
	if e.Estimated { // its transmission was not captured, perhaps because of a drop before
		from = from.Add(-dropShadow)
	}
	switch {
	case w.drops.overlap(from, to):
		return "dropped"
	case c.End == track.Evicted && !e.Closed:
		return "evicted"
	}
	return ""
}

// Err returns the first error of writing, nil if there was none.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// Close completes all connections and closes the Recorder. Later packets must not follow; Snapshot
// may. A second call does nothing.
func (w *Watcher) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.failed
	}
	w.closed = true
	w.tracker.Close()
	if w.cfg.Recorder != nil {
		if err := w.cfg.Recorder.close(); w.failed == nil {
			w.failed = err
		}
	}
	return w.failed
}

// rate measures packets per second.
type rate struct {
	at      wheel.Time
	packets int64
	value   float64
}

// note updates the rate once a second.
func (r *rate) note(now wheel.Time, packets int64) {
	switch d := now.Sub(r.at); {
	case r.at == 0 || d < 0:
		r.at, r.packets = now, packets
	case d >= time.Second:
		r.value = float64(packets-r.packets) / d.Seconds()
		r.at, r.packets = now, packets
	}
}
