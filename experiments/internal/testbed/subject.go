package testbed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/setting"
	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
)

// Subject is a TCP under test. Its text is that of its timers for the engine, "binding TIMERS" for
// the engine in a gVisor stack, and "gvisor [floor=1s] [-rack] [-sack] [sndbuf=6MiB]
// [control=newreno]" for gVisor's own TCP. Without SACK gVisor has neither RACK nor probes; -rack switches off both.
// The kernel's TCP runs in real time: see RunKernel.
type Subject struct {
	Kind   Kind
	Timers Timers // of Engine and Binding

	Floor          time.Duration // of gVisor's timeout; 0 is its own, 200 ms
	NoRACK, NoSACK bool
	SendBuffer     uint64 // bytes; 0 is 4 MiB
	Control        string // "" is gVisor's own, CUBIC
}

const subjectAllowed = "timers, binding and timers, or gvisor and then any of floor=1s, sndbuf=6MiB, -rack, " +
	"-sack, control=newreno and control=cubic"

// ParseSubject reads the text of a Subject.
func ParseSubject(text string) (s Subject, err error) {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch Kind(first) {
	case GVisor:
		s.Kind = GVisor
		for _, word := range strings.Fields(rest) {
			if err := s.set(word); err != nil {
				return s, fmt.Errorf("subject %q: %w", text, err)
			}
		}
		return s, nil
	case Binding, Engine:
		s.Kind = Kind(first)
	case "kernel":
		return s, fmt.Errorf("subject %q: the kernel's TCP runs in real time: see --live of sweep", text)
	default:
		s.Kind, rest = Engine, text
	}
	s.Timers, err = ParseTimers(strings.TrimSpace(rest))
	return s, err
}

// set changes gVisor's TCP by a word.
func (s *Subject) set(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch {
	case word == "-rack":
		s.NoRACK = true
	case word == "-sack":
		s.NoSACK = true
	case key == "control" && slices.Contains(gvisorControls[1:], value):
		s.Control = value
	case key == "sndbuf":
		var size quantity.Size
		if size, err = quantity.ParseSize(value); err == nil && (size < 4096 || size > 1<<30) {
			err = fmt.Errorf("sndbuf %d, want 4096 to 2^30 bytes", size)
		}
		s.SendBuffer = uint64(size)
	case key == "floor":
		if s.Floor, err = quantity.ParseDuration(value); err == nil && (s.Floor < time.Millisecond || s.Floor > time.Minute) {
			err = fmt.Errorf("floor %v, want 1ms to 1m", s.Floor)
		}
	default:
		err = fmt.Errorf("%q, want floor=1s, sndbuf=6MiB, -rack, -sack, control=newreno or control=cubic", word)
	}
	return err
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Subject) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSubject(string(text))
	return err
}

// Allowed implements plan.Allower.
func (s *Subject) Allowed() string { return subjectAllowed }

// String returns the subject's name in cells and tables.
func (s Subject) String() string {
	switch s.Kind {
	case Engine:
		return s.Timers.Text
	case Binding:
		return "binding " + s.Timers.Text
	}
	text := "gVisor's own TCP"
	if s.Floor > 0 {
		text += fmt.Sprintf(", floor=%v", s.Floor)
	}
	if s.SendBuffer > 0 {
		text += fmt.Sprintf(", sndbuf=%d", s.SendBuffer)
	}
	for _, o := range []struct {
		set  bool
		word string
	}{{s.NoRACK, "no RACK"}, {s.NoSACK, "no SACK"}, {s.Control != "", s.Control}} {
		if o.set {
			text += ", " + o.word
		}
	}
	return text
}

// Stack returns the subject's TCP in a gVisor stack, of Binding or GVisor.
func (s *Subject) Stack() virtual.TCP {
	if s.Kind == GVisor {
		return virtual.TCP{GVisor: true, MinRTO: s.Floor, NoRACK: s.NoRACK, NoSACK: s.NoSACK, Control: s.Control,
			SendBuffer: int(s.SendBuffer)}
	}
	c := s.Timers.Config()
	return virtual.TCP{Config: netstack.Config{Conn: c}, NoSACK: s.NoSACK || !c.SACK}
}

// CheckStacks refuses subjects that do not run in gVisor stacks, and subjects that occur twice.
func CheckStacks(all []Subject) error {
	var names []string
	for _, s := range all {
		if s.Kind == Engine {
			return fmt.Errorf("subjects: %q, want binding or gvisor: timers of the engine are those above", s)
		}
		if slices.Contains(names, s.String()) {
			return fmt.Errorf("subjects: %q occurs twice", s)
		}
		names = append(names, s.String())
	}
	return nil
}

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
