// Package all lists the studies.
package all

import (
	"tcpwheel/experiments"
	"tcpwheel/experiments/comb"
	"tcpwheel/experiments/counterfactual"
	"tcpwheel/experiments/datacentre"
	"tcpwheel/experiments/delack"
	"tcpwheel/experiments/frontier"
	"tcpwheel/experiments/incast"
	"tcpwheel/experiments/pacing"
	"tcpwheel/experiments/shrew"
	"tcpwheel/experiments/spike"
	"tcpwheel/experiments/sweep"
	"tcpwheel/experiments/tailmap"
	"tcpwheel/experiments/vegas"
	"tcpwheel/experiments/web"
	"tcpwheel/experiments/wheels"
)

// Studies returns all studies, the most important first.
func Studies() []*experiments.Study {
	return []*experiments.Study{
		// Why losses wait.
		vegas.Study, vegas.TableIV, vegas.OneOnOne,
		// Captures under other timers.
		counterfactual.Study, counterfactual.Field,
		// Floor and granularity separately.
		frontier.Study, frontier.Quantisation, frontier.RoundTrips, spike.Study, delack.Study,
		// Incast.
		incast.Study, incast.CMU, datacentre.Study,
		// Costs of the wheel.
		wheels.OrderedList, wheels.Fig9, wheels.Hierarchy, wheels.Hashing, wheels.Nichols, wheels.Interrupts,
		wheels.Locks, pacing.Study,
		// Tails, outages and their timers.
		tailmap.Study, comb.Study, wheels.Expiry,
		// Real-world traffic.
		web.Study, shrew.Study,
		// The user's own study.
		sweep.Study,
	}
}

// Find returns the study of that name or ID, or nil.
func Find(name string) *experiments.Study {
	for _, s := range Studies() {
		if s.Name == name || s.ID == name {
			return s
		}
	}
	return nil
}
