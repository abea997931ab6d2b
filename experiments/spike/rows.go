package spike

import (
	"slices"
	"time"
)

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
