package report

import (
	"fmt"
	"reflect"
	"strings"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
)

// LossRow is a row of a table of losses, on a page or in a terminal.
type LossRow struct {
	Result   *replay.Result `json:"-"`
	File     string         `head:"capture"`
	Name     string         `head:"conn" cell:"number"` // Conn among several files
	Conn     int            `head:"conn"`
	Packet   int64          `head:"packet"`
	At       string         `head:"at, s" cell:"number"`
	Since    string         `head:"at" cell:"number"` // At with less digits, and a unit
	Kind     string         `head:"kind"`
	Marked   string         `head:"kind"` // * is not needed, ! does not count
	Spurious string         `head:"spurious"`
	From     string         `head:"from"`
	Why      string         `head:"because"` // it does not count, "" if it does

	// Recoveries are how long the repair took: as captured, by the control, and under each policy.
	Recoveries []record.Cell `json:"-"`
}

// Losses returns the rows of the losses with the longest captured recovery times, at most n.
func (r *Replays) Losses(n int) (all []LossRow) {
	longest := replay.Longest(r.Results, n)
	for i := range longest {
		all = append(all, r.loss(&longest[i]))
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
			all = append(all, r.loss(&replay.ResultLoss{Result: x, N: i}))
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

// loss returns the row of a loss.
func (r *Replays) loss(x *replay.ResultLoss) LossRow {
	l, at := x.Loss(), x.Captured.Seconds(x.Loss().At, r.First(x.Result))
	row := LossRow{
		Result: x.Result, File: x.File, Conn: x.ID, Packet: l.Packet, At: micro(at), Since: fmt.Sprintf("%.3fs", at),
		Kind: l.Kind.String(), Marked: l.Kind.String(), Spurious: l.Spurious.String(), From: [2]string{x.Client.String(), x.Server.String()}[l.Flow],
		Why: x.Gates[x.N].String(), Recoveries: []record.Cell{record.SpanCell(l.TRec, l.TRec > 0), controlCell(x)},
	}
	switch {
	case !l.Needed() && l.TRec > 0:
		row.Marked += "*"
	case x.Gates[x.N] != replay.Passed:
		row.Marked += "!"
	}
	for i := range r.Choices {
		cell := record.Cell{Measure: true, Value: "unknown", Text: "unknown"}
		if rec, ok := x.Recovery(x.N, i, replay.ByRange); rec != nil {
			cell = record.SpanCell(rec.TRec, rec.Repaired)
			cell.Aside, cell.Title = !ok, otherKeys(x, i, rec)
		}
		row.Recoveries = append(row.Recoveries, cell)
	}
	return row
}

// controlCell is the control's recovery time of a loss.
func controlCell(x *replay.ResultLoss) record.Cell {
	c := record.SpanCell(x.Oracle[x.N].TRec, x.Oracle[x.N].Repaired)
	c.Title = x.Gates[x.N].String()
	c.Aside = c.Title != ""
	return c
}

// otherKeys describes how a loss fared by the other keys, "" if as by range.
func otherKeys(x *replay.ResultLoss, choice int, by *replay.Recovery) string {
	var parts []string
	same := true
	for _, k := range []struct {
		key  replay.Key
		name string
	}{{replay.ByTime, "by time "}, {replay.ByIndex, "by index "}} {
		rec, _ := x.Recovery(x.N, choice, k.key)
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
