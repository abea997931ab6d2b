package tail

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// Config says what to measure.
type Config struct {
	RTT       time.Duration // of the path, 1 ms to 1 s
	Count     int           // connections of each run, 1 to 1000
	Segments  []int         // sizes of the response, 1 to 10 each: what a first window holds
	Senders   []string      // Ours with a policy, GVisor, Linux: see ParseSender
	DelayAcks bool          // the client puts off the ACKs of the response that counts too
	Virtual   bool          // in virtual time, which Linux is not to be had in
}

// Senders that are no policy of ours.
const (
	GVisor = "gvisor"
	Linux  = "linux"
	ours   = "ours "
)

// Ours returns the name of our TCP with a timer policy or profile, which may be followed by a colon and another floor on
// the variation of the timeout, as in "per-segment:20ms".
func Ours(policy string) string { return ours + policy }

const (
	warm    = 8    // responses before the one that counts
	delayed = 8    // responses of a control run whose ACKs are put off
	octets  = 1400 // of a response for each segment of it: less than any TCP here puts into one
	port    = 80
)

// Check returns an error that names the first field that cannot be, its value and the bound.
func (c *Config) Check() error {
	if c.RTT < time.Millisecond || c.RTT > time.Second {
		return fmt.Errorf("round-trip time %v, want 1ms to 1s", c.RTT)
	}
	if c.Count < 1 || c.Count > 1000 {
		return fmt.Errorf("count %d, want 1 to 1000", c.Count)
	}
	if len(c.Segments) == 0 {
		return fmt.Errorf("no size of a response, want one at least")
	}
	for _, n := range c.Segments {
		if n < 1 || n > 10 {
			return fmt.Errorf("response of %d segments, want 1 to 10", n)
		}
	}
	if len(c.Senders) == 0 {
		return fmt.Errorf("no sender, want one at least")
	}
	for i, s := range c.Senders {
		if slices.Contains(c.Senders[:i], s) {
			return fmt.Errorf("sender %q twice", s)
		}
		if err := c.checkSender(s); err != nil {
			return err
		}
	}
	return nil
}

// policyOf returns the policy of a name that Ours returned.
func policyOf(sender string) string { return strings.TrimPrefix(sender, ours) }

func (c *Config) checkSender(s string) error {
	switch policy, ok := strings.CutPrefix(s, ours); {
	case ok:
		_, err := protocol(policy)
		return err
	case s == Linux && c.Virtual:
		return fmt.Errorf("sender %s in virtual time, want gvisor or one of ours", s)
	case s != GVisor && s != Linux:
		return fmt.Errorf("sender %q, want %s, %s or one of ours", s, GVisor, Linux)
	}
	return nil
}

// protocol returns the configuration of our TCP with a policy, whose invariants are not checked.
func protocol(name string) (cfg netstack.Config, err error) {
	name, floor, hasFloor := strings.Cut(name, ":")
	p, err := tcptimers.ParsePolicy(name)
	if err != nil {
		return cfg, err
	}
	if hasFloor {
		d, err := sim.ParseDuration(floor)
		if err != nil || d < time.Microsecond {
			return cfg, fmt.Errorf("floor %q of policy %s, want a time from 1µs on", floor, name)
		}
		p.Bounds.Min = d
		if p.Estimator == tcptimers.EstimatorRFC6298 {
			p.VarMin = d
		}
	}
	if err := p.Check(); err != nil {
		return cfg, err
	}
	return netstack.Config{Conn: tcp.DefaultConfig(p)}, nil
}
