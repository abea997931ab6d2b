// Package all lists the studies.
package all

import (
	"tcpwheel/experiments"
	"tcpwheel/experiments/comb"
	"tcpwheel/experiments/counterfactual"
	"tcpwheel/experiments/deadpeer"
	"tcpwheel/experiments/delack"
	"tcpwheel/experiments/expiry"
	"tcpwheel/experiments/fig9"
	"tcpwheel/experiments/frontier"
	"tcpwheel/experiments/hashing"
	"tcpwheel/experiments/hierarchy"
	"tcpwheel/experiments/incast"
	"tcpwheel/experiments/interrupts"
	"tcpwheel/experiments/locks"
	"tcpwheel/experiments/million"
	"tcpwheel/experiments/nichols"
	"tcpwheel/experiments/orderedlist"
	"tcpwheel/experiments/outage"
	"tcpwheel/experiments/quantisation"
	"tcpwheel/experiments/randomised"
	"tcpwheel/experiments/rates"
	"tcpwheel/experiments/shrew"
	"tcpwheel/experiments/spike"
	"tcpwheel/experiments/sweep"
	"tcpwheel/experiments/tableiv"
	"tcpwheel/experiments/tailmap"
	"tcpwheel/experiments/vegas"
	"tcpwheel/experiments/web"
)

// Studies returns all studies, those first that matter most.
func Studies() []*experiments.Study {
	return []*experiments.Study{
		// What losses wait for, and why.
		vegas.Study, tableiv.Study,
		// Captures under other timers.
		counterfactual.Study,
		// Floor and granularity apart.
		frontier.Study, quantisation.Study, spike.Study, delack.Study,
		// Incast, and whether timeouts by chance help.
		incast.Study, randomised.Study,
		// The wheel's ledger.
		orderedlist.Study, fig9.Study, hierarchy.Study, hashing.Study, nichols.Study, interrupts.Study, locks.Study, rates.Study, million.Study,
		// Tails, outages and their timers.
		tailmap.Study, comb.Study, outage.Study, expiry.Study, deadpeer.Study,
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
