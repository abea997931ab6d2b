package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tcpwheel/pcaps/replay"
)

// writeTables prints the losses, and then how the policies have done.
func (r *replaying) writeTables() error {
	var b strings.Builder
	r.writeHead(&b, fmt.Sprintf("%d replayed", len(r.results)))
	if len(r.results) > 0 {
		r.lossTable(&b)
		r.policyTable(&b)
		r.trustTable(&b)
	}
	_, err := r.stdout.Write([]byte(b.String()))
	return err
}

// writeHead says how many connections there are, and which of them are not replayed, and why.
func (r *replaying) writeHead(b *strings.Builder, done string) {
	fmt.Fprintf(b, "%s, %d with losses, %s\n", plural(int64(r.conns), "connection"), r.lossy, done)
	reasons := map[string]int{}
	for _, x := range r.refusals {
		reasons[x.reason]++
	}
	for _, x := range r.refusals {
		if n := reasons[x.reason]; n > 0 {
			fmt.Fprintf(b, "not replayed: %d, because %s\n", n, x.reason)
			reasons[x.reason] = 0
		}
	}
	if r.lossy == 0 {
		b.WriteString("there is no loss in it: nothing to compare\n")
	}
}

// columns is how many policies stand beside each other.
const columns = 6

// lossTable prints the recovery time of the longest losses, as captured and under each policy.
func (r *replaying) lossTable(b *strings.Builder) {
	rows := replay.Longest(r.results, r.top)
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\nrecovery times of the longest losses, by range (* was not needed)\n")
	var shown []*replay.Result
	for _, at := range rows {
		shown = append(shown, r.results[at[0]])
	}
	name := namesOf(b, shown)
	for from := 0; from < len(r.study.Choices); from += columns {
		to := min(from+columns, len(r.study.Choices))
		fmt.Fprintf(b, "%5s %9s %-8s%8s", "conn", "at", "kind", "capture")
		for _, c := range r.study.Choices[from:to] {
			fmt.Fprintf(b, "%8s", shortPolicy(c.Text))
		}
		b.WriteByte('\n')
		for _, at := range rows {
			x := r.results[at[0]]
			l := &x.Script.Loss[at[1]]
			kind := l.Kind.String()
			if !l.Counts() && l.TRec > 0 {
				kind += "*"
			}
			fmt.Fprintf(b, "%5s %8.3fs %-8s%s", name(x), x.Script.Seconds(l.At, r.first[x]), kind, pad(spanOrDash(l.TRec, l.TRec > 0), 8))
			for i := from; i < to; i++ {
				rec := &x.Outcomes[i][replay.ByRange].Recoveries[at[1]]
				text := spanOrDash(rec.TRec, rec.Sent && !rec.Beyond)
				if x.Refused(i) {
					text = "refused"
				}
				b.WriteString(pad(text, 8))
			}
			b.WriteByte('\n')
		}
		if to < len(r.study.Choices) {
			b.WriteByte('\n')
		}
	}
}

// namesOf returns what connections are called in a table: their number, with that of their file before it if the table has several, which
// are listed then.
func namesOf(b *strings.Builder, results []*replay.Result) func(*replay.Result) string {
	numbers, files := map[string]int{}, []string{}
	for _, x := range results {
		if _, ok := numbers[x.File]; !ok {
			files = append(files, x.File)
			numbers[x.File] = len(files)
		}
	}
	if len(files) == 1 {
		return func(x *replay.Result) string { return strconv.Itoa(x.ID) }
	}
	for i, file := range files {
		fmt.Fprintf(b, "%5s %s\n", fmt.Sprintf("%d:", i+1), file)
	}
	b.WriteByte('\n')
	return func(x *replay.Result) string { return fmt.Sprintf("%d:%d", numbers[x.File], x.ID) }
}

// policyCell is the text of a policy in so many columns. One that is longer is written in a line of its own before, so many columns in.
func policyCell(b *strings.Builder, text string, width, indent int) string {
	if utf8.RuneCountInString(text) < width {
		return text + strings.Repeat(" ", width-utf8.RuneCountInString(text))
	}
	fmt.Fprintf(b, "%*s%s\n", indent, "", text)
	return strings.Repeat(" ", width)
}

// policyTable prints how each policy has done over all losses.
func (r *replaying) policyTable(b *strings.Builder) {
	fmt.Fprintf(b, "\n%-20s%5s%9s%9s%9s%9s%9s%10s\n", "policy", "n", "median", "p95", "p99", "stall", "needless", "saved")
	row := func(name string, s *replay.Summary, saved string) {
		fmt.Fprintf(b, "%-20s%5d%s%s%s%s%9d%s\n", name, s.N, pad(spanOrDash(s.Median, s.N > 0), 9), pad(spanOrDash(s.P95, s.N > 0), 9),
			pad(spanOrDash(s.P99, s.N > 0), 9), pad(spanOrDash(s.Stall, s.N > 0), 9), s.Needless, saved)
	}
	c := replay.CapturedSummary(r.results)
	row("(as captured)", &c, "")
	for i := range r.study.Choices {
		s := replay.Summarize(r.results, i)
		row(r.study.Choices[i].Text, &s, pad(spanOrDash(s.Saved[replay.ByRange], s.N > 0), 10))
	}
}

// trustTable prints what is saved by each key, and how much of it the capture tells.
func (r *replaying) trustTable(b *strings.Builder) {
	fmt.Fprintf(b, "\n%-20s%10s%10s%10s%11s%9s  %s\n", "saved, in percent", "by range", "by time", "by index", "filled in", "horizon", "verdict")
	for i := range r.study.Choices {
		s := replay.Summarize(r.results, i)
		fmt.Fprintf(b, "%-20s", r.study.Choices[i].Text)
		for k := range s.Saved {
			text := "-"
			if s.Of[k] > 0 {
				text = fmt.Sprintf("%.1f", 100*float64(s.Saved[k])/float64(s.Of[k]))
			}
			b.WriteString(pad(text, 10))
		}
		verdict := "yes"
		switch {
		case s.Refused == len(r.results):
			verdict = "refused"
		case s.N == 0:
			verdict = "none" // nothing that was needed was repaired
		case s.Refused > 0:
			verdict = fmt.Sprintf("all but %d", s.Refused)
		}
		fmt.Fprintf(b, "%s%9d  %s\n", pad(fmt.Sprintf("%.2f %%", 100*s.Share()), 11), s.Beyond, verdict)
	}
}

// pad puts blanks before a text, so that it is so many columns wide.
func pad(text string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0)) + text
}

func spanOrDash(d time.Duration, ok bool) string {
	if !ok {
		return "-"
	}
	return shortSpan(d)
}

// shortPolicy is the text of a policy in 7 columns.
func shortPolicy(text string) string {
	name, rest, ticked := strings.Cut(text, "@")
	short := map[string]string{"per-segment": "seg", "internet": "inet", "datacenter": "dc", "captured": "model"}
	if s, ok := short[name]; ok {
		name = s
	}
	if ticked {
		name = rest
	}
	if len(name) > 7 {
		name = name[:7]
	}
	return name
}

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
	D        float64  `json:"d_s"`
	Rexmits  int      `json:"retransmissions"`
	Refused  bool     `json:"refused"`
	Beyond   bool     `json:"beyond_horizon"`
}

// records calls use for each loss under each policy.
func (r *replaying) records(use func(*replayRecord) error) error {
	for _, x := range r.results {
		for i := range x.Script.Loss {
			l := &x.Script.Loss[i]
			for c := range r.study.Choices {
				rec := replayRecord{
					Type: "recovery", File: x.File, Conn: x.ID, Client: x.Client.String(), Server: x.Server.String(),
					Sender: [2]string{"client", "server"}[l.Flow], Kind: l.Kind.String(), Spurious: l.Verdict.String(),
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
				rec.D, rec.Rexmits, rec.Beyond = y.D.Seconds(), y.Rexmits, y.Beyond
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
	Median     float64  `json:"median_s"`
	P95        float64  `json:"p95_s"`
	P99        float64  `json:"p99_s"`
	Stall      float64  `json:"stall_s"`
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
	return policyRecord{
		Type: "policy", Policy: name, N: s.N, Median: s.Median.Seconds(), P95: s.P95.Seconds(), P99: s.P99.Seconds(), Stall: s.Stall.Seconds(),
		Rexmits: s.Rexmits, Needless: s.Needless, Imputed: s.Share(), Beyond: s.Beyond, Refused: s.Refused,
	}
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
		"t_rec_by_range_s", "t_rec_by_time_s", "t_rec_by_index_s", "d_s", "retransmissions", "refused", "beyond_horizon",
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
			known(x.Captured), number(x.RTT), x.Policy, x.Model, known(x.Range), known(x.Time), known(x.Index), number(x.D),
			strconv.Itoa(x.Rexmits), strconv.FormatBool(x.Refused), strconv.FormatBool(x.Beyond),
		})
	})
	w.Flush()
	return cmp.Or(err, w.Error())
}
