// Package all lists the studies.
package all

import (
	"tcpwheel/experiments"
	"tcpwheel/experiments/counterfactual"
	"tcpwheel/experiments/deadpeer"
	"tcpwheel/experiments/delack"
	"tcpwheel/experiments/frontier"
	"tcpwheel/experiments/incast"
	"tcpwheel/experiments/outage"
	"tcpwheel/experiments/quantisation"
	"tcpwheel/experiments/rates"
	"tcpwheel/experiments/shrew"
	"tcpwheel/experiments/spike"
	"tcpwheel/experiments/sweep"
	"tcpwheel/experiments/tailmap"
	"tcpwheel/experiments/vegas"
	"tcpwheel/experiments/web"
	"tcpwheel/experiments/wheels"
)

// Studies returns all studies, those first that matter most.
func Studies() []*experiments.Study {
	return []*experiments.Study{
		// What losses wait for, and why.
		vegas.Study, vegas.TableIV,
		// Captures under other timers.
		counterfactual.Study,
		// Floor and granularity apart.
		frontier.Study, quantisation.Study, spike.Study, delack.Study,
		// Incast, and whether timeouts by chance help.
		incast.Study, incast.Randomised,
		// The wheel's ledger.
		wheels.OrderedList, wheels.Fig9, wheels.Hierarchy, wheels.Hashing, wheels.Nichols, wheels.Interrupts, wheels.Locks, rates.Study, wheels.Million,
		// Tails, outages and their timers.
		tailmap.Study, outage.Comb, outage.Study, wheels.Expiry, deadpeer.Study,
		// Traffic of the world.
		web.Study, shrew.Study,
		// A study of the user's own.
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
