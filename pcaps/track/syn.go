package track

import (
	"fmt"
	"slices"

	"tcpwheel/tcptimers"
)

// SYNTimeouts is how the timeouts follow each other by which a host sends the SYN of an active open again.
type SYNTimeouts uint8

const (
	SYNUnknown  SYNTimeouts = iota // too few were sent again to tell, or in neither way
	SYNDoubling                    // 1, 2, 4, 8 s: RFC 6298 §5 (5.5), and Linux before 6.5
	SYNLinear                      // 1, 1, 1, 1, 1, 2, 4, 8 s: Linux since 6.5 (tcp_syn_linear_timeouts), and FreeBSD's tcp_syn_backoff

	synForms = int(iota)
)

var synTimeoutsNames = [synForms]string{"", "doubling", "linear"}

// String returns "doubling", "linear", or "" for what is not told.
func (s SYNTimeouts) String() string {
	if int(s) >= synForms {
		return fmt.Sprintf("SYNTimeouts(%d)", uint8(s))
	}
	return synTimeoutsNames[s]
}

// Apply has a policy send SYNs again in that way, and leaves it as it is where nothing is told.
func (s SYNTimeouts) Apply(p *tcptimers.Policy) {
	if s != SYNUnknown {
		p.Switch("synlinear", s == SYNLinear)
	}
}

// synFitting tries Linux's timeouts of SYNs, of both ways, on those of a flow that were sent again.
type synFitting struct {
	n     int // how many were
	score [synForms]float64
}

// again takes in a SYN that was sent again, and returns how much likelier it has made Linux's timers, by the way that explains the SYNs of the
// flow better.
func (m *synFitting) again(linux *timerModel, r *Retransmission) float64 {
	before := m.best()
	for form := SYNDoubling; int(form) < synForms; form++ {
		p := linux.policy
		form.Apply(&p)
		est := p.NewEstimator()
		for rexmits := range m.n {
			if p.BacksOffSyn(rexmits) {
				est.Backoff()
			}
		}
		m.score[form] += linux.likely(r.PrevSent.Add(est.RTO()), r.Sent, est.RTO())
	}
	m.n++
	return m.best() - before
}

func (m *synFitting) best() float64 { return slices.Max(m.score[SYNDoubling:]) }

// told returns in which way the SYNs were sent again.
func (m *synFitting) told() SYNTimeouts {
	more := m.score[SYNLinear] - m.score[SYNDoubling]
	switch {
	case m.best() < unexplained*float64(m.n):
		return SYNUnknown
	case more > clearly:
		return SYNLinear
	case more < -clearly:
		return SYNDoubling
	}
	return SYNUnknown
}
