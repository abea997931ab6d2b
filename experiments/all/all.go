// Package all lists the studies.
package all

import (
	"tcpwheel/experiments"
	"tcpwheel/experiments/comb"
	"tcpwheel/experiments/counterfactual"
	"tcpwheel/experiments/datacentre"
	"tcpwheel/experiments/delack"
	"tcpwheel/experiments/frontier"
	"tcpwheel/experiments/granularity"
	"tcpwheel/experiments/incast"
	"tcpwheel/experiments/pacing"
	"tcpwheel/experiments/paths"
	"tcpwheel/experiments/shrew"
	"tcpwheel/experiments/spike"
	"tcpwheel/experiments/sweep"
	"tcpwheel/experiments/tailmap"
	"tcpwheel/experiments/vegas"
	"tcpwheel/experiments/web"
	"tcpwheel/experiments/wheels"
)

// Group is a study with its parts. A part has a plan, a folder and a name of its own, so it also runs
// alone.
type Group struct {
	Name, Question string
	Parts          []*experiments.Study
}

// Groups returns all studies, the most important first.
func Groups() []Group {
	group := func(parts ...*experiments.Study) Group {
		return Group{parts[0].Name, parts[0].Question(), parts}
	}
	return []Group{
		group(granularity.Study),
		group(vegas.Study, vegas.TableIV, vegas.OneOnOne),
		group(frontier.RoundTrips, frontier.Study),
		group(paths.Study), group(spike.Study), group(delack.Study),
		group(incast.Study, incast.CMU, comb.Study), group(datacentre.Study),
		group(pacing.Study), group(tailmap.Study), group(web.Study), group(shrew.Study),
		group(counterfactual.Field, counterfactual.Study),
		{"paper", "Do the claims of the paper on timing wheels hold?", []*experiments.Study{wheels.OrderedList,
			wheels.Fig9, wheels.Hierarchy, wheels.Hashing, wheels.Nichols, wheels.Interrupts, wheels.Locks,
			wheels.Expiry, wheels.Advice}},
		group(sweep.Study), // the user's own study
	}
}

// Studies returns the parts of all studies.
func Studies() (all []*experiments.Study) {
	for _, g := range Groups() {
		all = append(all, g.Parts...)
	}
	return all
}

// Parts returns the parts of the study of that name, or the part of that name or ID alone.
func Parts(name string) []*experiments.Study {
	for _, g := range Groups() {
		if g.Name == name {
			return g.Parts
		}
	}
	if s := Find(name); s != nil {
		return []*experiments.Study{s}
	}
	return nil
}

// Find returns the part of that name or ID, or nil.
func Find(name string) *experiments.Study {
	for _, s := range Studies() {
		if s.Name == name || s.ID == name {
			return s
		}
	}
	return nil
}
