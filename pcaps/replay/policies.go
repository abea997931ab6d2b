package replay

import (
	"fmt"
	"slices"
	"strings"

	"tcpwheel/internal/setting"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
)

// Control is the name that users see of the replay with the captured retransmission times, to which
// the policies are compared.
const Control = "control"

// Captured is the name of the timers that explain a capture best, which are others for each
// connection.
const Captured = "captured"

// DefaultPolicies are what a study tries if it is told nothing else: the captured timers as a model
// has them, then those of known stacks and of this project's, the latter at several ticks.
func DefaultPolicies() []string {
	return []string{
		Captured, "linux", "rfc6298", "rfc7765", "per-segment@exact", "per-segment@1ms", "per-segment@10ms", "per-segment@100ms",
		"per-segment@500ms", "bsd",
	}
}

// PolicyNames returns the names that may begin the text of a policy.
func PolicyNames() []string {
	names := []string{Captured}
	for _, more := range [][]string{tcptimers.Names(), track.ModelNames()} {
		for _, name := range more {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Choice is a policy by its text, which is that of tcptimers.ParsePolicy with the names of
// PolicyNames, as in "captured rto-min=20ms" and "per-segment@10ms-tlp". ParseChoice makes one that
// is good for use.
type Choice struct {
	Text    string
	name    string
	changes []setting.Change
	own     *tcptimers.Policy // of NewChoice
}

// NewChoice returns a choice of a policy that no text names, under a name. The policy must pass its
// Check.
func NewChoice(name string, p tcptimers.Policy) Choice {
	p.Name = name
	return Choice{Text: name, name: name, own: &p}
}

// ParseChoice reads the text of a policy. Its error names what is wrong.
func ParseChoice(text string) (Choice, error) {
	c := Choice{Text: text}
	var err error
	if c.name, c.changes, err = setting.Words(text, tcptimers.Policy{}); err != nil {
		return c, fmt.Errorf("policy %w", err)
	}
	if !slices.Contains(PolicyNames(), c.name) {
		return c, fmt.Errorf("policy %q, want one of %s", c.name, strings.Join(PolicyNames(), ", "))
	}
	_, _, err = c.policy("linux", track.SYNUnknown)
	return c, err
}

// Timers returns the policy. The captured timers, which are others for each connection, are Linux's
// here.
func (c *Choice) Timers() tcptimers.Policy {
	p, _, err := c.policy("linux", track.SYNUnknown)
	if err != nil {
		panic("BUG: " + err.Error()) // ParseChoice has checked it
	}
	return p
}

// of returns the policy for a connection. ok is false if it is that of the captured timers, and
// they are not known.
func (c *Choice) of(r *Result) (p tcptimers.Policy, ok bool, err error) {
	if c.name == Captured && r.Fitted != nil {
		p = *r.Fitted
		err = p.Change(c.Text, c.changes)
		return p, true, err
	}
	return c.policy(r.Model, r.SYNs)
}

// policy makes the policy. model is what means captured timers, and syns how these, and those
// of linux-jiffies, retransmit SYNs. ok is false if the captured timers are wanted and there is no
// model of them.
func (c *Choice) policy(model string, syns track.SYNTimeouts) (p tcptimers.Policy, ok bool, err error) {
	if c.own != nil {
		return *c.own, true, nil
	}
	name := c.name
	if name == Captured {
		name = model
	}
	switch {
	case name == "":
		return p, false, nil
	case c.name == Captured && name == "linux":
		p, err = tcptimers.NewPolicy("linux-jiffies")
	case c.name == Captured || !slices.Contains(tcptimers.Names(), name):
		if p, ok = track.ModelPolicy(name); !ok {
			err = fmt.Errorf("no timers are known as %q", name)
		}
	default:
		p, err = tcptimers.NewPolicy(name)
	}
	if err != nil {
		return p, false, err
	}
	// whose ticks are those of the captured host, too
	if c.name == Captured || p.Phase == tcptimers.PhaseJiffies {
		syns.Apply(&p)
	}
	err = p.Change(c.Text, c.changes)
	return p, err == nil, err
}
