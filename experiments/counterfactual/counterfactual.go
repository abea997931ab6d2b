// Package counterfactual is the studies of captures: C1, which replays the losses of the samples
// under other timers, and C2, what losses cost connections in the field.
package counterfactual

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
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

// Cell is the result of one capture.
type Cell struct {
	Sample string   `json:"sample,omitempty"`
	Point  string   `json:"point,omitempty"`
	Conns  int      `json:"conns"`            // connections with losses
	Needed int      `json:"needed"`           // losses that were necessary and repaired
	Refuse []string `json:"refuse,omitempty"` // reason for each connection that cannot be replayed

	Losses   []Loss    `json:"losses,omitempty"`
	Policies []Overall `json:"policies,omitempty"` // in the order of the plan
}

// Loss is a loss of a capture.
type Loss struct {
	Conn     int           `json:"conn"`
	Kind     string        `json:"kind"`
	RTT      time.Duration `json:"rtt_s"`
	Captured time.Duration `json:"captured_s"` // recovery time in the capture
	Took     time.Duration `json:"took_s"`     // recovery time of the control
	Count    bool          `json:"count"`      // necessary, repaired, and through the gate
	// By is the recovery time by policy and key; below 0 means no verdict.
	By [][replay.Keys]time.Duration `json:"by_s"`
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

// pointFile is the file of a sample by the point of capture.
var pointFile = map[string]string{"sender": "a.pcapng.gz", "middle": "middle.pcapng.gz", "receiver": "b.pcapng.gz"}

// cells returns a cell for each capture.
func cells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, s := range p.Samples {
		for _, point := range p.Points {
			if !has(s, point) {
				continue
			}
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("sample=%s point=%s", s, point), Cost: 0.01 * float64(len(p.Policies)),
				Run: func(context.Context) (Cell, error) { return capturedAt(p, s, point) },
			})
		}
	}
	return all
}

// has reports whether a sample was captured at a point.
func has(sample, point string) bool {
	f, err := samples.Open(path.Join(sample, pointFile[point]))
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// replayed runs the connections of a capture that had losses. It calls refused with the reason for
// each connection that cannot run. seen, if not nil, gets each connection and says whether to
// replay it; packet, if not nil, gets each packet.
func replayed(study *replay.Study, in *capture.Reader, seen func(*track.Conn) bool, packet func(*capture.Packet),
	refused func(reason string)) (results []*replay.Result, err error) {
	var wrong error
	rec := replay.NewRecorder(replay.Config{Done: func(c *track.Conn, s *replay.CapturedConn, err error) {
		if seen != nil && !seen(c) {
			return
		}
		if s == nil && err == nil || wrong != nil {
			return // no loss
		}
		var r *replay.Result
		if err == nil {
			r, err = study.Run(in.Name(), c, s)
		}
		if refusal, ok := errors.AsType[*replay.Refusal](err); ok {
			refused(refusal.Reason)
		} else if err != nil {
			wrong = fmt.Errorf("%s: connection %d: %w", in.Name(), c.ID, err)
		} else {
			results = append(results, r)
		}
	}})
	err = testbed.Packets(in, func(p *capture.Packet) {
		if packet != nil {
			packet(p)
		}
		rec.Add(p)
	})
	rec.Close()
	return results, errors.Join(err, wrong)
}

// capturedAt runs one capture under all policies.
func capturedAt(p *Plan, sample, point string) (Cell, error) {
	study := replay.Study{Congestion: p.Control}
	for _, c := range p.Policies {
		study.Choices = append(study.Choices, c.Choice)
	}
	out := Cell{Sample: sample, Point: point, Policies: make([]Overall, len(p.Policies))}
	name := path.Join(sample, pointFile[point])
	f, err := samples.Open(name)
	if err != nil {
		return out, err
	}
	defer f.Close()
	in, err := capture.NewReader(f, name)
	if err != nil {
		return out, err
	}
	results, err := replayed(&study, in, nil, nil, func(reason string) { out.Refuse = append(out.Refuse, reason) })
	if err == nil {
		out.fill(results)
	}
	return out, err
}

// fill adds the losses of the connections, and the sums of the policies.
func (c *Cell) fill(results []*replay.Result) {
	c.Conns = len(results) + len(c.Refuse)
	for n, r := range results {
		for i := range r.Captured.Losses {
			l := &r.Captured.Losses[i]
			loss := Loss{Conn: n, Kind: l.Kind.String(), RTT: l.RTT, Captured: l.TRec, Took: r.Control[i].TRec,
				Count: r.Gates[i] == replay.Passed}
			if l.Needed() {
				c.Needed++
			}
			for policy := range c.Policies {
				var by [replay.Keys]time.Duration
				for k := range by {
					by[k] = -1
					if rec, ok := r.Recovery(i, policy, replay.Key(k)); ok {
						by[k] = rec.TRec
					}
				}
				loss.By = append(loss.By, by)
			}
			c.Losses = append(c.Losses, loss)
		}
		for k := range c.Policies {
			o, of := &c.Policies[k], r.Policies[k].Whole
			if of == nil {
				continue // captured, of a connection whose timers are not known
			}
			o.Transmissions += of.Transmissions
			o.FilledIn += of.FilledIn
			o.Retransmissions += of.Retransmissions
			o.Spurious += of.Spurious
		}
	}
}
