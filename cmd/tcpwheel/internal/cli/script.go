//go:build !js

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tcpwheel/internal/record"
	"tcpwheel/netstack/sim/script"
	"tcpwheel/netstack/virtual"
)

// scenario is the result of one file.
type scenario struct {
	File     string   `json:"file"`
	Result   string   `json:"result"` // passed, failed, unreadable
	Events   int      `json:"events,omitempty"`
	Sent     int      `json:"sent,omitempty"`
	Received int      `json:"received,omitempty"`
	Virtual  float64  `json:"virtual_s,omitempty"`
	Line     int      `json:"line,omitempty"`
	Error    string   `json:"error,omitempty"`
	Expected string   `json:"expected,omitempty"`
	Got      string   `json:"got,omitempty"`
	Trace    []string `json:"trace,omitempty"`

	err error
	all []string // the whole trace
}

func newScript() *cobra.Command {
	var (
		cfg             script.Config
		host            string
		asJSON, verbose bool
	)
	cmd := &cobra.Command{
		Use:   "script FILE...",
		Short: "run scenario files against the engine, in virtual time",
		Long: `Script runs scenarios in packetdrill's notation: a program's socket calls, the packets that arrive, the packets that must be sent and when, and what must hold of the connection. FILE - is standard input. Of a failed scenario it prints the first difference and the 15 events before. netstack/tcp/testdata/README.md describes the notation.

Two hosts run the engine: sim is the simulator's, netstack the binding to gVisor's stack with its sockets. They must agree.`,
		Example: "  tcpwheel script netstack/tcp/testdata/handshake-passive.pkt",
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				return usage(cmd, errors.New("script: no file given"))
			}
			switch host {
			case "sim":
			case "netstack":
				cfg.Host = virtual.NewScriptHost
			default:
				return usage(cmd, fmt.Errorf("host %q, want sim or netstack", host))
			}
			results := make([]scenario, len(files))
			for i, name := range files {
				results[i] = runScenario(name, cmd.InOrStdin(), cfg)
				if err := results[i].write(cmd.OutOrStdout(), asJSON, verbose); err != nil {
					return err
				}
			}
			return verdict(results)
		},
	}
	f := cmd.Flags()
	f.StringVar(&host, "host", "sim", "what runs the engine: sim or netstack")
	f.BoolVarP(&verbose, "verbose", "v", false, "print all events of every scenario")
	f.BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

func runScenario(name string, stdin io.Reader, cfg script.Config) scenario {
	s := scenario{File: name, Result: "passed"}
	src, err := readScenario(name, stdin)
	if err != nil {
		s.Result, s.Error, s.err = "unreadable", err.Error(), err
		return s
	}
	report, err := script.RunSource(name, src, cfg)
	if report != nil {
		s.Events, s.Sent, s.Received, s.Virtual = report.Events, report.Sent, report.Received, report.Virtual.Seconds()
		s.all = report.Trace
	}
	var (
		failure *script.Failure
		faults  script.ErrorList
	)
	switch s.err = err; {
	case errors.As(err, &failure):
		s.Result, s.Line, s.Error = "failed", failure.Pos.Line, failure.Msg
		s.Expected, s.Got, s.Trace = failure.Want, failure.Got, failure.Trace
	case errors.As(err, &faults):
		s.Result, s.Line, s.Error = "unreadable", faults[0].Pos.Line, err.Error()
	case err != nil:
		s.Result, s.Error = "unreadable", err.Error()
	}
	return s
}

func readScenario(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

func (s *scenario) write(w io.Writer, asJSON, verbose bool) error {
	if asJSON {
		return newJSONLines(w).Encode(s)
	}
	var b strings.Builder
	if verbose {
		for _, line := range s.all {
			fmt.Fprintln(&b, line)
		}
	}
	if s.err != nil {
		fmt.Fprintln(&b, s.err)
	}
	fmt.Fprintf(&b, "%s: %s", s.File, s.Result)
	if s.Events > 0 {
		fmt.Fprintf(&b, ", %d events, %d sent, %d received, %v", s.Events, s.Sent, s.Received, record.Span(s.Virtual))
	}
	fmt.Fprintln(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict returns the error of the worst result.
func verdict(results []scenario) error {
	var failed, unreadable int
	for _, s := range results {
		switch s.Result {
		case "failed":
			failed++
		case "unreadable":
			unreadable++
		}
	}
	switch {
	case unreadable > 0:
		return fmt.Errorf("%d of %d scenarios could not be read", unreadable, len(results))
	case failed > 0:
		return violation("%d of %d scenarios failed", failed, len(results))
	}
	return nil
}
