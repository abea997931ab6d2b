package lanes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/base/quantity"
)

// Conditions is what all lanes have in common. An action may change it at any time.
type Conditions struct {
	Delay  time.Duration // one way, 0 to 2 s
	Rate   sim.LinkRate  // of each direction: 1e5 to 1e9 bit/s, or a trace
	Loss   float64       // of data packets, 0 to 0.5
	Burst  int           // neighbouring segments that share a fate, 1 to 20
	Tick   time.Duration // of timers, 0 for each policy's own; not for bsd and gVisor
	Floor  time.Duration // on the RTO, 0 for each policy's own; not for bsd
	DelAck time.Duration // delay of ACKs, 0 for each policy's own; not for bsd and gVisor
}

// DefaultConditions returns 20 ms one way, 10 Mbit/s and 2 % loss.
func DefaultConditions() Conditions {
	return Conditions{Delay: 20 * time.Millisecond, Rate: sim.LinkRate{Fixed: 10e6}, Loss: 0.02, Burst: 1}
}

// Set changes one field by its name in lower case. The error says what is accepted.
func (c *Conditions) Set(name, text string) (err error) {
	span := func(to *time.Duration, least, most time.Duration) error {
		d, err := quantity.ParseDuration(text)
		if err != nil || d != 0 && d < least || d > most {
			return fmt.Errorf("%s: %q, want 0 or a duration from %v to %v", name, text, least, most)
		}
		*to = d
		return nil
	}
	switch name {
	case "delay":
		return span(&c.Delay, time.Microsecond, 2*time.Second)
	case "tick":
		return span(&c.Tick, 10*time.Microsecond, 500*time.Millisecond)
	case "floor":
		return span(&c.Floor, time.Millisecond, time.Minute)
	case "delack":
		return span(&c.DelAck, time.Millisecond, 500*time.Millisecond)
	case "rate":
		rate, err := sim.ParseLinkRate(text)
		if strings.HasPrefix(text, "trace:") && err != nil {
			return fmt.Errorf("rate: %w", err)
		}
		if err != nil || rate.Trace == nil && (rate.Fixed < 1e5 || rate.Fixed > 1e9) {
			return fmt.Errorf("rate: %q, want 100kbit to 1Gbit, or trace:FILE", text)
		}
		c.Rate = rate
	case "loss":
		p, err := quantity.ParseProbability(text)
		if err != nil || p > 0.5 {
			return fmt.Errorf("loss: %q, want a probability from 0 to 0.5, such as 0.02 or 2%%", text)
		}
		c.Loss = p
	case "burst":
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 20 {
			return fmt.Errorf("burst: %q, want 1 to 20 segments", text)
		}
		c.Burst = n
	default:
		return fmt.Errorf("no condition %q: want delay, rate, loss, burst, tick, floor, delack, drop or tail", name)
	}
	return nil
}

// policy returns the policy of a lane under the conditions.
func (c *Conditions) policy(text string) (tcptimers.Policy, error) {
	p, err := tcptimers.ParsePolicy(text)
	if err != nil {
		return p, fmt.Errorf("%w, or gvisor", err)
	}
	if strings.HasPrefix(text, "bsd") {
		return p, nil // its ticks and floor are what it is there to show
	}
	if c.Tick > 0 {
		p.Tick = c.Tick
	}
	if c.Floor > 0 {
		p.Bounds.Min = c.Floor
	}
	if c.DelAck > 0 {
		p.DelAck.Heartbeat, p.DelAck.Quick = 0, 0
		p.DelAck.Delay, p.DelAck.Min, p.DelAck.Max = c.DelAck, c.DelAck, c.DelAck
	}
	return p, nil
}
