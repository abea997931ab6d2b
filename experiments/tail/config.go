package tail

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp"
)

// Config says what to measure.
type Config struct {
	RTT       time.Duration // of the path, 1 ms to 1 s
	Count     int           // connections of each run, 1 to 1000
	Segments  []int         // sizes of the response, 1 to 10 each: at most a first window
	Senders   []string      // GVisor, Linux, or names that Ours returned
	DelayAcks bool          // the client also delays the ACKs of the response that counts
	Virtual   bool          // in virtual time, without Linux
	Capture   *Capture      // of the packets of the runs with losses; may be nil
}

// Senders other than this module's TCP.
const (
	GVisor = "gvisor"
	Linux  = "linux"
	ours   = "ours "
)

// Ours returns the name of this module's TCP with a configuration, as tcp.ParseConfig reads it.
func Ours(policy string) string { return ours + policy }

const (
	warm         = 8    // responses before the one that counts
	delayed      = 8    // responses of a control run with delayed ACKs
	segmentBytes = 1400 // per segment of a response: less than any TCP here puts into one
	port         = 80
)

// Check returns an error that names the first invalid field, its value and the bound.
func (c *Config) Check() error {
	if c.RTT < time.Millisecond || c.RTT > time.Second {
		return fmt.Errorf("round-trip time %v, want 1ms to 1s", c.RTT)
	}
	if c.Count < 1 || c.Count > 1000 {
		return fmt.Errorf("count %d, want 1 to 1000", c.Count)
	}
	if len(c.Segments) == 0 {
		return fmt.Errorf("no size of a response, want at least one")
	}
	for _, n := range c.Segments {
		if n < 1 || n > 10 {
			return fmt.Errorf("response of %d segments, want 1 to 10", n)
		}
	}
	if len(c.Senders) == 0 {
		return fmt.Errorf("no sender, want at least one")
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

// policyOf returns the policy in a name that Ours returned.
func policyOf(sender string) string { return strings.TrimPrefix(sender, ours) }

func (c *Config) checkSender(s string) error {
	switch policy, ok := strings.CutPrefix(s, ours); {
	case ok:
		_, err := protocol(policy)
		return err
	case s == Linux && c.Virtual:
		return fmt.Errorf("sender %s in virtual time, want gvisor or a policy of ours", s)
	case s != GVisor && s != Linux:
		return fmt.Errorf("sender %q, want %s, %s or a policy of ours", s, GVisor, Linux)
	}
	return nil
}

// protocol returns the configuration of this module's TCP with a policy.
func protocol(text string) (netstack.Config, error) {
	if name, floor, old := strings.Cut(text, ":"); old && !strings.ContainsAny(name, " =") {
		return netstack.Config{}, fmt.Errorf("policy %q, want %s+rto-floor=%s", text, name, floor)
	}
	c, err := tcp.ParseConfig(text)
	return netstack.Config{Conn: c}, err
}
