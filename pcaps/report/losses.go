package report

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
)

// ConnKey says in a record which connection it is about.
type ConnKey struct {
	File   string `json:"file" head:"capture"`
	Conn   int    `json:"conn"`
	Client string `json:"client"`
	Server string `json:"server"`
}

// KeyOf returns the key of a replayed connection.
func KeyOf(x *replay.Result) ConnKey {
	return ConnKey{File: x.File, Conn: x.ID, Client: x.Client.String(), Server: x.Server.String()}
}

// LossRow is a loss under a policy, as a line of JSON or CSV. In tables, on a page or in a terminal,
// a loss has one row, with its recoveries under all policies.
type LossRow struct {
	Type string `json:"type"` // "recovery"
	ConnKey
	Sender          string   `json:"sender" help:"client or server"`
	Kind            string   `json:"kind" help:"as of an episode"`
	Spurious        string   `json:"spurious" help:"as of an episode"`
	At              float64  `json:"at_s" head:"at, s" help:"time of the first retransmission since packet 1 of the file"`
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
	FilledIn        bool     `json:"filled_in" help:"a fate was filled in: not compared"`
	Beyond          bool     `json:"beyond_horizon" help:"a fate was drawn by chance before it: not compared"`
	Gate            string   `json:"gate,omitempty" head:"because" help:"why the loss does not count, under any policy; absent if it does"`
	Saved           *float64 `json:"saved_s" help:"the control's recovery time less the policy's, by range, or null"`
	SavedLow        *float64 `json:"saved_low_s" help:"its least by all lookups and by the control's error"`
	SavedHigh       *float64 `json:"saved_high_s" help:"its most"`

	Result *replay.Result `json:"-"`
	Name   string         `json:"-" head:"conn" cell:"number"` // Conn among several files
	Since  string         `json:"-" head:"at" cell:"number"`   // At with less digits, and a unit
	Marked string         `json:"-" head:"kind"`               // * is not needed, ! does not count
	From   string         `json:"-" head:"from"`

	// Recoveries are how long the repair took: as captured, by the control, and under each policy.
	Recoveries []record.Cell `json:"-"`
}

// endNames are the words for the ends of a connection.
var endNames = [2]string{"client", "server"}

// Rows yields each loss under the control and each policy.
func (r *Replays) Rows() iter.Seq[LossRow] {
	return func(yield func(LossRow) bool) {
		for x, loss := range replay.Losses(r.Results) {
			for choice := -1; choice < len(r.Choices); choice++ {
				if !yield(r.under(x, loss, choice)) {
					return
				}
			}
		}
	}
}

// row returns what all rows of a loss have in common.
func (r *Replays) row(x *replay.Result, loss int) LossRow {
	l := &x.Captured.Losses[loss]
	row := LossRow{
		Type: "recovery", ConnKey: KeyOf(x), Sender: endNames[l.Flow], Kind: l.Kind.String(), Spurious: l.Spurious.String(), Packet: l.DetectedPacket,
		At: x.Captured.Seconds(l.Again, r.First(x)), RTT: l.RTT.Seconds(), Model: cmp.Or(x.Model, "unknown"), Gate: x.Gates[loss].String(), Result: x,
	}
	if l.TRec > 0 {
		row.Captured = record.Seconds(l.TRec)
	}
	return row
}

// under returns the row of a loss under a choice, or the control if that is -1.
func (r *Replays) under(x *replay.Result, loss, choice int) LossRow {
	row, by := r.row(x, loss), &x.Control[loss]
	if row.Policy = replay.Control; choice < 0 {
		if by.Repaired {
			row.Range = record.Seconds(by.TRec)
		}
	} else {
		row.Policy = r.Choices[choice].Text
		for k, to := range []**float64{&row.Range, &row.Time, &row.Index} {
			if y, _ := x.Recovery(loss, choice, replay.Key(k)); y != nil && y.Repaired {
				*to = record.Seconds(y.TRec)
			}
		}
		by, _ = x.Recovery(loss, choice, replay.ByRange)
		if e, why := x.Estimate(loss, choice); why == "" {
			row.Saved, row.SavedLow, row.SavedHigh = record.Seconds(e.Saved), record.Seconds(e.Low), record.Seconds(e.High)
		}
	}
	if by != nil {
		row.Retransmissions, row.FilledIn, row.Beyond = by.Retransmissions, by.FilledIn, by.Beyond
		if by.Retransmissions > 0 {
			row.D = record.Seconds(by.D)
		}
	}
	return row
}

// Losses returns the rows of the losses with the longest captured recovery times, at most n.
func (r *Replays) Losses(n int) (all []LossRow) {
	type place struct {
		x    *replay.Result
		loss int
	}
	var longest []place
	for x, loss := range replay.Losses(r.Results) {
		longest = append(longest, place{x, loss})
	}
	took := func(p place) time.Duration { return p.x.Captured.Losses[p.loss].TRec }
	slices.SortStableFunc(longest, func(a, b place) int { return cmp.Compare(took(b), took(a)) })
	for _, p := range longest[:min(n, len(longest))] {
		all = append(all, r.loss(p.x, p.loss))
	}
	return all
}

// Gated returns the rows of the needed losses that do not count, at most n in order, and how many
// more there are.
func (r *Replays) Gated(n int) (all []LossRow, more int) {
	for x, i := range replay.Losses(r.Results) {
		switch {
		case !x.Captured.Losses[i].Needed() || x.Gates[i] == replay.Passed:
		case len(all) < n:
			all = append(all, r.loss(x, i))
		default:
			more++
		}
	}
	return all, more
}

// Recoveries returns the columns of LossRow.Recoveries, with these headings: as captured, by the
// control, and under each policy.
func Recoveries(heads ...string) []record.Field {
	return record.Columns(reflect.TypeFor[LossRow](), "Recoveries", heads)
}

// loss returns the row of a loss in a table.
func (r *Replays) loss(x *replay.Result, i int) LossRow {
	l, row := &x.Captured.Losses[i], r.row(x, i)
	row.Since, row.Marked, row.From = fmt.Sprintf("%.3fs", row.At), row.Kind, [2]string{row.Client, row.Server}[l.Flow]
	switch {
	case !l.Needed() && l.TRec > 0:
		row.Marked += "*"
	case x.Gates[i] != replay.Passed:
		row.Marked += "!"
	}
	control := record.SpanCell(x.Control[i].TRec, x.Control[i].Repaired)
	control.Title, control.Aside = row.Gate, row.Gate != ""
	row.Recoveries = []record.Cell{record.SpanCell(l.TRec, l.TRec > 0), control}
	for k := range r.Choices {
		cell := record.Cell{Measure: true, Value: "unknown", Text: "unknown"}
		if rec, ok := x.Recovery(i, k, replay.ByRange); rec != nil {
			cell = record.SpanCell(rec.TRec, rec.Repaired)
			cell.Aside, cell.Title = !ok, otherKeys(x, i, k, rec)
		}
		row.Recoveries = append(row.Recoveries, cell)
	}
	return row
}

// otherKeys describes how a loss fared by the other keys, "" if as by range.
func otherKeys(x *replay.Result, loss, choice int, by *replay.Recovery) string {
	var parts []string
	same := true
	for _, k := range []struct {
		key  replay.Key
		name string
	}{{replay.ByTime, "by time "}, {replay.ByIndex, "by index "}} {
		rec, _ := x.Recovery(loss, choice, k.key)
		same = same && rec.Repaired == by.Repaired && track.SpanText(rec.TRec) == track.SpanText(by.TRec)
		text := "none"
		if rec.Repaired {
			text = track.SpanText(rec.TRec)
		}
		parts = append(parts, k.name+text)
	}
	if same {
		return ""
	}
	return strings.Join(parts, ", ")
}
