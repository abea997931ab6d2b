package tcptimers

import (
	"fmt"
	"time"

	"tcpwheel/internal/setting"
)

// Composites implements setting.Composer.
func (*Policy) Composites() []setting.Composite {
	return []setting.Composite{
		setting.Derive("rto-floor", `min:"1us" max:"24h" help:"rto-min, and with the estimator rfc6298 also var-min"`, (*Policy).SetFloor),
		setting.Derive("synlinear", `help:"syn-linear-timeouts: on is 4, as in Linux since 6.5; off is 0"`, (*Policy).SetSynLinear),
	}
}

// SetSynLinear sets SynLinearTimeouts as in Linux since 6.5, or as in other stacks.
func (p *Policy) SetSynLinear(on bool) {
	p.SynLinearTimeouts = 0
	if on {
		p.SynLinearTimeouts = LinuxSynLinearTimeouts
	}
}

// Switches returns the names of the settings of a Policy that are on or off.
func Switches() []string { return setting.Switches(Policy{}) }

// ParsePolicy reads a policy by its name, and changes to it:
//
//	NAME[@TICK] [KEY=VALUE] [+SWITCH] [-SWITCH] ...
//
// as in "linux@10ms rto-min=20ms -tlp", or "linux@10ms+rto-min=20ms-tlp". NAME is one of Names,
// TICK is the tick of expiry, and KEY and SWITCH are the settings of Policy, which setting.All
// lists. See setting.Words. Policy.Name becomes text. The error says what is accepted.
func ParsePolicy(text string) (Policy, error) {
	name, changes, err := setting.Words(text, Policy{})
	if err != nil {
		return Policy{}, fmt.Errorf("tcptimers: policy %w", err)
	}
	p, err := NewPolicy(name)
	if err == nil {
		err = p.Change(text, changes)
	}
	if err != nil {
		return Policy{}, err
	}
	return p, nil
}

// Change makes changes to p, whose name becomes text, and checks it.
func (p *Policy) Change(text string, changes []setting.Change) error {
	p.Name = text
	err := setting.Apply(p, changes)
	if err == nil && len(changes) > 0 {
		err = p.Check()
	}
	if err != nil {
		return fmt.Errorf("tcptimers: policy %q: %w", text, err)
	}
	return nil
}

// ExactTick is the finest tick of a policy, called "exact".
const ExactTick time.Duration = minTick
