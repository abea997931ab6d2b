package watch

import (
	"strconv"
	"strings"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/track"
)

// Snapshot is the state of a Watcher as a record.
type Snapshot struct {
	Type            string             `json:"type"` // "snapshot", or "summary" at the end
	Interface       string             `json:"interface"`
	Time            string             `json:"time" help:"of the capture's clock"`
	Duration        float64            `json:"duration_s" help:"since the first packet"`
	Packets         int64              `json:"packets" help:"TCP packets of the filter's connections"`
	Bytes           int64              `json:"bytes" help:"their payload, retransmissions included"`
	PacketRate      float64            `json:"packets_per_s" help:"over the last second"`
	KernelDropped   uint64             `json:"kernel_dropped" help:"packets that came too fast to be read"`
	Connections     int                `json:"connections" help:"followed now and not known to be ended"`
	Recovering      int                `json:"recovering" help:"episodes that have not ended"`
	Evicted         int                `json:"evicted" help:"connections forgotten before their end, to bound memory"`
	Uncertain       int                `json:"uncertain" help:"episodes that count as nothing else: the kernel dropped packets meanwhile, or their connection was evicted"`
	UncertainMinute int                `json:"uncertain_minute" help:"of them, in the last minute"`
	Sentence        string             `json:"sentence,omitempty" help:"at the end: what the losses cost, in words"`
	Minute          Tally              `json:"minute"`
	Total           Tally              `json:"total"`
	Losses          track.LossesRecord `json:"losses"` // of episodes and connections that have ended
	LostBySecond    []float64          `json:"lost_by_second_s" help:"time lost in recoveries that ended in each of the last 60 seconds"`
}

// Tally sums up the recoveries of a minute, or of the whole run.
type Tally struct {
	Span  float64     `json:"span_s" help:"how long"`
	Kinds []KindTally `json:"kinds"`
	All   KindTally   `json:"all"`
	Hosts []Loser     `json:"hosts"`
	Ports []Loser     `json:"ports"`
}

// KindTally sums up the recoveries of a kind.
type KindTally struct {
	Kind       string   `json:"kind" help:"as of an episode, or all"`
	Episodes   int      `json:"episodes" head:"recoveries"`
	Spurious   int      `json:"spurious" help:"of them, without a loss"`
	Unrepaired int      `json:"unrepaired" help:"of them, without a repair that the packets show"`
	Never      int      `json:"never_repaired" help:"of these, with data still missing at the end"`
	Unmeasured int      `json:"unmeasured" help:"of these, whose end the packets do not show"`
	P50        *float64 `json:"p50_s,omitempty" help:"T_rec of the repaired ones that were not spurious"`
	P95        *float64 `json:"p95_s,omitempty"`
	P99        *float64 `json:"p99_s,omitempty"`
	TimeLost   float64  `json:"time_lost_s" head:"lost"`
	TimerWait  float64  `json:"timer_wait_s" head:"waited"`
}

// Loser is a host or port with the time lost there.
type Loser struct {
	Name     string  `json:"name" help:"an address, or a port"`
	Episodes int     `json:"episodes" head:"recoveries"`
	TimeLost float64 `json:"time_lost_s" head:"lost"`
}

func portName(port uint16) string { return strconv.Itoa(int(port)) }

// Snapshot returns the state.
func (w *Watcher) Snapshot() Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	span := max(w.now.Sub(w.begun), 0)
	s := Snapshot{
		Type: "snapshot", Interface: w.cfg.Interface, Time: record.Stamp(w.now), Duration: span.Seconds(),
		Packets: w.packets, Bytes: w.bytes, PacketRate: w.rate.value, KernelDropped: w.drops.n,
		Connections: w.tracker.Connections(), Recovering: w.tracker.Recovering(), Evicted: w.tracker.Evicted(),
		Uncertain: w.total.uncertain, Total: w.total.tally(span), Losses: w.total.losses.Record(),
	}
	if w.closed {
		s.Type = "summary"
		s.Sentence = strings.Join(w.total.losses.Sentences(), " ")
	}
	var lost [60]float64
	s.Minute, s.UncertainMinute, lost = w.minute.tally(w.now, w.begun)
	s.LostBySecond = lost[:]
	return s
}
