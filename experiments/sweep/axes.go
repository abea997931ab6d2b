package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
)

// axis is one of the plan's crossed lists.
type axis struct {
	key    string
	sender bool     // an axis of the sender; otherwise a condition that all senders share
	labels []string // of its values; a single empty label for an absent list
	values []float64
	unit   string // of values, which are nil unless they are numbers
}

func (a *axis) varies() bool  { return len(a.labels) > 1 }
func (a *axis) numeric() bool { return a.values != nil }

// combination is an index into each axis.
type combination []int

// axes returns the axes of a plan in crossing order: the last one varies first.
func (p *Plan) axes() []axis {
	spans := func(key string, sender bool, all []time.Duration) axis {
		return number(key, sender, "ms", all, func(d time.Duration) float64 { return d.Seconds() * 1e3 })
	}
	timers := words("timers", true, p.Timers)
	if len(p.Names) > 0 {
		timers.labels = p.Names
	}
	return []axis{
		words("workload", false, p.Workload),
		number("bytes", false, "bytes", p.Bytes, func(n uint64) float64 { return float64(n) }),
		number("flows", false, "", p.Flows, func(n int) float64 { return float64(n) }),
		spans("rtt", false, p.RTT),
		rates(p.Rate),
		number("queue", false, "packets", p.Queue, func(n int) float64 { return float64(n) }),
		spans("jitter", false, p.Jitter),
		number("reorder", false, "%", p.Reorder, func(x float64) float64 { return 100 * x }),
		losses("loss", p.Loss),
		losses("ack_loss", p.AckLoss),
		words("peer", false, p.Peer),
		words("control", false, p.Control),
		words("sack", false, p.SACK),
		words("timestamps", false, p.Timestamps),
		words("subject", true, p.Subject),
		timers,
		spans("tick", true, p.Tick),
		spans("floor", true, p.Floor),
		spans("rtt_tick", true, p.RTTTick),
		words("wheel", true, p.Wheel),
	}
}

// axisKeys are the keys of the axes, in order.
var axisKeys = func() (keys []string) {
	for _, a := range (&Plan{}).axes() {
		keys = append(keys, a.key)
	}
	return keys
}()

func words[T any](key string, sender bool, all []T) axis {
	a := axis{key: key, sender: sender}
	for _, x := range all {
		a.labels = append(a.labels, fmt.Sprint(x))
	}
	if len(all) == 0 {
		a.labels = []string{""}
	}
	return a
}

func number[T any](key string, sender bool, unit string, all []T, value func(T) float64) axis {
	a := words(key, sender, all)
	a.unit = unit
	for _, x := range all {
		a.values = append(a.values, value(x))
	}
	return a
}

// rates returns numbers if no rate is that of a trace.
func rates(all []sim.LinkRate) axis {
	for _, r := range all {
		if r.Trace != nil {
			return words("rate", false, all)
		}
	}
	return number("rate", false, "Mbit/s", all, func(r sim.LinkRate) float64 { return float64(r.Fixed) / 1e6 })
}

// losses returns numbers if all losses are plain probabilities.
func losses(key string, all []testbed.Fates) axis {
	a := words(key, false, all)
	for _, f := range all {
		x, ok := f.Chance()
		if !ok {
			a.values = nil
			return a
		}
		a.values, a.unit = append(a.values, 100*x), "%"
	}
	return a
}

// pick returns the value of a list in a combination, the zero value for an absent list.
func pick[T any](list []T, c combination, key string) (x T) {
	if len(list) > 0 {
		x = list[c[slices.Index(axisKeys, key)]]
	}
	return x
}

// combinations returns all combinations, conditions first. It uses only the first value of a list
// that has no meaning for a sender, such as timers for gVisor's own TCP.
func (p *Plan) combinations() (all []combination) {
	axes := p.axes()
	c := make(combination, len(axes))
	for {
		if p.sensible(c) {
			all = append(all, slices.Clone(c))
		}
		i := len(axes) - 1
		for ; i >= 0; i-- {
			if c[i]++; c[i] < len(axes[i].labels) {
				break
			}
			c[i] = 0
		}
		if i < 0 {
			return all
		}
	}
}

// pointless reports whether a list has no meaning for the sender of a combination.
func (p *Plan) pointless(c combination, key string) bool {
	switch testbed.Kind(pick(p.Subject, c, "subject")) {
	case testbed.GVisor:
		return slices.Contains([]string{"timers", "tick", "floor", "rtt_tick", "wheel"}, key)
	case testbed.Binding:
		return key == "wheel"
	}
	return false
}

func (p *Plan) sensible(c combination) bool {
	for i, key := range axisKeys {
		if c[i] > 0 && p.pointless(c, key) {
			return false
		}
	}
	return true
}

// labels returns the labels of a combination by the keys of the axes.
func (p *Plan) labels(c combination) map[string]string {
	all := map[string]string{}
	for i, a := range p.axes() {
		all[a.key] = a.labels[c[i]]
	}
	return all
}

// varying returns the axes with several values, longest first.
func (p *Plan) varying(keep func(*axis) bool) (all []int) {
	axes := p.axes()
	for i := range axes {
		if axes[i].varies() && keep(&axes[i]) {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(len(axes[j].labels), len(axes[i].labels)) })
	return all
}

// sender returns the label of a combination's sender, without the named axes.
func (p *Plan) sender(c combination, without ...string) string {
	kind := pick(p.Subject, c, "subject")
	if kind == string(testbed.GVisor) {
		return "gvisor's own"
	}
	first, rest, _ := strings.Cut(pick(p.Timers, c, "timers").Text, " ")
	if len(p.Names) > 0 {
		first, rest = pick(p.Names, c, "timers"), ""
	}
	var parts []string
	if len(p.Subject) > 1 {
		parts = append(parts, kind)
	}
	if len(p.Tick) > 0 && !slices.Contains(without, "tick") {
		first += "@" + pick(p.Tick, c, "tick").String()
	}
	parts = append(parts, first)
	if rest != "" {
		parts = append(parts, rest)
	}
	for _, o := range []struct {
		key, prefix string
		list        []time.Duration
	}{{"floor", "floor=", p.Floor}, {"rtt_tick", "rtt-tick=", p.RTTTick}} {
		if len(o.list) > 0 && !slices.Contains(without, o.key) {
			parts = append(parts, o.prefix+pick(o.list, c, o.key).String())
		}
	}
	if len(p.Wheel) > 1 && kind == string(testbed.Engine) {
		parts = append(parts, pick(p.Wheel, c, "wheel"))
	}
	return strings.Join(parts, " ")
}

// condition returns the label of a combination's condition: the lists with several values, such as
// "rtt=20ms loss=tail:1", without the named axes. It is "" if there is none.
func (p *Plan) condition(c combination, without ...string) string {
	var parts []string
	for i, a := range p.axes() {
		if !a.sender && a.varies() && !slices.Contains(without, a.key) {
			parts = append(parts, a.key+"="+a.labels[c[i]])
		}
	}
	return strings.Join(parts, " ")
}

// name returns the name of a combination in cells and errors.
func (p *Plan) name(c combination) string {
	return strings.TrimSpace(fmt.Sprintf("timers=%s %s", p.sender(c), p.condition(c)))
}
