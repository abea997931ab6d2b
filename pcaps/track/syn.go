package track

import (
	"fmt"
	"slices"

	"tcpwheel/tcptimers"
)

// SYNTimeouts is the sequence of timeouts by which a host retransmits its SYN.
type SYNTimeouts uint8

const (
	SYNUnknown  SYNTimeouts = iota // too few retransmissions, or another sequence
	SYNDoubling                    // 1, 2, 4, 8 s: RFC 6298 §5 (5.5), and Linux before 6.5
	// 1, 1, 1, 1, 1, 2, 4, 8 s: Linux since 6.5 (tcp_syn_linear_timeouts), and FreeBSD's
	// tcp_syn_backoff.
	SYNLinear

	synForms = int(iota)
)

var synTimeoutsNames = [synForms]string{"", "doubling", "linear"}

// String returns "doubling", "linear", or "" if unknown.
func (s SYNTimeouts) String() string {
	if int(s) >= synForms {
		return fmt.Sprintf("SYNTimeouts(%d)", uint8(s))
	}
	return synTimeoutsNames[s]
}

// MarshalText returns the name.
func (s SYNTimeouts) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Apply sets p's SYN timeouts to s. It changes nothing if s is SYNUnknown.
func (s SYNTimeouts) Apply(p *tcptimers.Policy) {
	if s != SYNUnknown {
		p.SetSynLinear(s == SYNLinear)
	}
}

// synFitting compares Linux's two sequences with a flow's SYN retransmissions.
type synFitting struct {
	n     int // SYN retransmissions
	score [synForms]float64
}

// add scores a SYN retransmission. It returns the change of the better sequence's score.
func (m *synFitting) add(linux *timerModel, r *Retransmission) float64 {
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
		m.score[form] += linux.logDensity(r.PrevSent.Add(est.RTO()), r.Sent, est.RTO())
	}
	m.n++
	return m.best() - before
}

func (m *synFitting) best() float64 { return slices.Max(m.score[SYNDoubling:]) }

// result returns the sequence that fits, if one clearly does.
func (m *synFitting) result() SYNTimeouts {
	more := m.score[SYNLinear] - m.score[SYNDoubling]
	switch {
	case m.best() < leastPerGap*float64(m.n):
		return SYNUnknown
	case more > probeMargin:
		return SYNLinear
	case more < -probeMargin:
		return SYNDoubling
	}
	return SYNUnknown
}
