package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"time"

	"tcpwheel/pcaps/replay"
)

// replayRecord is a loss under a policy.
type replayRecord struct {
	Type     string   `json:"type"`
	File     string   `json:"file"`
	Conn     int      `json:"conn"`
	Client   string   `json:"client"`
	Server   string   `json:"server"`
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
	Imputed  float64  `json:"imputed_share"`
	Refused  bool     `json:"refused"`
	Horizon  *float64 `json:"horizon_s"`
	Beyond   bool     `json:"beyond_horizon"`
}

// endNames are the words for the ends of a connection.
var endNames = [2]string{"client", "server"}

// records calls use for each loss under each policy.
func (r *replaying) records(use func(*replayRecord) error) error {
	for _, x := range r.results {
		for i := range x.Script.Loss {
			l := &x.Script.Loss[i]
			for c := range r.study.Choices {
				rec := replayRecord{
					Type: "recovery", File: x.File, Conn: x.ID, Client: x.Client.String(), Server: x.Server.String(),
					Sender: endNames[l.Flow], Kind: l.Kind.String(), Spurious: l.Verdict.String(),
					At: x.Script.Seconds(l.At, r.first[x]), Packet: l.Packet, RTT: l.RTT.Seconds(), Policy: r.study.Choices[c].Text, Model: x.Model,
					Refused: x.Refused(c),
				}
				if l.TRec > 0 {
					rec.Captured = secondsOf(l.TRec)
				}
				for k, to := range []**float64{&rec.Range, &rec.Time, &rec.Index} {
					if y := &x.Outcomes[c][k].Recoveries[i]; y.Sent {
						*to = secondsOf(y.TRec)
					}
				}
				y := &x.Outcomes[c][replay.ByRange].Recoveries[i]
				rec.Rexmits, rec.Beyond = y.Rexmits, y.Beyond
				if y.Rexmits > 0 {
					rec.D = secondsOf(y.D)
				}
				o := x.Outcomes[c][replay.ByRange]
				rec.Imputed = o.Share()
				if o.Horizon != 0 {
					at := x.Script.Seconds(o.Horizon, r.first[x])
					rec.Horizon = &at
				}
				if err := use(&rec); err != nil {
					return err
				}
			}
		}
	}
	return nil
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
	Needless   int      `json:"needless"`
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
	enc := json.NewEncoder(r.stdout)
	enc.SetEscapeHTML(false)
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
	if err := r.records(func(rec *replayRecord) error { return enc.Encode(rec) }); err != nil {
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

func (r *replaying) writeCSV() error {
	w := csv.NewWriter(r.stdout)
	err := w.Write([]string{
		"file", "conn", "client", "server", "sender", "kind", "spurious", "at_s", "packet", "captured_t_rec_s", "rtt_s", "policy", "model",
		"t_rec_by_range_s", "t_rec_by_time_s", "t_rec_by_index_s", "d_s", "retransmissions", "refused", "beyond_horizon", "imputed_share", "horizon_s",
	})
	if err != nil {
		return err
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	known := func(f *float64) string {
		if f == nil {
			return ""
		}
		return number(*f)
	}
	err = r.records(func(x *replayRecord) error {
		return w.Write([]string{
			x.File, strconv.Itoa(x.Conn), x.Client, x.Server, x.Sender, x.Kind, x.Spurious, number(x.At), strconv.FormatInt(x.Packet, 10),
			known(x.Captured), number(x.RTT), x.Policy, x.Model, known(x.Range), known(x.Time), known(x.Index), known(x.D),
			strconv.Itoa(x.Rexmits), strconv.FormatBool(x.Refused), strconv.FormatBool(x.Beyond), number(x.Imputed), known(x.Horizon),
		})
	})
	w.Flush()
	return cmp.Or(err, w.Error())
}
