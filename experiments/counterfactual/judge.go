package counterfactual

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel/stat"
)

// pair is the recovery time of a loss in the capture and under a policy.
type pair struct{ was, is time.Duration }

// pairs returns the losses that count under a policy by a key, grouped by connection, in the cells
// that keep accepts.
func pairs(cells []Cell, policy int, key replay.Key, keep func(*Cell) bool) (groups [][]pair) {
	for i := range cells {
		c := &cells[i]
		if c.Check != "" || !keep(c) {
			continue
		}
		counted := experiments.Select(c.Losses, func(l *Loss) bool { return l.Count && l.By[policy][key] >= 0 })
		for _, conn := range experiments.GroupBy(counted, func(l *Loss) int { return l.Conn }) {
			var group []pair
			for _, l := range conn.Items {
				group = append(group, pair{l.Took, l.By[policy][key]})
			}
			groups = append(groups, group)
		}
	}
	return groups
}

// saved returns the share of the captured recovery times that a policy saves.
func saved(all []pair) float64 {
	was, less := time.Duration(0), time.Duration(0)
	for _, p := range all {
		was, less = was+p.was, less+p.was-p.is
	}
	if was == 0 {
		return 0
	}
	return float64(less) / float64(was)
}

// savings returns the savings of a policy by each key, with intervals over connections. ok is false
// if a key covers no losses.
func savings(cells []Cell, policy int, keep func(*Cell) bool) (by [replay.Keys]stat.Interval, ok bool) {
	ok = true
	for k := range by {
		groups := pairs(cells, policy, replay.Key(k), keep)
		if len(groups) == 0 {
			return by, false
		}
		by[k] = stat.Bootstrap(groups, uint64(k+1), saved)
	}
	return by, ok
}

func percent(in stat.Interval) string {
	return fmt.Sprintf("%s %% (%s to %s)", experiments.Number(100*in.Value), experiments.Number(100*in.Lo),
		experiments.Number(100*in.Hi))
}
