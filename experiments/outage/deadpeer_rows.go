package outage

import "time"

// deadRow is the connections of one case under one seed, or one of its samples.
type deadRow struct {
	Set   string        `json:"set" help:"engine, gvisor, or sample: the end of one connection"`
	Case  string        `json:"case" column:"death" help:"the TCP, and the timer that notices"`
	Short string        `json:"short" help:"the same, short"`
	While string        `json:"while" help:"what the connection does: idle, data in flight, opening"`
	User  time.Duration `json:"user_ns" help:"the user timeout; 0s is none"`
	Bare  bool          `json:"bare" help:"gVisor's TCP without RACK and its probe"`
	Seed  int           `json:"seed"`
	Tick  time.Duration `json:"tick_ns"`

	Deaths  int           `json:"deaths" unit:"connections"`
	Off     int           `json:"off" unit:"connections" help:"that ended outside the rule"`
	Rule    time.Duration `json:"rule_ns" help:"sum of the timers, the mean over the connections; 0s is none"`
	Took    float64       `json:"took" unit:"s" help:"mean time to the end"`
	Soonest float64       `json:"soonest" unit:"ticks" help:"end minus rule, the least"`
	Excess  float64       `json:"excess" unit:"ticks" help:"end minus rule, the mean"`
	Latest  float64       `json:"latest" unit:"ticks" help:"end minus rule, the greatest"`
	Even    float64       `json:"even" help:"p-value of an even share of a tick"`

	Number int     `json:"number" help:"of a sample, the soonest first"`
	Late   float64 `json:"late" unit:"ticks" help:"its end minus the rule"`
}

// whiles are the names of what.
var whiles = [...]string{idle: "idle", data: "data", opening: "opening"}

func deadRows(p *deadPlan, cells []deadCell) (all []deadRow) {
	cases := map[string]deadRow{}
	for set, of := range map[string][]death{"engine": deaths(p), "gvisor": gvisorCases(p)} {
		for _, d := range of {
			cases[d.name] = deadRow{Set: set, Case: d.name, Short: d.short, While: whiles[d.activity], User: d.user,
				Bare: d.bare}
		}
	}
	var samples []deadRow
	for _, c := range cells {
		r := cases[c.Case]
		r.Seed, r.Tick, r.Deaths, r.Off, r.Rule, r.Took = c.Seed, c.Tick, p.Phases, c.Off, c.Rule, c.Took
		r.Soonest, r.Excess, r.Latest, r.Even = c.Least, c.Mean, c.Greatest, c.KS
		if r.Set == "gvisor" {
			r.Deaths = 1
		}
		all = append(all, r)
		r.Set, r.Deaths = "sample", len(c.Late)
		for i, late := range c.Late {
			r.Number, r.Late = i+1, late
			samples = append(samples, r)
		}
	}
	return append(all, samples...)
}
