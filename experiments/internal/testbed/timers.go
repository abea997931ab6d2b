package testbed

import (
	"fmt"
	"strings"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// Timers is the configuration of a TCP, with its text. UnmarshalText or ParseTimers makes one; the
// zero value is not valid.
type Timers struct {
	Text   string
	Policy tcptimers.Policy

	changes []setting.Change
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

// ParseTimers reads the text of Timers, as tcp.ParseConfig does. An error names the wrong word and
// what is allowed.
func ParseTimers(text string) (Timers, error) {
	c, err := tcp.ParseConfig(text)
	if err != nil {
		return Timers{Text: text}, err
	}
	_, changes, _ := setting.Words(text, tcp.Config{})
	_, changes = setting.Split(changes, c.Policy)
	return Timers{Text: text, Policy: c.Policy, changes: changes}, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Timers) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTimers(string(text))
	return err
}

// Allowed implements plan.Allower.
func (t *Timers) Allowed() string {
	return "POLICY[@TICK] and then settings, such as floor=1s -tlp control=newreno; POLICY is one of " +
		strings.Join(tcptimers.Names(), ", ")
}

// String returns the text.
func (t Timers) String() string { return t.Text }

// Config returns the configuration of an engine. The caller may change it.
func (t *Timers) Config() tcp.Config {
	c, err := tcp.Configure(t.Policy, t.Policy.Name, t.changes)
	if err != nil {
		panic(fmt.Sprintf("BUG: %v", err)) // ParseTimers has checked it
	}
	return c
}
