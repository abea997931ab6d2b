package cli

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
)

// connKey says in a record which connection it is about.
type connKey struct {
	File   string `json:"file"`
	Conn   int    `json:"conn"`
	Client string `json:"client"`
	Server string `json:"server"`
}

func connKeyOf(x *replay.Result) connKey {
	return connKey{File: x.File, Conn: x.ID, Client: x.Client.String(), Server: x.Server.String()}
}

// replayRecord is a loss under a policy, as a line of JSON or CSV.
type replayRecord struct {
	Type string `json:"type"` // "recovery"
	connKey
	Sender          string   `json:"sender" help:"client or server"`
	Kind            string   `json:"kind" help:"as of an episode"`
	Spurious        string   `json:"spurious" help:"as of an episode"`
	At              float64  `json:"at_s" help:"time of the first retransmission since packet 1 of the file"`
	Packet          int64    `json:"packet" help:"of the first retransmission"`
	Captured        *float64 `json:"captured_t_rec_s" head:"capture" help:"T_rec as captured"`
	RTT             float64  `json:"rtt_s,omitempty"`
	Policy          string   `json:"policy" help:"control, or a choice"`
	Model           string   `json:"model" help:"the captured timers, unknown if no model explains them"`
	Range           *float64 `json:"t_rec_by_range_s" head:"by range" help:"T_rec in the replay, keyed by bytes"`
	Time            *float64 `json:"t_rec_by_time_s" help:"T_rec in the replay, keyed by time"`
	Index           *float64 `json:"t_rec_by_index_s" help:"T_rec in the replay, keyed by number"`
	D               *float64 `json:"d_s" help:"by range, to the first retransmission"`
	Retransmissions int      `json:"retransmissions" help:"by range"`
	FilledIn        bool     `json:"filled_in" help:"a fate that the capture does not show was filled in: not compared"`
	Beyond          bool     `json:"beyond_horizon" help:"a fate was drawn by chance before it: not compared"`
	Gate            string   `json:"gate,omitempty" help:"why the loss does not count, under any policy; absent if it does"`
	Saved           *float64 `json:"saved_s" help:"the control's recovery time less the policy's, by range; null if it has no estimate"`
	SavedLow        *float64 `json:"saved_low_s" help:"bound of saved_s by all lookups and by how far the control may be off"`
	SavedHigh       *float64 `json:"saved_high_s" help:"the other bound"`
}

// endNames are the words for the ends of a connection.
var endNames = [2]string{"client", "server"}

// records returns each loss under the control and each policy.
func (r *replaying) records() iter.Seq[replayRecord] {
	return func(yield func(replayRecord) bool) {
		for x, loss := range replay.Losses(r.results) {
			if !yield(r.controlRecord(x, loss)) {
				return
			}
			for choice := range r.study.Choices {
				if !yield(r.record(x, loss, choice)) {
					return
				}
			}
		}
	}
}

// lossRecord is what all records of a loss have in common.
func (r *replaying) lossRecord(x *replay.Result, loss int, policy string) replayRecord {
	l := &x.Captured.Losses[loss]
	rec := replayRecord{
		Type: "recovery", connKey: connKeyOf(x), Sender: endNames[l.Flow], Kind: l.Kind.String(), Spurious: l.Spurious.String(),
		At: x.Captured.Seconds(l.At, r.firstOf(x)), Packet: l.Packet, RTT: l.RTT.Seconds(), Policy: policy, Model: cmp.Or(x.Model, "unknown"),
		Gate: x.Gates[loss].String(),
	}
	if l.TRec > 0 {
		rec.Captured = record.Seconds(l.TRec)
	}
	return rec
}

func (r *replaying) controlRecord(x *replay.Result, loss int) replayRecord {
	rec := r.lossRecord(x, loss, replay.Oracle)
	rec.fill(&x.Oracle[loss])
	if o := &x.Oracle[loss]; o.Repaired {
		rec.Range = record.Seconds(o.TRec)
	}
	return rec
}

func (r *replaying) record(x *replay.Result, loss, choice int) replayRecord {
	rec := r.lossRecord(x, loss, r.study.Choices[choice].Text)
	for k, to := range []**float64{&rec.Range, &rec.Time, &rec.Index} {
		if y, _ := x.Recovery(loss, choice, replay.Key(k)); y != nil && y.Repaired {
			*to = record.Seconds(y.TRec)
		}
	}
	if y, _ := x.Recovery(loss, choice, replay.ByRange); y != nil {
		rec.fill(y)
	}
	if e, why := x.Estimate(loss, choice); why == "" {
		rec.Saved, rec.SavedLow, rec.SavedHigh = record.Seconds(e.Saved), record.Seconds(e.Low), record.Seconds(e.High)
	}
	return rec
}

// fill takes over what a recovery by range has besides its time.
func (rec *replayRecord) fill(y *replay.Recovery) {
	rec.Retransmissions, rec.FilledIn, rec.Beyond = y.Retransmissions, y.FilledIn, y.Beyond
	if y.Retransmissions > 0 {
		rec.D = record.Seconds(y.D)
	}
}

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
	Low             *float64 `json:"saved_low_s,omitempty" help:"bound of the interval of 99 % by range"`
	High            *float64 `json:"saved_high_s,omitempty" help:"the other bound"`
	ControlError    *float64 `json:"control_error_s,omitempty" help:"how far the control's recovery times may be off in sum"`
	Verdict         string   `json:"verdict,omitempty"`
	Why             string   `json:"why,omitempty" help:"why it cannot be told"`
	FilledIn        int      `json:"filled_in,omitempty" help:"losses that are left out"`
	NotRepaired     int      `json:"not_repaired,omitempty" help:"losses not repaired under the policy"`
	Unknown         int      `json:"unknown,omitempty" help:"losses whose timers no model explains"`

	// What people read in a table.
	Interval string `json:"-" head:"99 % interval" cell:"number"`
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
	rec.ControlError, rec.Verdict, rec.Why = record.Seconds(s.OracleError), s.Effect.String(), s.Why
	return rec
}

// policies returns how the captured timers, the control and each choice do.
func (r *replaying) policies(summaries []replay.Summary) []policyRecord {
	c, o := replay.SummarizeCaptured(r.results), replay.SummarizeOracle(r.results)
	all := []policyRecord{policyRecordOf("(as captured)", &c), policyRecordOf(replay.Oracle, &o)}
	for i := range summaries {
		all = append(all, choiceRecordOf(&summaries[i]))
	}
	return all
}

func (r *replaying) writeJSON() error {
	enc := newJSONLines(r.stdout)
	if err := r.writeRefusals(enc); err != nil {
		return err
	}
	if err := encodeAll(enc, r.records()); err != nil {
		return err
	}
	summaries := r.study.Summarize(r.results)
	if err := encodeAll(enc, slices.Values(r.policies(summaries))); err != nil {
		return err
	}
	g := replay.SummarizeGate(r.results)
	h := pages.NewHeadline(&r.study, r.results, summaries, r.firstOf)
	return enc.Encode(struct {
		connCounts
		Losses   int      `json:"losses"`
		Needed   int      `json:"needed"`       // necessary, and repaired in the capture
		Passed   int      `json:"through_gate"` // and repaired by the control as captured
		Captured float64  `json:"captured_t_rec_s"`
		Headline []string `json:"headline"`
	}{r.connCounts(), g.Losses, g.Needed, g.Passed, g.Captured.Seconds(), h.All()})
}

// writeRefusals writes a line for each connection that is not replayed.
func (r *replaying) writeRefusals(enc *json.Encoder) error {
	for _, x := range r.refusals {
		err := enc.Encode(struct {
			Type string `json:"type"`
			connKey
			Reason string `json:"reason"`
		}{"not_replayed", x.connKey, x.reason})
		if err != nil {
			return err
		}
	}
	return nil
}

// connCounts is how many connections there were.
type connCounts struct {
	Type     string `json:"type"`
	Conns    int    `json:"connections"`
	Lossy    int    `json:"with_losses"`
	Replayed int    `json:"replayed"`
}

func (r *replaying) connCounts() connCounts {
	return connCounts{"summary", r.conns, r.lossy, len(r.results)}
}
