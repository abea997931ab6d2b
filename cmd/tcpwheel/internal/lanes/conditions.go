package lanes

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/sim"
	"tcpwheel/tcptimers"
)

// Conditions is what all lanes have in common. An action may change it at any time. Its fields are
// settings.
type Conditions struct {
	Delay time.Duration `set:"delay" zero:"ok" min:"1us" max:"2s" help:"one-way delay (default 20ms)"`
	Rate  sim.LinkRate  `set:"rate" help:"rate of the link, or trace:FILE (default 10Mbit)"`
	Loss  float64       `set:"loss" unit:"probability" max:"0.5" help:"loss of data packets (default 2%)"`
	Burst int           `set:"burst" min:"1" max:"20" help:"neighbouring segments that are lost together (default 1)"`

	// These are 0 for each policy's own, and not for bsd. Only Floor is for gVisor, too.
	Tick   time.Duration `set:"tick" zero:"ok" min:"10us" max:"500ms" help:"granularity of timers (default: the policy's)"`
	Floor  time.Duration `set:"floor" zero:"ok" min:"1ms" max:"1m" help:"RTO floor (default: the policy's)"`
	DelAck time.Duration `set:"delack" zero:"ok" min:"1ms" max:"500ms" help:"delay of ACKs (default: the policy's)"`
}

// DefaultConditions returns 20 ms one way, 10 Mbit/s and 2 % loss.
func DefaultConditions() Conditions {
	return Conditions{Delay: 20 * time.Millisecond, Rate: sim.LinkRate{Fixed: 10e6}, Loss: 0.02, Burst: 1}
}

// Set changes one field by its name in lower case. The error says what is accepted.
func (c *Conditions) Set(name, text string) error {
	after := *c
	if _, ok := setting.Find(c, name); !ok {
		return fmt.Errorf("no condition %q: want delay, rate, loss, burst, tick, floor, delack, drop or tail", name)
	}
	if err := setting.Set(&after, name, text); err != nil {
		return err
	}
	if r := after.Rate; r.Trace == nil && (r.Fixed < 1e5 || r.Fixed > 1e9) {
		return fmt.Errorf("rate %q, want 100kbit to 1Gbit, or trace:FILE", text)
	}
	*c = after
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
	var changes []setting.Change
	for _, x := range []struct {
		name string
		d    time.Duration
	}{{"tick", c.Tick}, {"rto-min", c.Floor}, {"delack", c.DelAck}} {
		if x.d > 0 {
			changes = append(changes, setting.Change{Name: x.name, Text: x.d.String()})
		}
	}
	return p, p.Change(p.Name, changes)
}
