package cli

import (
	"slices"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
)

// policyRecord is how a policy does over all losses that count.
type policyRecord struct {
	Type            string   `json:"type"` // "policy"
	Policy          string   `json:"policy"`
	N               int      `json:"n" help:"losses that count under the policy"`
	Median          *float64 `json:"median_s" help:"of recovery times"`
	P95             *float64 `json:"p95_s"`
	P99             *float64 `json:"p99_s"`
	Waiting         *float64 `json:"waiting_s" help:"the sum of recovery times, less a round trip each"`
	Retransmissions int      `json:"retransmissions"`
	Spurious        int      `json:"spurious_retransmissions" head:"spurious" help:"of bytes that had arrived: known in a replay"`
	SavedRange      *float64 `json:"saved_by_range_s,omitempty" head:"saved" help:"the control's recovery times less the policy's"`
	SavedTime       *float64 `json:"saved_by_time_s,omitempty" help:"the same, keyed by time"`
	SavedIndex      *float64 `json:"saved_by_index_s,omitempty" help:"the same, keyed by number"`
	Low             *float64 `json:"saved_low_s,omitempty" help:"bound of the interval of 98 % by range"`
	High            *float64 `json:"saved_high_s,omitempty" help:"the other bound"`
	ControlError    *float64 `json:"control_error_s,omitempty" help:"how far the control's recovery times may be off in sum"`
	Verdict         string   `json:"verdict,omitempty"`
	Why             string   `json:"why,omitempty" help:"why it cannot be told"`
	FilledIn        int      `json:"filled_in,omitempty" help:"losses that are left out"`
	NotRepaired     int      `json:"not_repaired,omitempty" help:"losses not repaired under the policy"`
	Unknown         int      `json:"unknown,omitempty" help:"losses whose timers no model explains"`

	// What people read in a table.
	Interval string `json:"-" head:"98 % interval" cell:"number"`
}

func policyRecordOf(name string, s *replay.Summary) policyRecord {
	rec := policyRecord{
		Type: "policy", Policy: name, N: s.N, Retransmissions: s.Retransmissions, Spurious: s.Spurious,
		FilledIn: s.FilledIn, NotRepaired: s.NotRepaired, Unknown: s.Unknown,
	}
	if s.N > 0 {
		rec.Median, rec.P95, rec.P99, rec.Waiting = record.Seconds(s.Median), record.Seconds(s.P95), record.Seconds(s.P99), record.Seconds(s.Waiting)
	}
	return rec
}

// choiceRecordOf is policyRecordOf with what a choice saves.
func choiceRecordOf(s *replay.Summary) policyRecord {
	rec := policyRecordOf(s.Policy, s)
	for k, to := range []**float64{&rec.SavedRange, &rec.SavedTime, &rec.SavedIndex} {
		if s.Of[k] > 0 {
			*to = record.Seconds(s.Saved[k])
		}
	}
	if s.HasInterval {
		rec.Low, rec.High = record.Seconds(s.Low), record.Seconds(s.High)
		rec.Interval = track.SpanText(s.Low) + " to " + track.SpanText(s.High)
	}
	rec.ControlError, rec.Verdict, rec.Why = record.Seconds(s.ControlError), s.Effect.String(), s.Why
	return rec
}

// allPolicies returns how the captured timers, the control and each choice do.
func (r *replaying) allPolicies(summaries []replay.Summary) []policyRecord {
	c, o := replay.SummarizeCaptured(r.Results), replay.SummarizeControl(r.Results)
	all := []policyRecord{policyRecordOf("(as captured)", &c), policyRecordOf(replay.Control, &o)}
	for i := range summaries {
		all = append(all, choiceRecordOf(&summaries[i]))
	}
	return all
}

func (r *replaying) writeJSON() error {
	enc := newJSONLines(r.stdout)
	if err := encodeAll(enc, slices.Values(r.Refusals)); err != nil {
		return err
	}
	if err := encodeAll(enc, r.Rows()); err != nil {
		return err
	}
	summaries := r.study.Summarize(r.Results)
	if err := encodeAll(enc, slices.Values(r.allPolicies(summaries))); err != nil {
		return err
	}
	g := replay.SummarizeGate(r.Results)
	h := pages.NewHeadline(&r.study, r.Results, summaries, r.First)
	return enc.Encode(struct {
		Type     string   `json:"type"`
		Conns    int      `json:"connections"`
		Lossy    int      `json:"with_losses"`
		Replayed int      `json:"replayed"`
		Losses   int      `json:"losses"`
		Needed   int      `json:"needed"`       // necessary, and repaired in the capture
		Passed   int      `json:"through_gate"` // and repaired by the control as captured
		Captured float64  `json:"captured_t_rec_s"`
		Headline []string `json:"headline"`
	}{"summary", r.Conns, r.Lossy, len(r.Results), g.Losses, g.Needed, g.Passed, g.Captured.Seconds(), h.All()})
}
