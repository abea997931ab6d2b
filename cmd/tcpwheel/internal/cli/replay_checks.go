package cli

import (
	"fmt"
	"iter"
	"strings"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
)

// checkRecord is a check of a validation as a line of JSON.
type checkRecord struct {
	Type  string `json:"type"`
	Check string `json:"check"`
	*replay.Validation
	Passes bool `json:"passes"`
	Want   bool `json:"want"`
}

// judgedRecord is a loss of a check, as a line of JSON or CSV.
type judgedRecord struct {
	Type      string   `json:"type"` // "judged"
	Check     string   `json:"check"`
	Policy    string   `json:"policy"`
	File      string   `json:"file"`
	Conn      int      `json:"conn"`
	Sender    string   `json:"sender" help:"client or server"`
	Kind      string   `json:"kind" help:"as of an episode"`
	At        float64  `json:"at_s" help:"time of the first retransmission since packet 1 of the file"`
	Packet    int64    `json:"packet" help:"of the first retransmission"`
	CapturedD float64  `json:"captured_d_s" help:"D as captured"`
	D         *float64 `json:"d_s" help:"D in an open loop"`
	Right     bool     `json:"right" help:"the loss was detected when the sender did"`
	Captured  float64  `json:"captured_t_rec_s" head:"capture" help:"T_rec as captured"`
	TRec      *float64 `json:"t_rec_s" head:"replay" help:"T_rec in the replay"`
	Off       float64  `json:"off" help:"error of the recovery time"`
	Why       string   `json:"why" help:"above 10 %: timer, path or repair"`

	Since string `json:"-" head:"at" cell:"number"` // At with less digits, for people
}

var farLayout = record.NewLayout[judgedRecord]("%5conn %9Since %-8kind%8captured_t_rec_s%8t_rec_s  %-8why%file")

// judgedRecords returns each loss of each check.
func (r *replaying) judgedRecords(checks []pages.Check) iter.Seq[judgedRecord] {
	return func(yield func(judgedRecord) bool) {
		for i := range checks {
			for j := range checks[i].Judged {
				if !yield(r.judgedRecord(&checks[i], &checks[i].Judged[j])) {
					return
				}
			}
		}
	}
}

func (r *replaying) judgedRecord(c *pages.Check, j *replay.Judged) judgedRecord {
	l, at := j.Loss(), j.Captured.Seconds(j.Loss().At, r.firstOf(j.Result))
	rec := judgedRecord{
		Type: "judged", Check: c.Name, Policy: c.Policy, File: j.File, Conn: j.ID, Sender: endNames[l.Flow], Kind: l.Kind.String(),
		At: at, Since: fmt.Sprintf("%.3fs", at), Packet: l.Packet, CapturedD: l.D.Seconds(), Right: j.Right, Captured: l.TRec.Seconds(), Off: j.Off,
	}
	if j.Detected {
		rec.D = record.Seconds(j.D)
	}
	if j.Repaired {
		rec.TRec = record.Seconds(j.TRec)
	}
	if j.Far() {
		rec.Why = string(j.Why)
	}
	return rec
}

func (r *replaying) writeValidationJSON(checks []pages.Check) error {
	enc := newJSONLines(r.stdout)
	if err := r.writeRefusals(enc); err != nil {
		return err
	}
	if err := encodeAll(enc, r.judgedRecords(checks)); err != nil {
		return err
	}
	for i := range checks {
		if err := enc.Encode(checkRecord{"validation", checks[i].Name, &checks[i].Validation, checks[i].Passes(), checks[i].Want}); err != nil {
			return err
		}
	}
	return enc.Encode(r.connCounts())
}

// percent is a share in seven columns.
func percent(part float64) string {
	if part >= 10 {
		return "> 999 %"
	}
	return fmt.Sprintf("%.1f %%", 100*part)
}

func (r *replaying) writeValidationTable(checks []pages.Check) error {
	var b strings.Builder
	const row = "%-16s%-7s %7s %6s %7s %9s %7s %7s %6s\n"
	fmt.Fprintf(&b, row, "check", "first", "timeout", "probe", "reorder", "ACK", "T_rec", "p95", "passes")
	for i := range checks {
		c := &checks[i]
		passes := "no"
		if c.Passes() {
			passes = "yes"
		}
		if c.Passes() != c.Want {
			passes += " !"
		}
		of := func(right, n int) string { return fmt.Sprintf("%d/%d", right, n) }
		fmt.Fprintf(&b, row, c.Name, percent(float64(c.FirstRight)/float64(max(c.First, 1))), of(c.TimeoutsRight, c.Timeouts),
			of(c.ProbesRight, c.Probes), of(c.ReordersRight, c.Reorders), of(c.FastRight, c.Fast), percent(c.Median), percent(c.P95), passes)
	}
	r.writeFar(&b, &checks[0])
	_, err := r.stdout.Write([]byte(b.String()))
	return err
}

// writeFar lists the losses whose replays are farthest from what was captured.
func (r *replaying) writeFar(b *strings.Builder, c *pages.Check) {
	all := c.Far()
	if len(all) == 0 || r.top == 0 {
		return
	}
	counts := map[replay.Why]int{}
	for _, f := range all {
		counts[f.Why]++
	}
	fmt.Fprintf(b, "\n%d of %d recovery times are off by more than 10 %%: detected at another time by an\n"+
		"engine that hears what the captured sender heard (timer, %d), only in the replay\n"+
		"(path, %d), or repaired at another time (repair, %d)\n", len(all), c.Recoveries, counts[replay.WhyTimer], counts[replay.WhyPath], counts[replay.WhyRepair])
	b.WriteString(farLayout.Head())
	for i := range all[:min(r.top, len(all))] {
		rec := r.judgedRecord(c, &all[i])
		b.WriteString(farLayout.Row(&rec))
	}
}
