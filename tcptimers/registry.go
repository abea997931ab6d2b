package tcptimers

import (
	"fmt"
	"slices"
	"strings"
)

// entry is a policy or a profile in the registry.
type entry struct {
	name string
	make func() Policy
}

// The registry of policies and profiles. Nothing else in the module maps names to policies.
var (
	policies = []entry{
		{"per-segment", internet},
		{"rfc6298", func() Policy { return oneTimer(RexmitRestart) }},
		{"rfc7765", func() Policy { return oneTimer(RexmitRTORestart) }},
		{"bsd", bsd44},
		{"linux", linuxPolicy},
	}
	profiles = []entry{
		{"internet", internet},
		{"datacenter", datacenter},
		{"linux", linuxPolicy},
		{"linux-jiffies", linuxJiffies},
		{"bsd", bsd44},
	}
)

// DefaultPolicy is the policy of programs that choose none: a timer for each segment.
const DefaultPolicy = "per-segment"

// PolicyNames returns the names that NewPolicy accepts, the default first.
func PolicyNames() []string { return namesOf(policies) }

// ProfileNames returns the names that NewProfile accepts.
func ProfileNames() []string { return namesOf(profiles) }

// Names returns the names that ParsePolicy accepts: the policies, then the profiles with other
// names.
func Names() []string { return append(PolicyNames(), otherProfiles()...) }

// otherProfiles returns the names of the profiles that are not also policies.
func otherProfiles() []string {
	return slices.DeleteFunc(ProfileNames(), func(name string) bool { return find(policies, name) != nil })
}

func namesOf(entries []entry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	return names
}

// find returns the entry of that name, or nil.
func find(entries []entry, name string) *entry {
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
	if i < 0 {
		return nil
	}
	return &entries[i]
}

// policy makes the policy of e under its name.
func (e *entry) policy() Policy {
	p := e.make()
	p.Name = e.name
	return p
}

// NewPolicy makes the named policy. Policies differ in what arms the retransmission timer.
//
//	per-segment   a timer per segment: the profile "internet"
//	rfc6298       one timer, RFC 6298 to the letter: floor of 1 s, no RACK, TLP or F-RTO
//	rfc7765       the same with RTO restart
//	bsd, linux    the profiles of these names
func NewPolicy(name string) (Policy, error) {
	if e := find(policies, name); e != nil {
		return e.policy(), nil
	}
	return Policy{}, fmt.Errorf("tcptimers: unknown policy %q, want one of %s", name, strings.Join(PolicyNames(), ", "))
}

// MustPolicy is NewPolicy for constant names. It panics if no policy has that name.
func MustPolicy(name string) Policy {
	p, err := NewPolicy(name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return p
}

// NewProfile makes a policy with all its knobs set for a kind of network, or as in a known stack.
//
//	name           timers        RTO                                   tick            ACK delay
//	internet       per segment   SRTT + max(50 ms, 4·RTTVAR), ≤ 60 s   1 ms            40 ms
//	datacenter     per segment   SRTT + max(5 ms, 4·RTTVAR), ≤ 60 s    10 µs           1 to 4 ms
//	linux          one           SRTT + max(200 ms, 4·RTTVAR) ≤ 120 s  4 ms            40 to 200 ms
//	linux-jiffies  as linux, with expiry by the kernel's own wheel: see PhaseJiffies
//	bsd            one           3 ticks and more, ≤ 64 s              500 ms, swept   to the next 200 ms
func NewProfile(name string) (Policy, error) {
	if e := find(profiles, name); e != nil {
		return e.policy(), nil
	}
	return Policy{}, fmt.Errorf("tcptimers: unknown profile %q, want one of %s", name, strings.Join(ProfileNames(), ", "))
}
