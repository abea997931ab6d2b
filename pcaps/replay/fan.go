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
}

func newFan(group []*contender) *fan {
	f := &fan{}
	for _, c := range group {
		p := c.decider.policy()
		f.all, f.policies = append(f.all, p.NewEstimator()), append(f.policies, p)
	}
	f.Estimator = f.all[0]
	return f
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
