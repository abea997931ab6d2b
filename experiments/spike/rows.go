package spike

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/experiments/internal/testbed"
)

// Row is a spike, or the wait of a lost segment.
type Row struct {
	Kind   string        `json:"kind" help:"spike or wait"`
	Timers string        `json:"timers" help:"of the sender"`
	Family string        `json:"family" help:"granularity, floor, policy, or stack: another TCP"`
	Size   time.Duration `json:"size_ns" help:"the granularity G, or the floor on the variation"`
	Seed   int           `json:"seed"`
	TCP    string        `json:"tcp" column:"subject" help:"engine, binding or gvisor"`

	Spike
	Tried   bool    `json:"tried" help:"whether the plan tries responses with this peak"`
	Harmful bool    `json:"harmful" help:"whether the spike causes a timeout without a response"`
	Window  float64 `json:"window" help:"a round trip after the spike, relative to before"`
	Back    bool    `json:"back" help:"whether that is 95 % or more"`

	Wait float64 `json:"wait" unit:"ms" help:"of a lost lone segment"`
}

// back reports whether the window is as large as before the spike.
func back(s *Spike) bool { return float64(s.After) >= 0.95*float64(s.Before) }

// kind returns what kind of TCP the timers are of.
func (tm *timers) kind() string { return string(cmp.Or(tm.stack.Kind, testbed.Engine)) }

// rows returns the spikes of all timers by their peaks, and the waits.
func rows(p *Plan, cells []Cell) (all []Row) {
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
					row := Row{Kind: "spike", Timers: tm.name, Family: string(tm.family), Size: tm.size, Seed: c.Seed, TCP: tm.kind(),
						Spike: s, Tried: slices.Contains(p.Tried, peak), Harmful: harmful, Back: back(&s)}
					if s.Before > 0 {
						row.Window = float64(s.After) / float64(s.Before)
					}
					all = append(all, row)
				}
			}
		}
		for _, c := range cells {
			if c.Timers != tm.name {
				continue
			}
			for _, w := range c.Waits {
				all = append(all, Row{
					Kind: "wait", Timers: tm.name, Family: string(tm.family), Size: tm.size, Seed: c.Seed, TCP: tm.kind(),
					Wait: float64(w) / 1e3,
				})
			}
		}
	}
	return all
}
