package main

import (
	"encoding/json"
	"iter"
	"time"

	"tcpwheel/pcaps/replay"
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
	Type string `json:"type"`
	connKey
	Sender   string   `json:"sender"`
	Kind     string   `json:"kind"`
	Spurious string   `json:"spurious"`
	At       float64  `json:"at_s"`
	Packet   int64    `json:"packet"`
	Captured *float64 `json:"captured_t_rec_s"`
	RTT      float64  `json:"rtt_s"`
	Policy   string   `json:"policy"`
	Model    string   `json:"model"`
	Range    *float64 `json:"t_rec_by_range_s"`
	Time     *float64 `json:"t_rec_by_time_s"`
	Index    *float64 `json:"t_rec_by_index_s"`
	D        *float64 `json:"d_s"`
	Rexmits  int      `json:"retransmissions"`
	Refused  bool     `json:"refused"`
	Beyond   bool     `json:"beyond_horizon"`
	Imputed  float64  `json:"imputed_share"`
	Horizon  *float64 `json:"horizon_s"`
}

// endNames are the words for the ends of a connection.
var endNames = [2]string{"client", "server"}

// records returns each loss under each policy.
func (r *replaying) records() iter.Seq[replayRecord] {
	return func(yield func(replayRecord) bool) {
		for _, x := range r.results {
			for loss := range x.Script.Loss {
				for choice := range r.study.Choices {
					if !yield(r.record(x, loss, choice)) {
						return
					}
				}
			}
		}
	}
}

func (r *replaying) record(x *replay.Result, loss, choice int) replayRecord {
	l := &x.Script.Loss[loss]
	byRange := x.Outcomes[choice][replay.ByRange]
	rec := replayRecord{
		Type: "recovery", connKey: connKeyOf(x), Sender: endNames[l.Flow], Kind: l.Kind.String(), Spurious: l.Verdict.String(),
		At: x.Script.Seconds(l.At, r.firstOf(x)), Packet: l.Packet, RTT: l.RTT.Seconds(), Policy: r.study.Choices[choice].Text, Model: x.Model,
		Refused: x.Refused(choice), Imputed: byRange.Share(),
	}
	if l.TRec > 0 {
		rec.Captured = secondsOf(l.TRec)
	}
	for k, to := range []**float64{&rec.Range, &rec.Time, &rec.Index} {
		if y := &x.Outcomes[choice][k].Recoveries[loss]; y.Sent {
			*to = secondsOf(y.TRec)
		}
	}
	y := &byRange.Recoveries[loss]
	rec.Rexmits, rec.Beyond = y.Rexmits, y.Beyond
	if y.Rexmits > 0 {
		rec.D = secondsOf(y.D)
	}
	if byRange.Horizon != 0 {
		at := x.Script.Seconds(byRange.Horizon, r.firstOf(x))
		rec.Horizon = &at
	}
	return rec
}

func secondsOf(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// policyRecord is how a policy has done.
type policyRecord struct {
	Type       string   `json:"type"`
	Policy     string   `json:"policy"`
	N          int      `json:"n"`
	Median     *float64 `json:"median_s"`
	P95        *float64 `json:"p95_s"`
	P99        *float64 `json:"p99_s"`
	Stall      *float64 `json:"stall_s"`
	Rexmits    int      `json:"retransmissions"`
	Needless   int      `json:"spurious_retransmissions"`
	SavedRange *float64 `json:"saved_by_range_s,omitempty"`
	SavedTime  *float64 `json:"saved_by_time_s,omitempty"`
	SavedIndex *float64 `json:"saved_by_index_s,omitempty"`
	Imputed    float64  `json:"imputed_share"`
	Beyond     int      `json:"beyond_horizon"`
	Refused    int      `json:"refused_connections"`
}

func policyRecordOf(name string, s *replay.Summary) policyRecord {
	rec := policyRecord{
		Type: "policy", Policy: name, N: s.N, Rexmits: s.Rexmits, Needless: s.Needless, Imputed: s.Share(), Beyond: s.Beyond, Refused: s.Refused,
	}
	if s.N > 0 {
		rec.Median, rec.P95, rec.P99, rec.Stall = secondsOf(s.Median), secondsOf(s.P95), secondsOf(s.P99), secondsOf(s.Stall)
	}
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
				Type   string         `json:"type"`
				File   string         `json:"file"`
				Conn   int            `json:"conn"`
				Script *replay.Script `json:"script"`
			}{"script", x.File, x.ID, x.Script})
			if err != nil {
				return err
			}
		}
	}
	if err := encodeAll(enc, r.records()); err != nil {
		return err
	}
	c := replay.CapturedSummary(r.results)
	if err := enc.Encode(policyRecordOf("(as captured)", &c)); err != nil {
		return err
	}
	for i := range r.study.Choices {
		s := replay.Summarize(r.results, i)
		rec := policyRecordOf(r.study.Choices[i].Text, &s)
		for k, to := range []**float64{&rec.SavedRange, &rec.SavedTime, &rec.SavedIndex} {
			if s.Of[k] > 0 {
				*to = secondsOf(s.Saved[k])
			}
		}
		if err := enc.Encode(&rec); err != nil {
			return err
		}
	}
	return r.writeSummary(enc)
}

// writeRefusals writes a line for each connection that is not replayed.
func (r *replaying) writeRefusals(enc *json.Encoder) error {
	for _, x := range r.refusals {
		err := enc.Encode(struct {
			Type   string `json:"type"`
			File   string `json:"file"`
			Conn   string `json:"connection"`
			Reason string `json:"reason"`
		}{"not_replayed", x.file, x.conn, x.reason})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSummary writes how many connections there were.
func (r *replaying) writeSummary(enc *json.Encoder) error {
	return enc.Encode(struct {
		Type     string `json:"type"`
		Conns    int    `json:"connections"`
		Lossy    int    `json:"with_losses"`
		Replayed int    `json:"replayed"`
	}{"summary", r.conns, r.lossy, len(r.results)})
}
