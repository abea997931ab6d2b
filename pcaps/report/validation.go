package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel"
)

// Check is a validation and its expected outcome.
type Check struct {
	Name string
	Want bool // expected to pass
	replay.Validation
}

// Validations is the content of a page about validations.
type Validations struct {
	Checks   []Check
	Ends     []WireEnd                       // of the first check, drawn
	First    func(*replay.Result) wheel.Time // time of the first packet of its capture
	Conns    int                             // all connections
	Lossy    int                             // connections with losses
	Refusals []Refusal
}

// Data of the page.
type (
	validationView struct {
		Facts  []htmlpage.Fact
		Checks []checkView
		Files  bool
		Drawn  []wireDrawnView
		refusalsView
	}
	checkView struct {
		Name     string      `head:"check"`
		Policy   string      `head:"policy"`
		First    string      `head:"first transmissions within 1 ms" cell:"number"`
		Timeouts string      `head:"timeouts" cell:"number"`
		Probes   string      `head:"probes" cell:"number"`
		Reorders string      `head:"reordering timer" cell:"number"`
		Fast     string      `head:"by an ACK" cell:"number"`
		Median   record.Cell `head:"T_rec off, median"`
		P95      record.Cell `head:"p95"`
		Passes   record.Cell `head:"passes" cell:"words"`
		Want     string      `head:"should"`

		Detections, Recovery *picture
		Losses               []judgedView
		Note                 string
	}
	judgedView struct {
		File      string      `head:"capture"`
		Conn      int         `head:"conn"`
		Packet    int64       `head:"packet"`
		At        string      `head:"at, s" cell:"number"`
		Kind      string      `head:"kind"`
		From      string      `head:"from"`
		CapturedD record.Cell `head:"D captured"`
		D         record.Cell `head:"D open loop"`
		Right     string      `head:"right"`
		Captured  record.Cell `head:"T_rec captured"`
		TRec      record.Cell `head:"T_rec replayed"`
		Off       record.Cell `head:"off"`
	}
)

// Write writes the page: the outcome of each check, loss by loss, and how close the expected timers
// came in an open loop.
func (p *Validations) Write(out io.Writer) error {
	var files []string
	for _, c := range p.Checks {
		for _, j := range c.Judged {
			files = append(files, j.File)
		}
	}
	v := validationView{}
	title := titled(files, "Replays compared with %s", "Replays compared with %d captures", "Replays compared with captures")
	v.Facts = []htmlpage.Fact{{"connections", strconv.Itoa(p.Conns)}, {"with losses", strconv.Itoa(p.Lossy)}}
	for _, c := range p.Checks {
		v.Facts = append(v.Facts, htmlpage.Fact{"losses, " + c.Name, strconv.Itoa(len(c.Judged))})
	}
	files = slices.Compact(slices.Sorted(slices.Values(files)))
	v.Files = len(files) > 1
	for i := range p.Checks {
		v.Checks = append(v.Checks, p.check(&p.Checks[i], i))
	}
	w := Wires{Ends: p.Ends, First: p.First}
	for i, e := range w.worst() {
		v.Drawn = append(v.Drawn, newWireDrawing(e, p.First(e.Result)).view("end"+strconv.Itoa(i)))
	}
	v.refusalsView = refused(p.Refusals)
	return writePage(out, title, v.nodes())
}

// percentCell returns a cell with a share in percent.
func percentCell(part float64) record.Cell {
	return record.Cell{Value: strconv.FormatFloat(100*part, 'g', 6, 64), Text: fmt.Sprintf("%.1f %%", 100*part)}
}

func (p *Validations) check(c *Check, i int) checkView {
	of := func(right, n int) string { return fmt.Sprintf("%d of %d", right, n) }
	v := checkView{
		Name: c.Name, Policy: c.Policy, First: share{c.FirstRight, c.First}.String(), Median: percentCell(c.Median), P95: percentCell(c.P95),
		Timeouts: of(c.TimeoutsRight, c.Timeouts), Probes: of(c.ProbesRight, c.Probes), Reorders: of(c.ReordersRight, c.Reorders), Fast: of(c.FastRight, c.Fast),
		Passes: record.Cell{Text: yesOrNo[c.Passes()], Class: "better"}, Want: yesOrNo[c.Want],
	}
	if c.Passes() != c.Want {
		v.Passes.Class = "worse"
	}
	detections, recoveries := c.slopes()
	number := strconv.Itoa(i + 1)
	v.Detections = c.draw(detections, "retransmitted", paired{
		title: c.Name + ": detection", each: "a line for each loss", axis: "D", after: "open loop", name: "detection-" + number,
	})
	v.Recovery = c.draw(recoveries, "repaired", paired{
		title: c.Name + ": recovery", each: "a line for each loss", axis: "T_rec", after: "replayed", name: "recovery-" + number,
	})
	if c.Want { // under other timers losses are far off, as expected
		v.Losses, v.Note = p.judged(c)
	}
	return v
}

// slopes returns the open loop's detections and the replay's repairs, each paired with its captured
// time.
func (c *Check) slopes() (detections, recoveries []slope) {
	for _, j := range c.Judged {
		l := j.Loss()
		if j.Detected {
			detections = append(detections, slopeOf(j.Result, l, l.D, j.D))
		}
		if j.Repaired {
			recoveries = append(recoveries, slopeOf(j.Result, l, l.TRec, j.TRec))
		}
	}
	return detections, recoveries
}

// draw draws slopes as f says, nil if there are none. done says what happened to the losses in
// them.
func (c *Check) draw(all []slope, done string, f paired) *picture {
	lo, hi, ok := slopesSpan(all)
	if !ok {
		return nil
	}
	if n := len(c.Judged) - len(all); n > 0 {
		f.note = fmt.Sprintf("%d were not %s.", n, done)
	}
	f.before, f.head = "captured", []string{"file", "conn", "packet", "kind", "captured_s", "replayed_s"}
	fig := f.draw(all, lo, hi)
	return &fig
}

// judged returns the rows of the losses, farthest off first, and a note if some are left out.
func (p *Validations) judged(c *Check) (rows []judgedView, note string) {
	all := slices.Clone(c.Judged)
	slices.SortStableFunc(all, func(a, b replay.Judged) int { return cmp.Compare(b.Off, a.Off) })
	if len(all) > maxLossRows {
		note = fmt.Sprintf("The %d of %d losses that are farthest off.", maxLossRows, len(all))
		all = all[:maxLossRows]
	}
	for _, j := range all {
		l := j.Loss()
		row := judgedView{
			File: j.File, From: [2]string{j.Client.String(), j.Server.String()}[l.Flow], Conn: j.ID, Packet: l.Packet,
			At: micro(j.Captured.Seconds(l.At, p.First(j.Result))), Kind: l.Kind.String(), Right: yesOrNo[j.Right],
			CapturedD: record.SpanCell(l.D, true), D: record.SpanCell(j.D, j.Detected), Captured: record.SpanCell(l.TRec, true),
			TRec: record.SpanCell(j.TRec, j.Repaired), Off: percentCell(j.Off),
		}
		if !j.Repaired {
			row.Off.Text = "not repaired"
		}
		rows = append(rows, row)
	}
	return rows, note
}

var yesOrNo = map[bool]string{true: "yes", false: "no"}
