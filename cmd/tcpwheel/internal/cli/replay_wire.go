package cli

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/record"
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
)

// wireRecord is an end in an open loop.
type wireRecord struct {
	Type string `json:"type"`
	connKey
	End        string   `json:"end" help:"client or server: the end that the engine stands for"`
	Policy     string   `json:"policy"`
	Model      string   `json:"model" help:"the captured timers, unknown if no model explains them"`
	First      int      `json:"first_transmissions"`
	FirstRight int      `json:"first_within_1ms" help:"no more than 1 ms off"`
	Again      int      `json:"retransmissions"`
	AgainRight int      `json:"retransmissions_within_1ms" help:"no more than 1 ms off"`
	More       int      `json:"not_captured" head:"more" help:"retransmissions that the captured end did not send"`
	Median     *float64 `json:"median_s" help:"how far first transmissions are off; null without any"`
	P95        *float64 `json:"p95_s"`
	Want       string   `json:"divergence_captured,omitempty" help:"the first event that differs, as captured"`
	Got        string   `json:"divergence_sent,omitempty" help:"that event as the engine has it"`

	// What people read in a table.
	Name    string `json:"-" head:"conn"`
	FirstOf string `json:"-" head:"first <= 1 ms" cell:"number"`
	AgainOf string `json:"-" head:"again" cell:"number"`
}

var wireLayout = record.NewLayout[wireRecord]("%5Name %-6end %-20policy%14FirstOf%11AgainOf%6not_captured%8median_s%8p95_s")

// runWires runs the open loop of each end that had losses under each policy. The results are in the
// order of files, and in a file by the number of the connection.
func (r *replaying) runWires() (all []pages.WireEnd, err error) {
	order := map[string]int{}
	for _, x := range r.results {
		if _, ok := order[x.File]; !ok {
			order[x.File] = len(order)
		}
	}
	slices.SortStableFunc(r.results, func(a, b *replay.Result) int { return cmp.Or(order[a.File]-order[b.File], a.ID-b.ID) })
	for _, x := range r.results {
		if err := x.Captured.CanWire(); err != nil {
			r.refusals = append(r.refusals, refusedConn{connKeyOf(x), err.Error()})
			continue
		}
		for c := range r.study.Choices {
			ends, err := r.study.Wire(x, c)
			if err != nil {
				return nil, err
			}
			for i, o := range ends {
				if o != nil {
					all = append(all, pages.WireEnd{Result: x, End: i, Policy: r.study.Choices[c].Text, Outcome: o})
				}
			}
		}
	}
	return all, nil
}

// printWires compares two senders: the captured one, and an engine that receives the same packets.
func (r *replaying) printWires() error {
	ends, err := r.runWires()
	if err != nil {
		return err
	}
	switch {
	case r.asJSON:
		err = r.writeWireJSON(ends)
	case r.asCSV:
		err = record.WriteCSV(r.stdout, r.wireRecords(ends))
	default:
		err = r.writeWireTable(ends)
	}
	if err == nil && r.html != "" {
		page := pages.Wires{Ends: ends, Conns: r.conns, Lossy: r.lossy, Refusals: r.pageRefusals(), First: r.firstOf}
		err = writeWhole(r.html, page.Write)
	}
	if err == nil && r.lossy > 0 && len(ends) == 0 {
		err = fmt.Errorf("replay: none of %s with losses has an open loop", quantity.Count(r.lossy, "connection"))
	}
	return err
}

// wireRecordOf is the record of an end.
func (r *replaying) wireRecordOf(e *pages.WireEnd) wireRecord {
	x, o := e.Result, e.Outcome
	rec := wireRecord{
		Type: "wire", connKey: connKeyOf(x), End: endNames[e.End], Policy: e.Policy, Model: x.Model, First: o.First, FirstRight: o.FirstRight,
		Again: o.Retransmissions, AgainRight: o.RetransmissionsRight, More: o.More,
	}
	if o.First > 0 {
		rec.Median, rec.P95 = record.Seconds(o.Median), record.Seconds(o.P95)
	}
	if d := o.Divergence; d != nil {
		rec.Want, rec.Got = pages.EventText(x.Captured, d.Want, r.firstOf(x)), pages.EventText(x.Captured, d.Got, r.firstOf(x))
	}
	return rec
}

func (r *replaying) wireRecords(ends []pages.WireEnd) iter.Seq[wireRecord] {
	return func(yield func(wireRecord) bool) {
		for i := range ends {
			if !yield(r.wireRecordOf(&ends[i])) {
				return
			}
		}
	}
}

func (r *replaying) writeWireTable(ends []pages.WireEnd) error {
	var b strings.Builder
	r.writeHead(&b, quantity.Count(len(ends), "open loop"))
	if len(ends) > 0 {
		var results []*replay.Result
		for i := range ends {
			results = append(results, ends[i].Result)
		}
		b.WriteByte('\n')
		name := namesOf(&b, results)
		b.WriteString(wireLayout.Head())
		for i := range ends {
			rec := r.wireRecordOf(&ends[i])
			rec.Name, rec.FirstOf, rec.AgainOf = name(ends[i].Result), fmt.Sprintf("%d/%d", rec.FirstRight, rec.First), fmt.Sprintf("%d/%d", rec.AgainRight, rec.Again)
			b.WriteString(longPolicy(&rec.Policy, 20, 13) + wireLayout.Row(&rec))
			if ends[i].Outcome.Divergence != nil {
				fmt.Fprintf(&b, "      captured %s\n      sent     %s\n", rec.Want, rec.Got)
			}
		}
	}
	_, err := r.stdout.Write([]byte(b.String()))
	return err
}

func (r *replaying) writeWireJSON(ends []pages.WireEnd) error {
	enc := newJSONLines(r.stdout)
	if err := r.writeRefusals(enc); err != nil {
		return err
	}
	if err := encodeAll(enc, r.wireRecords(ends)); err != nil {
		return err
	}
	return enc.Encode(r.connCounts())
}
