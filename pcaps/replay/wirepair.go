package replay

import (
	"cmp"
	"slices"
	"time"
)

// WirePair is a transmission of the captured end, and that of the engine of the same bytes, the
// same time over.
type WirePair struct {
	Want, Got *Event // nil if the captured end, or the engine, has not sent it
	Try       int    // 1 for a first transmission
}

// Off returns how much later the engine was than the captured end, below 0 if it was sooner. ok is
// false if one of them has not sent it.
func (p *WirePair) Off() (later time.Duration, ok bool) {
	if p.Want == nil || p.Got == nil {
		return 0, false
	}
	return p.Got.At.Sub(p.Want.At), true
}

// Right reports whether the engine sent it within 1 ms of when the captured end did.
func (p *WirePair) Right() bool {
	later, ok := p.Off()
	return ok && later.Abs() <= sameInstant
}

// Pairs returns all transmissions of bytes, SYN and FIN: the ones that were captured in their
// order, and then what only the engine has sent.
func (o *WireOutcome) Pairs() (all []WirePair) {
	type key struct {
		start uint64
		try   int
	}
	sent := map[key]*Event{}
	tries := map[uint64]int{}
	for i := range o.Got {
		if e := &o.Got[i]; e.End > e.Start {
			tries[e.Start]++
			sent[key{e.Start, tries[e.Start]}] = e
		}
	}
	clear(tries)
	for i := range o.Want {
		e := &o.Want[i]
		if e.End == e.Start {
			continue
		}
		tries[e.Start]++
		k := key{e.Start, tries[e.Start]}
		all = append(all, WirePair{Want: e, Got: sent[k], Try: k.try})
		delete(sent, k)
	}
	captured := len(all)
	for k, e := range sent {
		all = append(all, WirePair{Got: e, Try: k.try})
	}
	slices.SortFunc(all[captured:], func(a, b WirePair) int {
		return cmp.Or(cmp.Compare(a.Got.At, b.Got.At), cmp.Compare(a.Got.Start, b.Got.Start), a.Try-b.Try)
	})
	return all
}
