package lanes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/sim"
)

// Conditions is what all lanes have in common: the path. An action may change it at any time. Its
// fields are settings.
type Conditions struct {
	Delay time.Duration `set:"delay" zero:"ok" min:"1us" max:"2s" help:"one-way delay (default 20ms)"`
	Rate  sim.LinkRate  `set:"rate" help:"rate of the link, or trace:FILE (default 10Mbit)"`
	Loss  float64       `set:"loss" unit:"probability" max:"0.5" help:"loss of data packets (default 2%)"`
	Burst int           `set:"burst" min:"1" max:"20" help:"neighbouring segments that are lost together (default 1)"`
}

// DefaultConditions returns 20 ms one way, 10 Mbit/s and 2 % loss.
func DefaultConditions() Conditions {
	return Conditions{Delay: 20 * time.Millisecond, Rate: sim.LinkRate{Fixed: 10e6}, Loss: 0.02, Burst: 1}
}

// Set changes one field by its name in lower case. The error says what is accepted.
func (c *Conditions) Set(name, text string) error {
	after := *c
	if _, ok := setting.Find(c, name); !ok {
		return fmt.Errorf("no condition %q: want delay, rate, loss, burst, drop or tail", name)
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

// text returns the conditions as NAME=VALUE.
func (c *Conditions) text(separator string) string {
	parts := []string{"delay=" + c.Delay.String(), "rate=" + c.Rate.String(), "loss=" + strconv.FormatFloat(c.Loss*100, 'f', -1, 64) + "%"}
	if c.Burst > 1 {
		parts = append(parts, "burst="+strconv.Itoa(c.Burst))
	}
	return strings.Join(parts, separator)
}
