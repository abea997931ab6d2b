package track

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tcpwheel/tcptimers"
)

// Hosts finds which retransmission timers the hosts of a capture had, from all of their connections
// together. A single connection seldom has enough expiries to tell. It keeps at most 65,536 hosts.
type Hosts struct {
	// LeftOut counts hosts that were dropped to bound memory: first those without a timer's expiry
	// and without time lost. One that comes back counts again.
	LeftOut int

	hosts map[netip.Addr]*Host
	most  int  // hosts to keep; 0 means maxHosts
	full  bool // few of them show nothing, so none is dropped any more
}

// Host is what the connections of a host show about its timers.
type Host struct {
	Addr  netip.Addr
	Conns int // with data or a SYN of the host
	Gaps  int // silences that a timer ended: what the answer rests on

	TTL  uint8         // initial TTL or hop limit: 32, 64, 128 or 255; 0 if unknown
	Tick time.Duration // of the timestamp clock; 0 if unknown

	// TimeLost and TimerWait are sums over the flows that the host sent, in Stalls episodes.
	TimeLost, TimerWait time.Duration
	Stalls              int

	votes    *[maxModels]vote // nil without gaps
	expiries []expiry
}

// expiry is one expiry of a retransmission timer.
type expiry struct {
	wait     time.Duration // since the timer was restarted, if it is one for the connection
	srtt     time.Duration // 0 without an RTT sample
	rttvar   time.Duration
	backoffs int // expiries before it in a row
	syn      bool
	probe    bool // it may be a tail loss probe
}

// Add adds a complete connection. It keeps nothing of it.
func (h *Hosts) Add(c *Conn) {
	if c.Flows == nil || c.Twin {
		return
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		if f.Packets == 0 {
			continue
		}
		g := h.of(f.Src.Addr())
		g.Conns++
		g.TTL = max(g.TTL, f.clues.initialTTL)
		if f.clock.tick > 0 {
			g.Tick = f.clock.tick
		}
		g.TimeLost += f.TimeLost
		g.TimerWait += f.TimerWait
		g.Stalls += f.stalled
		if fit := f.Timers().gaps; fit != nil {
			g.Gaps += fit.scored
			if g.votes == nil {
				g.votes = new([maxModels]vote)
			}
			for k := range models {
				g.votes[k].score += fit.votes[k].score
				g.votes[k].explained += fit.votes[k].explained
			}
			g.expiries = append(g.expiries, fit.expiries[:min(len(fit.expiries), maxHostExpiries-len(g.expiries))]...)
		}
	}
}

// of returns the host with that address, a new one if there is none.
func (h *Hosts) of(addr netip.Addr) *Host {
	if g := h.hosts[addr]; g != nil {
		return g
	}
	if h.hosts == nil {
		h.hosts, h.most = map[netip.Addr]*Host{}, cmp.Or(h.most, maxHosts)
	}
	g := &Host{Addr: addr}
	if len(h.hosts) >= h.most && !h.full {
		h.drop()
	}
	if len(h.hosts) < h.most {
		h.hosts[addr] = g
	} else {
		h.LeftOut++
	}
	return g
}

// drop drops the hosts that show nothing. It looks at all, and so not again if that gives little.
func (h *Hosts) drop() {
	before := len(h.hosts)
	maps.DeleteFunc(h.hosts, func(_ netip.Addr, g *Host) bool { return g.Gaps == 0 && g.Stalls == 0 && g.TimeLost == 0 })
	n := before - len(h.hosts)
	h.LeftOut += n
	h.full = n < h.most/4
}

// Host returns the host with that address, nil if no connection of it was added or it was left out.
func (h *Hosts) Host(addr netip.Addr) *Host { return h.hosts[addr] }

// List returns the hosts, the one that lost the most time first.
func (h *Hosts) List() []*Host {
	all := make([]*Host, 0, len(h.hosts))
	for _, g := range h.hosts {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *Host) int {
		return cmp.Or(cmp.Compare(b.TimeLost, a.TimeLost), cmp.Compare(b.Gaps, a.Gaps), a.Addr.Compare(b.Addr))
	})
	return all
}

// HostTimers is the answer for a host: a named stack, else fitted parameters, else neither.
type HostTimers struct {
	Gaps int // what it rests on

	// Stacks are the named stacks that explain the gaps about equally well, the best first: one if
	// the answer is clear, none if no stack explains them. Explained is how many gaps the best one
	// explains.
	Stacks    []string
	Explained int

	Fitted *FittedTimers // if no stack explains the gaps, and there are enough to fit
}

// FittedTimers are the parameters of RFC 6298's timer that fit a host's gaps best, with intervals
// of 95 %. What too few gaps show is the zero Estimate.
type FittedTimers struct {
	Initial     Estimate `json:"initial"`     // of the first SYN, seconds
	Floor       Estimate `json:"floor"`       // least timeout, seconds
	Granularity Estimate `json:"granularity"` // spread of timeouts at the floor: the tick, seconds
	Factor      Estimate `json:"factor"`      // timeouts above the floor: (timeout - SRTT) / RTTVAR
	Backoff     Estimate `json:"backoff"`     // a timeout divided by the one before
}

// Estimate is a median with its interval of 95 %, from N values.
type Estimate struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"`
}

// Timers returns the answer.
func (g *Host) Timers() HostTimers {
	t := HostTimers{Gaps: g.Gaps}
	if g.Gaps == 0 {
		return t
	}
	order := make([]int, len(models))
	score := make([]float64, len(models))
	for i := range models {
		order[i], score[i] = i, g.votes[i].score-models[i].penalty-g.contradicts(&models[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	best := order[0]
	if n := g.votes[best].explained; n >= leastNamed && float64(n) >= leastExplained*float64(g.Gaps) {
		t.Explained = n
		for _, i := range order {
			if score[best]-score[i] < equallyWell && !slices.Contains(t.Stacks, models[i].name) {
				t.Stacks = append(t.Stacks, models[i].name)
			}
		}
		return t
	}
	if f := fitTimers(g.expiries); f != (FittedTimers{}) {
		t.Fitted = &f
	}
	return t
}

// contradicts returns a penalty if the host's packets look unlike those of the stack.
func (g *Host) contradicts(m *timerModel) (penalty float64) {
	if g.TTL != 0 && m.ttl != 0 && g.TTL != m.ttl {
		penalty += unlikeStack
	}
	if g.Tick != 0 && m.tsTick != 0 && (g.Tick > 2*m.tsTick || m.tsTick > 8*g.Tick) {
		penalty += unlikeStack
	}
	return penalty
}

// HostRecord is a Host as a record.
type HostRecord struct {
	Type      string        `json:"type"` // "host"
	File      string        `json:"file"`
	Addr      string        `json:"addr" head:"sender"`
	Conns     int           `json:"connections" help:"with data or a SYN of the host"`
	Stalls    int           `json:"stalls" help:"episodes that lost time, in the flows that the host sent"`
	TimeLost  float64       `json:"time_lost_s" head:"lost" help:"in them"`
	TimerWait float64       `json:"timer_wait_s" head:"on timers" help:"the part that the host waited for its timers"`
	TTL       uint8         `json:"ttl,omitempty" help:"initial TTL or hop limit, if known"`
	Tick      float64       `json:"timestamp_tick_s,omitempty" help:"of the timestamp clock, if known"`
	Gaps      int           `json:"gaps" help:"timer expiries that the answer rests on"`
	Stacks    []string      `json:"stacks,omitempty" help:"named stacks that explain them about equally well, the best first"`
	Fitted    *FittedTimers `json:"fitted,omitempty"`

	Answer string `json:"-" head:"its timers"`
}

// Record returns the host as a record.
func (g *Host) Record(file string) HostRecord {
	t := g.Timers()
	return HostRecord{
		Type: "host", File: file, Addr: g.Addr.String(), Conns: g.Conns, Stalls: g.Stalls, TimeLost: g.TimeLost.Seconds(), TimerWait: g.TimerWait.Seconds(),
		TTL: g.TTL, Tick: g.Tick.Seconds(), Gaps: g.Gaps, Stacks: t.Stacks, Fitted: t.Fitted, Answer: t.String(),
	}
}

// Policy returns the timers to simulate the host with: those of the best stack, or the fitted ones.
// ok is false if the answer is "unknown".
func (t *HostTimers) Policy() (p tcptimers.Policy, ok bool) {
	if len(t.Stacks) > 0 {
		return ModelPolicy(t.Stacks[0])
	}
	if t.Fitted == nil || t.Fitted.Floor.N == 0 {
		return tcptimers.Policy{}, false
	}
	p = tcptimers.MustPolicy("rfc6298")
	p.Name = "fitted"
	floor := time.Duration(t.Fitted.Floor.Median * float64(time.Second))
	p.Bounds.Min = floor
	p.Bounds.Initial = max(floor, p.Bounds.Initial)
	if t.Fitted.Initial.N > 0 {
		p.Bounds.Initial = time.Duration(t.Fitted.Initial.Median * float64(time.Second))
	}
	p.Bounds.Max = max(p.Bounds.Max, p.Bounds.Initial, p.Bounds.Min)
	return p, p.Check() == nil
}

// String returns the answer in words: "linux (34 gaps)", "linux or gvisor (2 gaps)", "unlike any
// known stack: floor 0.50 s (0.48 to 0.52), … (12 gaps)" or "unknown (1 gap)".
func (t *HostTimers) String() string {
	gaps := fmt.Sprintf(" (%d gaps)", t.Gaps)
	if t.Gaps == 1 {
		gaps = " (1 gap)"
	}
	switch {
	case t.Gaps == 0:
		return "no timer expired"
	case len(t.Stacks) > 0:
		return strings.Join(t.Stacks, " or ") + gaps
	case t.Fitted != nil:
		return "unlike any known stack: " + t.Fitted.String() + gaps
	}
	return "unknown" + gaps
}

// String returns the parameters that are known, with their intervals.
func (f *FittedTimers) String() string {
	var all []string
	for _, p := range []struct {
		name, unit string
		r          Estimate
	}{{"first SYN timeout", " s", f.Initial}, {"floor", " s", f.Floor}, {"granularity", " s", f.Granularity}, {"factor", "", f.Factor}, {"backoff", "", f.Backoff}} {
		if p.r.N > 0 {
			all = append(all, fmt.Sprintf("%s %.3g%s (%.3g to %.3g)", p.name, p.r.Median, p.unit, p.r.Low, p.r.High))
		}
	}
	return strings.Join(all, ", ")
}

// fitTimers fits RFC 6298's parameters.
func fitTimers(all []expiry) (f FittedTimers) {
	var initial, floor, factor, backoff []float64
	least := math.Inf(1)
	for i := range all {
		if e := &all[i]; e.first() {
			least = min(least, e.wait.Seconds())
		}
	}
	for i := range all {
		e := &all[i]
		switch exact := (e.srtt + 4*e.rttvar).Seconds(); {
		case e.syn && e.backoffs == 0:
			initial = append(initial, e.wait.Seconds())
		case e.first() && exact < least:
			floor = append(floor, e.wait.Seconds())
		case e.first() && e.rttvar > 0:
			factor = append(factor, (e.wait-e.srtt).Seconds()/e.rttvar.Seconds())
		}
		if i > 0 && e.backoffs == all[i-1].backoffs+1 && e.syn == all[i-1].syn && all[i-1].wait > 0 {
			backoff = append(backoff, e.wait.Seconds()/all[i-1].wait.Seconds())
		}
	}
	f.Initial, f.Floor, f.Factor, f.Backoff = rangeOf(initial), rangeOf(floor), rangeOf(factor), rangeOf(backoff)
	if n := len(floor); n >= leastFit {
		slices.Sort(floor)
		spread := floor[n-1] - floor[0]
		// A tick g spreads timeouts evenly over g, and n of them over g·(n-1)/(n+1) on average.
		g := spread * float64(n+1) / float64(n-1)
		f.Granularity = Estimate{Median: g, Low: spread, High: spread / math.Pow(0.05, 1/float64(n-1)), N: n}
	}
	return f
}

// first reports whether e is a first expiry with an RTT known.
func (e *expiry) first() bool { return !e.syn && !e.probe && e.backoffs == 0 && e.srtt > 0 }

// rangeOf returns the median of values and its interval of 95 % by order statistics. Fewer than
// leastFit values give the zero Estimate.
func rangeOf(values []float64) Estimate {
	n := len(values)
	if n < leastFit {
		return Estimate{}
	}
	slices.Sort(values)
	half := 0.98 * math.Sqrt(float64(n)) // 1.96 standard deviations of the binomial distribution
	low, high := int(math.Floor(float64(n)/2-half)), int(math.Ceil(float64(n)/2+half))
	return Estimate{(values[(n-1)/2] + values[n/2]) / 2, values[max(low, 0)], values[min(high, n-1)], n}
}
