package tcptimers

import (
	"fmt"
	"strings"
)

// registry has the policies by name. Nothing else in the module maps names to policies.
var registry = []struct {
	name string
	make func() Policy
}{
	{"per-segment", internet},
	{"rfc6298", func() Policy { return oneTimer(RexmitRestart) }},
	{"rfc7765", func() Policy { return oneTimer(RexmitRTORestart) }},
	{"bsd", bsd44},
	{"linux", linuxPolicy},
	{"internet", internet},
	{"datacenter", datacenter},
	{"linux-jiffies", linuxJiffies},
	{"lwip", lwipPolicy},
}

// DefaultPolicy is the policy of programs that choose none: a timer for each segment.
const DefaultPolicy = "per-segment"

// Names returns the names that NewPolicy accepts, the default first.
func Names() (names []string) {
	for _, e := range registry {
		names = append(names, e.name)
	}
	return names
}

// PolicyNames returns those of Names that differ in what arms the retransmission timer. The others
// set the knobs of one of them for a kind of network, or as in a kernel.
func PolicyNames() []string { return Names()[:5] }

// NewPolicy makes the named policy.
//
//	name                   timers        RTO                                   tick            ACK delay
//	per-segment, internet  per segment   SRTT + max(50 ms, 4·RTTVAR), ≤ 60 s   1 ms            40 ms
//	datacenter             per segment   SRTT + max(5 ms, 4·RTTVAR), ≤ 60 s    10 µs           1 to 4 ms
//	rfc6298                one           RFC 6298's, 1 s to 60 s               1 ms            40 ms
//	rfc7765                the same with RTO restart
//	linux                  one           SRTT + max(200 ms, 4·RTTVAR) ≤ 120 s  4 ms            40 to 200 ms
//	linux-jiffies          as linux, with expiry by the kernel's own wheel: see PhaseJiffies
//	bsd                    one           3 ticks and more, ≤ 64 s              500 ms, swept   to the next 200 ms
//	lwip                   one           3 ticks and more, no ceiling          500 ms, swept   to the next 250 ms
//
// The two of RFCs have no RACK, TLP or F-RTO.
func NewPolicy(name string) (Policy, error) {
	for _, e := range registry {
		if e.name == name {
			p := e.make()
			p.Name = name
			return p, nil
		}
	}
	return Policy{}, fmt.Errorf("tcptimers: unknown policy %q, want one of %s", name, strings.Join(Names(), ", "))
}

// MustPolicy is NewPolicy for constant names. It panics if no policy has that name.
func MustPolicy(name string) Policy {
	p, err := NewPolicy(name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return p
}

// nameOf returns the name of an enumeration's value, or its number.
func nameOf[T ~uint8](of string, names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", of, uint8(v))
}
