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
		orderedlist.Study,
		fig9.Study,
		hierarchy.Study,
		hashing.Study,
		nichols.Study,
		interrupts.Study,
		locks.Study,
		vegas.Study,
		rates.Study,
		tableiv.Study,
		frontier.Study,
		quantisation.Study,
		million.Study,
		expiry.Study,
		tailmap.Study,
		incast.Study,
		comb.Study,
		outage.Study,
		randomised.Study,
		web.Study,
		shrew.Study,
		delack.Study,
		counterfactual.Study,
		sweep.Study,
		deadpeer.Study,
		spike.Study,
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
