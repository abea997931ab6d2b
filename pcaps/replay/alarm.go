package replay

import (
	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// network is the clock of a run.
type network = sim.Network[struct{}]

// alarm is a timer of a run that may be moved. It is made when it is first set.
type alarm struct {
	do    func(now wheel.Time)
	timer wheel.Timer
	made  bool     // the timer exists
	frees *network // the run to which expiry returns the timer; nil: it is kept
}

// Expire implements sim.Handler.
func (a *alarm) Expire(now wheel.Time) {
	if a.frees != nil {
		a.frees.FreeTimer(a.timer)
	}
	a.do(now)
}

// set has the alarm expire at an instant, and no longer at another one.
func (a *alarm) set(net *network, at wheel.Time) {
	if !a.made {
		a.timer, a.made = net.NewTimer(a), true
	}
	net.StartTimer(a.timer, at)
}

// stop has the alarm not expire.
func (a *alarm) stop(net *network) {
	if a.made {
		net.StopTimer(a.timer)
	}
}

// once has something happen in a run at an instant, once.
func once(net *network, at wheel.Time, do func(now wheel.Time)) {
	a := &alarm{do: do, frees: net}
	a.set(net, at)
}
