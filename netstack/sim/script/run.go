package script

import (
	"time"

	"tcpwheel/netstack/tcp"
)

// Config configures a run.
type Config struct {
	// Host makes the TCP that the script runs on. nil is NewEngineHost.
	Host func(HostConfig) (Host, error)

	// Watch, if not nil, is called before each event, and halfway through the time until it, with the
	// state of the connections. So it sees state that changes with time alone.
	Watch func(Sample)
}

// Sample is the state of a run's connections between two events.
type Sample struct {
	Event   Pos           // the next event
	Elapsed time.Duration // since the start
	Info    []tcp.Info    // by connection, in the order of their first packets
}

// Report is the result of a run, also of a failed one.
type Report struct {
	Name     string
	Events   int           // of the script, carried out
	Sent     int           // packets from the host
	Received int           // packets and ICMP messages to the host
	Virtual  time.Duration // from the start to the last event
	Trace    []string      // one line per event, with its time
}

// RunSource parses a script and runs it.
func RunSource(name string, src []byte, cfg Config) (*Report, error) {
	s, err := Parse(name, src)
	if err != nil {
		return nil, err
	}
	return Run(s, cfg)
}

// Run runs a script. The error is a *Failure if the host differs from the script. It is an
// ErrorList if the script has wrong settings, and the host's own error if the host does not support
// the settings. Then nothing was run and the report is nil.
func Run(s *Script, cfg Config) (*Report, error) {
	if cfg.Host == nil {
		cfg.Host = NewEngineHost
	}
	p, err := newSetup(s)
	if err != nil {
		return nil, err
	}
	r := newRunner(s, p, cfg)
	if r.host, err = cfg.Host(r.hostConfig()); err != nil {
		return nil, err
	}
	f := r.run()
	if !r.closed {
		r.host.Close() // the error that ended the run counts
	}
	if f != nil {
		return &r.report, f
	}
	return &r.report, nil
}
