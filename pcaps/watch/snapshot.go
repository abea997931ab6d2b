package watch

import (
	"strconv"
	"time"
)

// Snapshot is the state of a Watcher as a JSON record.
//
//	type              "snapshot", or "summary" at the end
//	interface
//	time              of the capture's clock
//	duration_s        since the first packet
//	packets           TCP packets of the filter's connections
//	bytes             their payload, retransmissions included
//	packets_per_s     over the last second
//	kernel_dropped    packets that came too fast to be read
//	connections       followed now and not known to be ended
//	recovering        episodes that have not ended
//	evicted           connections forgotten before their end, to bound memory
//	uncertain         episodes that count as nothing else: the kernel dropped packets meanwhile,
//	                  or their connection was evicted
//	uncertain_minute  of them, in the last minute
//	sentence          at the end: what the losses cost, in words
//	minute, total     Tally: the last minute and the whole run
//	lost_by_second_s  time lost in recoveries that ended in each of the last 60 seconds
type Snapshot struct {
	Type            string    `json:"type"`
	Interface       string    `json:"interface"`
	Time            string    `json:"time"`
	Duration        float64   `json:"duration_s"`
	Packets         int64     `json:"packets"`
	Bytes           int64     `json:"bytes"`
	PacketRate      float64   `json:"packets_per_s"`
	KernelDropped   uint64    `json:"kernel_dropped"`
	Connections     int       `json:"connections"`
	Recovering      int       `json:"recovering"`
	Evicted         int       `json:"evicted"`
	Uncertain       int       `json:"uncertain"`
	UncertainMinute int       `json:"uncertain_minute"`
	Sentence        string    `json:"sentence,omitempty"`
	Minute          Tally     `json:"minute"`
	Total           Tally     `json:"total"`
	LostBySecond    []float64 `json:"lost_by_second_s"`
}

// Tally sums up recoveries.
//
//	span_s         how long
//	kinds, all     KindTally of each kind seen, and of all
//	hosts, ports   Loser: where most time was lost
type Tally struct {
	Span  float64     `json:"span_s"`
	Kinds []KindTally `json:"kinds"`
	All   KindTally   `json:"all"`
	Hosts []Loser     `json:"hosts"`
	Ports []Loser     `json:"ports"`
}

// KindTally sums up the recoveries of a kind.
//
//	kind                       as in EpisodeRecord, or "all"
//	episodes
//	spurious                   of them, without a loss
//	unrepaired                 of them, not repaired before their connection ended
//	p50_s, p95_s, p99_s        T_rec of the repaired ones that were not spurious; omitted without any
//	time_lost_s, timer_wait_s  sums
type KindTally struct {
	Kind       string   `json:"kind"`
	Episodes   int      `json:"episodes"`
	Spurious   int      `json:"spurious"`
	Unrepaired int      `json:"unrepaired"`
	P50        *float64 `json:"p50_s,omitempty"`
	P95        *float64 `json:"p95_s,omitempty"`
	P99        *float64 `json:"p99_s,omitempty"`
	TimeLost   float64  `json:"time_lost_s"`
	TimerWait  float64  `json:"timer_wait_s"`
}

// Loser is a host or port with the time lost there.
//
//	name          an address, or a port
//	episodes
//	time_lost_s
type Loser struct {
	Name     string  `json:"name"`
	Episodes int     `json:"episodes"`
	TimeLost float64 `json:"time_lost_s"`
}

func portName(port uint16) string { return strconv.Itoa(int(port)) }

// Snapshot returns the state.
func (w *Watcher) Snapshot() Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	span := max(w.now.Sub(w.begun), 0)
	s := Snapshot{
		Type: "snapshot", Interface: w.cfg.Interface, Time: time.Unix(0, int64(w.now)).UTC().Format(time.RFC3339Nano), Duration: span.Seconds(),
		Packets: w.packets, Bytes: w.bytes, PacketRate: w.rate.value, KernelDropped: w.drops.n,
		Connections: w.tracker.Connections(), Recovering: w.tracker.Recovering(), Evicted: w.tracker.Evicted(),
		Uncertain: w.total.uncertain, Total: w.total.tally(span),
	}
	if w.closed {
		s.Type = "summary"
		s.Sentence = w.total.losses.Sentences()[0]
	}
	var lost [60]float64
	s.Minute, s.UncertainMinute, lost = w.minute.tally(w.now, w.begun)
	s.LostBySecond = lost[:]
	return s
}
