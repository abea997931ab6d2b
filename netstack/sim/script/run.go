package script

import (
	"time"
)

// Config is what a run has beside its script.
type Config struct {
	// Policy, if not "", takes the place of the script's --policy or --profile. Its other settings then change that policy.
	Policy string

	// TraceLen is how many events before the first difference a Failure shows; 0 is 15.
	TraceLen int
}

// Report is what a run tells, also of a script that failed.
type Report struct {
	Name     string
	Events   int           // of the script, that were carried out
	Sent     int           // packets that the engine sent
	Received int           // packets and ICMP messages that it was given
	Virtual  time.Duration // from the beginning to the last event
	Output   []string      // of print, a line each
	Trace    []string      // all that happened, a line each, with its time
}

// RunSource parses a script and runs it.
func RunSource(name string, src []byte, cfg Config) (*Report, error) {
	s, err := Parse(name, src)
	if err != nil {
		return nil, err
	}
	return Run(s, cfg)
}

// Run runs a script. The error is a ErrorList if the script asks for what there is not: there is no report then,
// and nothing was run. It is a *Failure if the engine did not do what the script says.
func Run(s *Script, cfg Config) (*Report, error) {
	if cfg.TraceLen == 0 {
		cfg.TraceLen = 15
	}
	p, err := newPlan(s, cfg)
	if err != nil {
		return nil, err
	}
	r := newRunner(s, p, cfg)
	if f := r.run(); f != nil {
		return &r.report, f
	}
	return &r.report, nil
}
