package testbed

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/base/quantity"
)

// Timers is the configuration of a TCP, with its text. UnmarshalText or ParseTimers makes one; the
// zero value is not valid.
type Timers struct {
	Text   string
	Policy tcptimers.Policy

	Control    string // "" is that of the engine
	VegasCheck bool
	Pacing     bool
	Reno       bool // tcp.Config.Reno
	Alpha      int  // of Vegas, in segments; 0 is that of the engine, for Beta too
	Beta       int
	NoSACK     bool
	Timestamps *bool // nil is that of the engine
}

// MustTimers is ParseTimers for a constant text. It panics on an error.
func MustTimers(text string) Timers {
	t, err := ParseTimers(text)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return t
}

// Exact is the tick of expiry called "exact".
const Exact = tcptimers.ExactTick

// ParseTimers reads the text of Timers. An error names the wrong word and what is allowed.
func ParseTimers(text string) (Timers, error) {
	t := Timers{Text: text}
	words := strings.Fields(text)
	if len(words) == 0 {
		return t, fmt.Errorf("no policy named")
	}
	var err error
	if t.Policy, err = tcptimers.ParsePolicy(words[0]); err != nil {
		return t, err
	}
	for _, w := range words[1:] {
		if err := t.word(w); err != nil {
			return t, err
		}
	}
	t.Policy.Name = text
	if err := t.Policy.Check(); err != nil {
		return t, err
	}
	if (t.Alpha > 0 || t.Beta > 0) && (t.Control != "vegas" || t.Alpha < 1 || t.Beta < t.Alpha) {
		return t, fmt.Errorf("alpha=%d beta=%d: want both, with alpha up to beta, and control=vegas", t.Alpha, t.Beta)
	}
	return t, nil
}

func parseSpan(text string, lo, hi time.Duration) (time.Duration, error) {
	d, err := quantity.ParseDuration(text)
	if err != nil || d < lo || d > hi {
		return 0, fmt.Errorf("want %v to %v", lo, hi)
	}
	return d, nil
}

const keysAndSwitches = "rtt-tick=, floor=, phase=, rexmit=, estimator=, delack=, var-min=, jitter=, control=, alpha=, beta=, and + or - with tlp, rack, frto, synlinear, sack, " +
	"timestamps, vegas-check, pacing, reno"

func parseSegments(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1<<14 {
		return 0, fmt.Errorf("want 1 to %d segments", 1<<14)
	}
	return n, nil
}

// word takes one word after the policy.
func (t *Timers) word(w string) (err error) {
	p := &t.Policy
	if key, value, ok := strings.Cut(w, "="); ok {
		switch key {
		case "rtt-tick":
			p.RTTTick, err = parseSpan(value, 0, 500*time.Millisecond)
		case "floor":
			p.Bounds.Min, err = parseSpan(value, 0, time.Minute)
		case "var-min":
			p.VarMin, err = parseSpan(value, 0, time.Minute)
		case "jitter":
			if p.Jitter, err = quantity.ParseProbability(value); err != nil {
				return fmt.Errorf("jitter: %w", err)
			}
		case "phase":
			err = pick(value, &p.Phase, tcptimers.PhaseShared, tcptimers.PhaseOwn, tcptimers.PhaseCountdown, tcptimers.PhaseJiffies)
		case "rexmit":
			err = pick(value, &p.Rexmit, tcptimers.RexmitPerSegment, tcptimers.RexmitRestart, tcptimers.RexmitRTORestart)
		case "estimator":
			err = pick(value, &p.Estimator, tcptimers.EstimatorRFC6298, tcptimers.EstimatorLinux, tcptimers.EstimatorBSD, tcptimers.EstimatorTahoe)
		case "alpha":
			t.Alpha, err = parseSegments(value)
		case "beta":
			t.Beta, err = parseSegments(value)
		case "delack":
			p.DelAck, err = tcptimers.ParseDelAck(value)
		case "control":
			if !slices.Contains(congestion.Names(), value) {
				err = fmt.Errorf("want one of %s", strings.Join(congestion.Names(), ", "))
			}
			t.Control = value
		default:
			return fmt.Errorf("%q: no such key, want %s", w, keysAndSwitches)
		}
		if err != nil {
			return fmt.Errorf("%s: %q: %w", key, value, err)
		}
		return nil
	}
	on := strings.HasPrefix(w, "+")
	if !on && !strings.HasPrefix(w, "-") {
		return fmt.Errorf("%q: want %s", w, keysAndSwitches)
	}
	if p.Switch(w[1:], on) {
		return nil
	}
	switch w[1:] {
	case "sack":
		t.NoSACK = !on
	case "timestamps":
		t.Timestamps = &on
	case "vegas-check":
		t.VegasCheck = on
	case "pacing":
		t.Pacing = on
	case "reno":
		t.Reno = on
	default:
		return fmt.Errorf("%q: no such switch, want %s", w, keysAndSwitches)
	}
	return nil
}

// pick finds a value by its text.
func pick[T fmt.Stringer](text string, into *T, all ...T) error {
	var names []string
	for _, x := range all {
		if x.String() == text {
			*into = x
			return nil
		}
		names = append(names, x.String())
	}
	return fmt.Errorf("want one of %s", strings.Join(names, ", "))
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Timers) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTimers(string(text))
	return err
}

// Allowed implements plan.Allower.
func (t *Timers) Allowed() string {
	return "POLICY[@TICK] and then " + keysAndSwitches + "; POLICY is one of " + strings.Join(tcptimers.Names(), ", ")
}

// String returns the text.
func (t Timers) String() string { return t.Text }

// Value returns a setting by name, for expressions over a plan: floor and ceiling, the least and
// the greatest timeout.
func (t Timers) Value(name string) (any, bool) {
	switch name {
	case "floor":
		return t.Policy.Bounds.Min, true
	case "ceiling":
		return t.Policy.Bounds.Max, true
	}
	return nil, false
}

// Config returns the configuration of an engine. The caller may change it.
func (t *Timers) Config() tcp.Config {
	c := tcp.DefaultConfig(t.Policy)
	if t.Control != "" {
		c.Control = t.Control
	}
	c.VegasCheck, c.Pacing, c.Reno = t.VegasCheck, t.Pacing, t.Reno
	if t.Alpha > 0 {
		c.Congestion.Alpha, c.Congestion.Beta, c.Congestion.Gamma = uint32(t.Alpha), uint32(t.Beta), 1
	}
	if t.NoSACK {
		c.SACK = false
	}
	if t.Timestamps != nil {
		c.Timestamps = *t.Timestamps
	}
	return c
}
