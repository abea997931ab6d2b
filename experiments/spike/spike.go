// Package spike is study E23: whether coarse timers ride out a delay spike, and at what price.
package spike

import (
	"embed"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

//go:embed *.md *.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	RTT    time.Duration   `plan:"rtt" min:"2ms" max:"1s"`
	Rate   int             `plan:"rate" unit:"rate" min:"1000000" max:"1000000000"` // bit/s
	Window int             `plan:"window" min:"4" max:"1000"`                       // segments
	Peaks  []time.Duration `plan:"peaks" min:"2ms" max:"10s" order:"rising"`
	Lasts  time.Duration   `plan:"lasts" min:"100ms" max:"30s"`
	Tried  []time.Duration `plan:"tried" min:"2ms" max:"10s"`
	Warm   time.Duration   `plan:"warm" min:"1s" max:"1m"`
	Watch  time.Duration   `plan:"watch" min:"1s" max:"1m"`

	Ticks    []time.Duration `plan:"ticks" min:"1ms" max:"500ms"`
	Floors   []time.Duration `plan:"floors" min:"1ms" max:"1m"`
	Policies []string        `plan:"policies" oneof:"per-segment linux rfc6298 rfc7765 bsd datacenter"`

	Losses    int `plan:"losses" min:"1" max:"1000"`
	Exchanges int `plan:"exchanges" min:"10" max:"1000"`
	FirstSeed int `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int `plan:"seeds" min:"1" max:"1000"`

	GVisorSeeds int `plan:"gvisor_seeds" min:"0" max:"1000"`

	Subjects []testbed.Subject `plan:"subjects" optional:"true"`
}

// Cell is the spikes under some timers and one seed.
type Cell struct {
	Timers string  `json:"timers"` // the name of Plan.all
	Seed   int     `json:"seed"`
	Spikes []Spike `json:"spikes"`
	Waits  []int64 `json:"waits,omitempty"` // of lost lone segments, µs
}

// Spike is one spike and what followed. gVisor's TCP does not report its window.
type Spike struct {
	Peak            time.Duration `json:"peak_s"`          // round trip in the spike; the plan's rtt is no spike
	Response        string        `json:"response"`        // to a spurious timeout
	Retransmissions int           `json:"retransmissions"` // segments, all spurious
	Timeouts        int           `json:"timeouts"`        // spurious
	Undone          int           `json:"undone"`          // reductions of the window that were undone
	Before          uint32        `json:"before"`          // bytes, the window before the spike
	Least           uint32        `json:"least"`           // bytes, the same, least while watched
	After           uint32        `json:"after"`           // bytes, the same, a round trip after the end of the spike
	Ssthresh        uint32        `json:"ssthresh"`        // bytes, then
	Bytes           uint64        `json:"bytes"`           // bytes, acknowledged while watched
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E23", Name: "spike", Bed: "path", Class: experiments.Shape, Files: files,
	Check: func(p *Plan) error {
		if least := p.Peaks[0]; least <= p.RTT {
			return fmt.Errorf("peaks: %v, want more than the rtt of %v", least, p.RTT)
		}
		for _, peak := range p.Tried {
			if !slices.Contains(p.Peaks, peak) {
				return fmt.Errorf("tried: %v is none of the peaks", peak)
			}
		}
		if last := p.Peaks[len(p.Peaks)-1]; !slices.Contains(p.Tried, last) {
			return fmt.Errorf("tried: %v, want the greatest of the peaks, %v, too", p.Tried, last)
		}
		if last := p.Peaks[len(p.Peaks)-1]; p.Watch < p.Lasts+2*last {
			return fmt.Errorf("watch: %v, want at least %v, for all ACKs to arrive", p.Watch, p.Lasts+2*last)
		}
		return testbed.CheckStacks(p.Subjects)
	},
	Words: func() experiments.Words { return words },
	Cells: cells,
	Judge: outcome,
})

// row is a spike under some timers.
type row struct {
	Spike
	timers  *timers
	tried   bool    // the plan tries responses with this peak
	harmful bool    // the spike causes a timeout without a response
	window  float64 // a round trip after the spike, relative to before
}

// back reports whether the window is as large as before the spike.
func back(s *Spike) bool { return float64(s.After) >= 0.95*float64(s.Before) }

// rows returns the spikes of all timers by their peaks.
func rows(p *Plan, cells []Cell) (all []row) {
	for _, tm := range p.all() {
		for _, peak := range append([]time.Duration{p.RTT}, p.Peaks...) {
			for _, c := range cells {
				if c.Timers != tm.name {
					continue
				}
				harmful := slices.ContainsFunc(c.Spikes, func(s Spike) bool {
					return s.Peak == peak && s.Response == none && s.Timeouts > 0
				})
				for _, s := range c.Spikes {
					if s.Peak != peak {
						continue
					}
					r := row{Spike: s, timers: &tm, tried: slices.Contains(p.Tried, peak), harmful: harmful}
					if s.Before > 0 {
						r.window = float64(s.After) / float64(s.Before)
					}
					all = append(all, r)
				}
			}
		}
	}
	return all
}

// path is a node between two hosts that delays packets in both directions by half of a round trip,
// which may change. Packets keep their order: after a slow packet, the next arrives with it.
type path struct {
	net        *sim.Network[host.Body]
	rtt        time.Duration
	directions [2]direction // to the server, and to the client
}

// direction is one direction of a path.
type direction struct {
	path  *path
	to    sim.NodeID
	out   sim.LinkID
	timer wheel.Timer
	queue []held
	head  int
	last  wheel.Time // when the last packet of the queue leaves
}

type held struct {
	at wheel.Time
	d  host.Datagram
}

// Receive implements sim.Node.
func (p *path) Receive(now wheel.Time, _ sim.LinkID, d *host.Datagram) {
	for i := range p.directions {
		w := &p.directions[i]
		if d.To != w.to {
			continue
		}
		w.last = max(w.last, now.Add(p.rtt/2))
		w.queue = append(w.queue, held{w.last, *d})
		if len(w.queue)-w.head == 1 {
			p.net.StartTimer(w.timer, w.last)
		}
	}
}

// Expire implements sim.Handler: the head of the queue leaves.
func (w *direction) Expire(now wheel.Time) {
	for ; w.head < len(w.queue) && w.queue[w.head].at <= now; w.head++ {
		w.path.net.Send(w.out, &w.queue[w.head].d)
	}
	if w.head == len(w.queue) {
		w.queue, w.head = w.queue[:0], 0
		return
	}
	w.path.net.StartTimer(w.timer, w.queue[w.head].at)
}

// bed is two hosts with a path between them.
type bed struct {
	world          *host.World
	client, server *host.Host
	path           *path
	record         testbed.Record // of the client
}

// newBed connects two hosts. The server's configuration decides about delayed ACKs.
func newBed(p *Plan, client, server tcp.Config) (*bed, error) {
	w, err := host.NewWorld(sim.Config{Seed: 1})
	if err != nil {
		return nil, err
	}
	w.Verify = true
	b := &bed{world: w, path: &path{net: w.Net, rtt: p.RTT}}
	link := sim.LinkConfig{Rate: uint64(p.Rate), Overhead: 38}
	mid, err := w.Net.AddNode("path", b.path)
	if err != nil {
		return nil, err
	}
	for i, cfg := range []tcp.Config{client, server} {
		engine := tcp.EngineConfig{Conn: cfg, Seed: uint64(i + 1), Key: [16]byte{byte(i + 1)}}
		if i == 0 {
			engine.Trace = &b.record
		}
		h, err := w.NewHost(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), engine)
		if err != nil {
			return nil, err
		}
		id, err := w.Net.AddNode([]string{"client", "server"}[i], h)
		if err != nil {
			return nil, err
		}
		up, down, err := w.Net.Connect(id, mid, link, sim.LinkConfig{})
		if err == nil {
			err = w.Attach(h, id, up)
		}
		if err != nil {
			return nil, err
		}
		d := &b.path.directions[1-i] // the first leads to the server
		d.path, d.to, d.out = b.path, id, down
		d.timer = w.Net.NewTimer(d)
		if i == 0 {
			b.client = h
		} else {
			b.server = h
		}
	}
	return b, nil
}
