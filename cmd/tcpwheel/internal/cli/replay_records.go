package cli

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
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

// replayRecord is a loss under a policy, as a line of JSON or CSV. The policy is "oracle" or a
// choice.
type replayRecord struct {
	Type string `json:"type"`
	connKey
	Sender          string   `json:"sender"`
	Kind            string   `json:"kind"`
	Spurious        string   `json:"spurious"`
	At              float64  `json:"at_s"`
	Packet          int64    `json:"packet"`
	Captured        *float64 `json:"captured_t_rec_s"`
	RTT             float64  `json:"rtt_s"`
	Policy          string   `json:"policy"`
	Model           string   `json:"model"` // the captured timers, "unknown" if no model explains them
	Range           *float64 `json:"t_rec_by_range_s"`
	Time            *float64 `json:"t_rec_by_time_s"`
	Index           *float64 `json:"t_rec_by_index_s"`
	D               *float64 `json:"d_s"`
	Retransmissions int      `json:"retransmissions"`
	FilledIn        bool     `json:"filled_in"`      // by packets that the capture does not show
	Beyond          bool     `json:"beyond_horizon"` // a fate was drawn by chance before it
	Gate            string   `json:"gate,omitempty"` // why the loss does not count, under any policy

	// What the policy saves of the oracle's time, and its bounds, by all keys.
	Saved     *float64 `json:"saved_s"`
	SavedLow  *float64 `json:"saved_low_s"`
	SavedHigh *float64 `json:"saved_high_s"`
}

// endNames are the words for the ends of a connection.
var endNames = [2]string{"client", "server"}

// records returns each loss under the oracle and each policy.
func (r *replaying) records() iter.Seq[replayRecord] {
	return func(yield func(replayRecord) bool) {
		for x, loss := range replay.Losses(r.results) {
			if !yield(r.oracleRecord(x, loss)) {
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
		rec.Captured = secondsOf(l.TRec)
	}
	return rec
}

func (r *replaying) oracleRecord(x *replay.Result, loss int) replayRecord {
	rec := r.lossRecord(x, loss, replay.Oracle)
	rec.fill(&x.Oracle[loss])
	if o := &x.Oracle[loss]; o.Repaired {
		rec.Range = secondsOf(o.TRec)
	}
	return rec
}

func (r *replaying) record(x *replay.Result, loss, choice int) replayRecord {
	rec := r.lossRecord(x, loss, r.study.Choices[choice].Text)
	for k, to := range []**float64{&rec.Range, &rec.Time, &rec.Index} {
		if y, _ := x.Recovery(loss, choice, replay.Key(k)); y != nil && y.Repaired {
			*to = secondsOf(y.TRec)
		}
	}
	if y, _ := x.Recovery(loss, choice, replay.ByRange); y != nil {
		rec.fill(y)
	}
	if e, why := x.Estimate(loss, choice); why == "" {
		rec.Saved, rec.SavedLow, rec.SavedHigh = secondsOf(e.Saved), secondsOf(e.Low), secondsOf(e.High)
	}
	return rec
}

// fill takes over what a recovery by range has besides its time.
func (rec *replayRecord) fill(y *replay.Recovery) {
	rec.Retransmissions, rec.FilledIn, rec.Beyond = y.Retransmissions, y.FilledIn, y.Beyond
	if y.Retransmissions > 0 {
		rec.D = secondsOf(y.D)
	}
}

func secondsOf(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// policyRecord is how a policy does over all losses that count.
type policyRecord struct {
	Type            string   `json:"type"`
	Policy          string   `json:"policy"`
	N               int      `json:"n"`
	Median          *float64 `json:"median_s"`
	P95             *float64 `json:"p95_s"`
	P99             *float64 `json:"p99_s"`
	Waiting         *float64 `json:"waiting_s"` // the sum of recovery times, less a round trip each
	Retransmissions int      `json:"retransmissions"`
	Spurious        int      `json:"spurious_retransmissions"`
	SavedRange      *float64 `json:"saved_by_range_s,omitempty"`
	SavedTime       *float64 `json:"saved_by_time_s,omitempty"`
	SavedIndex      *float64 `json:"saved_by_index_s,omitempty"`
	Low             *float64 `json:"saved_low_s,omitempty"` // the interval of 99 % by range
	High            *float64 `json:"saved_high_s,omitempty"`
	OracleError     *float64 `json:"oracle_error_s,omitempty"`
	Verdict         string   `json:"verdict,omitempty"`
	Why             string   `json:"why,omitempty"`
	FilledIn        int      `json:"filled_in,omitempty"`    // losses that are left out
	NotRepaired     int      `json:"not_repaired,omitempty"` // under the policy
	Unknown         int      `json:"unknown,omitempty"`      // no model explains their timers
}

func policyRecordOf(name string, s *replay.Summary) policyRecord {
	rec := policyRecord{
		Type: "policy", Policy: name, N: s.N, Retransmissions: s.Retransmissions, Spurious: s.Spurious,
		FilledIn: s.FilledIn, NotRepaired: s.NotRepaired, Unknown: s.Unknown,
	}
	if s.N > 0 {
		rec.Median, rec.P95, rec.P99, rec.Waiting = secondsOf(s.Median), secondsOf(s.P95), secondsOf(s.P99), secondsOf(s.Waiting)
	}
	return rec
}

// choiceRecordOf is policyRecordOf with what a choice saves.
func choiceRecordOf(s *replay.Summary) policyRecord {
	rec := policyRecordOf(s.Policy, s)
	for k, to := range []**float64{&rec.SavedRange, &rec.SavedTime, &rec.SavedIndex} {
		if s.Of[k] > 0 {
			*to = secondsOf(s.Saved[k])
		}
	}
	if s.HasInterval {
		rec.Low, rec.High = secondsOf(s.Low), secondsOf(s.High)
	}
	rec.OracleError, rec.Verdict, rec.Why = secondsOf(s.OracleError), s.Effect.String(), s.Why
	return rec
}

func (r *replaying) writeJSON() error {
	enc := newJSONLines(r.stdout)
	if err := r.writeRefusals(enc); err != nil {
		return err
	}
	if r.scripts {
		for _, x := range r.results {
			err := enc.Encode(struct {
				Type   string               `json:"type"`
				File   string               `json:"file"`
				Conn   int                  `json:"conn"`
				Script *replay.CapturedConn `json:"script"`
			}{"script", x.File, x.ID, x.Captured})
			if err != nil {
				return err
			}
		}
	}
	if err := encodeAll(enc, r.records()); err != nil {
		return err
	}
	c, o := replay.SummarizeCaptured(r.results), replay.SummarizeOracle(r.results)
	policies := []policyRecord{policyRecordOf("(as captured)", &c), policyRecordOf(replay.Oracle, &o)}
	summaries := r.study.SummarizeAll(r.results)
	for i := range summaries {
		policies = append(policies, choiceRecordOf(&summaries[i]))
	}
	if err := encodeAll(enc, slices.Values(policies)); err != nil {
		return err
	}
	g := replay.SummarizeGate(r.results)
	h := pages.NewHeadline(&r.study, r.results, summaries, r.firstOf)
	return enc.Encode(struct {
		connCounts
		Losses   int      `json:"losses"`
		Needed   int      `json:"needed"`       // necessary, and repaired in the capture
		Passed   int      `json:"through_gate"` // and repaired by the oracle as captured
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
