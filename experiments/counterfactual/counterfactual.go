// Package counterfactual is the studies of captures: C1, which replays the losses of the samples
// under other timers, and C2, what losses cost connections in the field.
package counterfactual

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/samples"
	"tcpwheel/tcptimers"
)

//go:embed README.md plan.yaml field
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Samples  []string `plan:"samples"`
	Points   []string `plan:"points" oneof:"sender middle receiver"`
	Policies []choice `plan:"policies"`
	Control  string   `plan:"control" oneof:"newreno cubic vegas"`
}

// choice is a replay.Choice in a plan.
type choice struct{ replay.Choice }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *choice) UnmarshalText(text []byte) (err error) {
	c.Choice, err = replay.ParseChoice(string(text))
	return err
}

// Allowed implements plan.Allower.
func (c *choice) Allowed() string {
	return "NAME[@TICK] and then + or - with " + strings.Join(tcptimers.Switches(), ", ") + "; NAME is one of " +
		strings.Join(replay.PolicyNames(), ", ")
}

// Cell is the result of one capture, or of one check of the replays.
type Cell struct {
	Sample string   `json:"sample,omitempty"`
	Point  string   `json:"point,omitempty"`
	Conns  int      `json:"conns"`            // connections with losses
	Needed int      `json:"needed"`           // losses that were necessary and repaired
	Refuse []string `json:"refuse,omitempty"` // reason for each connection that cannot be replayed

	Losses   []Loss    `json:"losses,omitempty"`
	Policies []Overall `json:"policies,omitempty"` // in the order of the plan

	Check      string             `json:"check,omitempty"`
	Validation *replay.Validation `json:"validation,omitempty"`
}

// Loss is a loss of a capture. Spans are nanoseconds.
type Loss struct {
	Conn     int           `json:"conn"`
	Kind     string        `json:"kind"`
	RTT      time.Duration `json:"rtt_ns"`
	Captured time.Duration `json:"captured_ns"` // recovery time in the capture
	Took     time.Duration `json:"took_ns"`     // recovery time of the control
	Count    bool          `json:"count"`       // necessary, repaired, and through the gate
	// By is the recovery time by policy and key; -1 means no verdict.
	By [][replay.Keys]time.Duration `json:"by_ns"`
}

// Overall sums the replays of a capture under one policy, by the key of range.
type Overall struct {
	Transmissions   int `json:"transmissions"`
	FilledIn        int `json:"filled_in"` // fates that the capture does not show
	Retransmissions int `json:"retransmissions"`
	Spurious        int `json:"spurious_retransmissions"`
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "C1", Name: "counterfactual", Bed: "captures", Class: experiments.Shape, Files: files,
	Words: func() experiments.Words { return words },
	Check: check,
	Cells: cells,
	Judge: judgeSamples,
})

func check(p *Plan) error {
	var names []string
	for _, s := range samples.List() {
		names = append(names, s.Name)
	}
	for i, s := range p.Samples {
		if !slices.Contains(names, s) {
			return fmt.Errorf("samples: %q, want one of %s", s, strings.Join(names, ", "))
		}
		if slices.Contains(p.Samples[:i], s) {
			return fmt.Errorf("samples: %s is listed twice", s)
		}
	}
	if !slices.Contains(p.Points, "sender") {
		return errors.New("points: no sender, want it: verdicts use it")
	}
	return checkChoices(p.Policies)
}

// checkChoices finds policies that are listed twice.
func checkChoices(policies []choice) error {
	for i, c := range policies {
		for _, o := range policies[:i] {
			if o.Text == c.Text {
				return fmt.Errorf("policies: %s is listed twice", c.Text)
			}
		}
	}
	return nil
}
