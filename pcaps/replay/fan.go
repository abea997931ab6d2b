package replay

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// fan hands the round trips of one connection to the estimators of several policies. It is the
// estimator of an end that follows a tape, whose own timeout nothing waits for.
type fan struct {
	tcptimers.Estimator // the first one's, for all but samples
	now                 wheel.Time
	all                 []tcptimers.Estimator
	policies            []tcptimers.Policy
	expired             []expiry // by policy
	resent              wheel.Time
}

// expiry is what a policy's own timer would have done while the captured sender waited.
type expiry struct {
	last wheel.Time // when it expired last
	syn  bool       // waiting for the handshake
}

func newFan(group []*contender) *fan {
	f := &fan{}
	for _, c := range group {
		p := c.decider.policy()
		f.all, f.policies = append(f.all, p.NewEstimator()), append(f.policies, p)
	}
	f.Estimator = f.all[0]
	f.expired = make([]expiry, len(f.all))
	return f
}

// retransmitted hears of a captured retransmission at now, of what waited since then. RFC 6298 §5
// (5.5): a policy backs off once if its own timer would have expired by now.
func (f *fan) retransmitted(now, since wheel.Time, syn bool) {
	if now == f.resent {
		return // another segment of one burst
	}
	f.resent = now
	for i, est := range f.all {
		x := &f.expired[i]
		due := max(since, x.last).Add(est.RTO())
		if early := max(f.policies[i].Tick, sameInstant); due.After(now.Add(early)) {
			continue
		}
		x.last, x.syn = due, x.syn || syn
		est.Backoff()
	}
}

// opened hears that the handshake is complete.
func (f *fan) opened() {
	for i, est := range f.all {
		if f.expired[i].syn {
			est.SynTimedOut()
		}
	}
}

// Sample implements tcptimers.Estimator: each policy measures with its own clock.
func (f *fan) Sample(s tcptimers.Sample) {
	rtt := s.RTT
	for i, est := range f.all {
		s.RTT = f.policies[i].Measure(f.now.Add(-rtt), f.now)
		est.Sample(s)
	}
}

// Spurious implements tcptimers.Estimator: to a follower no timeout is spurious.
func (f *fan) Spurious(rtt time.Duration) {
	f.Sample(tcptimers.Sample{RTT: rtt, Round: true, Expected: 1})
}

// measuring returns what ends measure that follow a tape for a policy. Policies for which it is the
// same can share a follower.
func measuring(p tcptimers.Policy) tcptimers.Policy {
	m := tcptimers.MustPolicy("per-segment")
	m.RTTTick, m.OneSample = 0, p.OneSample
	m.SACKsFirst, m.ReorderedDSACKs = p.SACKsFirst, p.ReorderedDSACKs
	return m
}
