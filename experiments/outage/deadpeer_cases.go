package outage

import (
	"fmt"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// activity is what a connection does when its peer dies.
type activity uint8

const (
	idle    activity = iota // nothing, with keepalive
	data                    // data is in flight
	opening                 // there never was a peer
)

// death is a case: a TCP, and the timer that notices.
type death struct {
	name     string
	short    string // in the diagram
	activity activity
	timers   testbed.Timers
	idle     time.Duration // of keepalive
	each     time.Duration
	count    int
	user     time.Duration // the user timeout; 0 is none
	bare     bool          // gVisor's TCP, without RACK and its probe
}

const noProbes = " -tlp -rack control=newreno"

func deaths(p *deadPlan) (all []death) {
	keep := func(name, short, timers string, idle, each time.Duration, count int) {
		all = append(all, death{name: "keepalive, " + name, short: short,
			timers: testbed.MustTimers(timers + noProbes), idle: idle, each: each, count: count})
	}
	keep("4.4BSD", "4.4BSD idle", "bsd", 2*time.Hour, 75*time.Second, 8)
	keep("Linux and gVisor", "Linux idle", "linux", 2*time.Hour, 75*time.Second, 9)
	for _, tick := range p.Ticks {
		keep(fmt.Sprintf("fast, tick of %v", tick), "fast", "per-segment@"+tick.String(), p.FastIdle, p.FastInterval,
			p.FastCount)
	}
	for _, user := range p.UserTimeouts {
		all = append(all, death{name: fmt.Sprintf("user timeout of %v", user), short: fmt.Sprintf("user %v", user),
			activity: data, timers: testbed.MustTimers("per-segment" + noProbes), user: user})
	}
	for _, policy := range []struct{ name, timers string }{{"4.4BSD", "bsd"}, {"Linux", "linux"}, {"default",
		"per-segment"}} {
		tm := testbed.MustTimers(policy.timers + noProbes)
		all = append(all, death{name: "R2, " + policy.name, short: "R2 " + policy.name, activity: data, timers: tm},
			death{name: "SYN, " + policy.name, short: "SYN " + policy.name, activity: opening, timers: tm})
	}
	return all
}

// config returns the configuration of the connection.
func (d *death) config() tcp.Config {
	cfg := d.timers.Config()
	if d.activity == idle {
		cfg.Socket.Keepalive, cfg.Socket.KeepIdle, cfg.Socket.KeepInterval, cfg.Socket.KeepCount = true, d.idle,
			d.each, d.count
	}
	cfg.Socket.UserTimeout = d.user
	return cfg
}

// countdown reports whether timers count ticks down, which makes them early by a share of a tick.
func (d *death) countdown() bool { return d.timers.Policy.Phase == tcptimers.PhaseCountdown }

// rule returns how long the connection should live from start, when its timeout is rto. It is exact
// if ok; otherwise a share of a tick is added.
func (d *death) rule(start wheel.Time, rto time.Duration) (life time.Duration, ok bool) {
	p := &d.timers.Policy
	switch {
	case d.activity == idle:
		return d.idle + time.Duration(d.count)*d.each, false
	case d.user > 0:
		return d.user, false
	case d.activity == opening:
		return p.R2Syn(true), false
	}
	// RFC 6298 §5 (5.5): the timeout doubles at each expiry, up to the ceiling. It is the last at R2,
	// or after the policy's number of retransmissions.
	at := start
	for n := 0; ; n++ {
		at = p.Deadline(at, rto)
		if p.GivesUp(at, start, n) {
			return at.Sub(start), true
		}
		rto = min(2*rto, p.Bounds.Max)
	}
}
