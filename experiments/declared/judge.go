package declared

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/plan"
)

// Judge returns the judge of a study whose claims, tables and figures are in claims.yaml and
// figures.yaml of a folder. P is its plan, and R a row: the result of a cell. The first call panics
// if the files are wrong: they are part of the program, and a test runs each study.
func Judge[P, R any](files fs.FS, folder string) func(*P, []R) (*experiments.Outcome, error) {
	sheet := sync.OnceValue(func() *Sheet {
		s, err := Read(files, folder)
		if err == nil {
			err = s.Check(new(P), Columns(*new(R)))
		}
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return s
	})
	return func(p *P, cells []R) (*experiments.Outcome, error) {
		return sheet().outcome(p, tableOf(cells))
	}
}

// Open opens a user's folder: plan.yaml, which names the study whose runs it takes, claims.yaml and
// figures.yaml over the rows of that study. find returns a study by its name, nil if there is none.
// Errors name the file, line and key.
func Open(files fs.FS, folder string, quick bool, find func(name string) *experiments.Study) (*experiments.Job, error) {
	name := path.Join(folder, "plan.yaml")
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	source, err := plan.Parse(name, text)
	if err != nil {
		return nil, err
	}
	study := find(source.Study)
	if study == nil {
		return nil, source.Locate(fmt.Errorf("study: %q, want the name of a study, such as sweep", source.Study), false)
	}
	sheet, err := Read(files, folder)
	if err == nil {
		err = sheet.Check(study.NewPlan(), Columns(study.Row()))
	}
	if err != nil {
		return nil, err
	}
	job, err := study.OpenPlan(source, quick)
	if err != nil {
		return nil, err
	}
	job.JudgeBy(func(plan, rows any) (*experiments.Outcome, error) { return sheet.outcome(plan, tableOf(rows)) })
	return job, nil
}

// outcome judges rows.
func (sh *Sheet) outcome(plan any, table *rows) (*experiments.Outcome, error) {
	s := &scope{sheet: sh, table: table, named: planValues(plan), row: -1}
	for i := range table.values {
		s.which = append(s.which, i)
	}
	for _, e := range sh.let {
		v, err := s.value(e.of.expression)
		if errors.Is(err, errNoRows) {
			v, err = absent(e.of.expression.text), nil // the claims that want it do not apply
		}
		if err != nil {
			return nil, inFile(sh.claimsFile, within("let: "+e.name, atLine(e.of.line, err)))
		}
		s.named[e.name] = v
	}
	out := &experiments.Outcome{}
	for _, e := range sh.tables {
		if err := s.addTable(out, e.name, &e.of); err != nil {
			return nil, inFile(sh.figuresFile, within("tables: "+e.name, err))
		}
	}
	for _, e := range sh.figures {
		if err := s.addFigure(out, e.name, &e.of); err != nil {
			return nil, inFile(sh.figuresFile, within("figures: "+e.name, err))
		}
	}
	for _, e := range sh.claims {
		if err := s.addClaim(out, e.name, &e.of); err != nil {
			return nil, inFile(sh.claimsFile, within("claims: "+e.name, atLine(e.line, err)))
		}
	}
	for _, e := range sh.notes {
		if err := s.addNote(out, &e.of); err != nil {
			return nil, inFile(sh.claimsFile, within("notes: "+e.name, atLine(e.line, err)))
		}
	}
	return out, nil
}

// applies reports whether a condition of the file holds. Without one it does; one that has no rows
// to look at does not.
func (s *scope) applies(f formula) (bool, error) {
	if !f.set() {
		return true, nil
	}
	ok, err := s.yes(f.tree)
	if errors.Is(err, errNoRows) {
		return false, nil
	}
	return ok, err
}

func (s *scope) addNote(out *experiments.Outcome, n *note) error {
	if ok, err := s.applies(n.When); err != nil || !ok {
		return err
	}
	text, err := s.text(n.Text.template)
	if errors.Is(err, errNoRows) {
		return nil // the plan has no such runs to speak about
	}
	if err == nil {
		out.Notes = append(out.Notes, text)
	}
	return err
}

func (s *scope) addClaim(out *experiments.Outcome, name string, c *claim) error {
	made := experiments.Claim{Name: name, Class: experiments.ClaimClass(c.Class.text), Source: c.Source.text, Tag: experiments.Tag(c.Tag.text), Basis: c.Basis.text, Doubted: c.Doubted}
	for _, t := range []struct {
		from *prose
		to   *string
	}{{&c.Text, &made.Text}, {&c.Published, &made.Published}, {&c.Why, &made.Otherwise}} {
		var err error
		if *t.to, err = s.text(t.from.template); errors.Is(err, errNoRows) {
			*t.to, err = t.from.text(), nil // of a claim that does not apply
		}
		if err != nil {
			return err
		}
	}
	ok, err := s.applies(c.When)
	if err != nil {
		return err
	}
	if !ok {
		reason, err := s.text(c.Else.template)
		if err != nil {
			return err
		}
		out.NotApplicable(made, reason)
		return nil
	}
	if made.Expected, err = s.band(c.Expect); err == nil && c.Differs != nil {
		var wide experiments.Band
		wide, err = s.band(c.Differs)
		made.Expected = made.Expected.OrDiffers(wide)
	}
	if err == nil {
		made.Measured, err = s.measure(c)
	}
	if errors.Is(err, errNoRows) {
		what := c.wants()
		if _, of, ok := strings.Cut(err.Error(), errNoRows.Error()+": "); ok {
			what = of
		}
		out.NotApplicable(made, "the plan has no such rows: "+what)
		return nil
	}
	if err == nil {
		out.Claim(made)
	}
	return err
}

// wants returns the text of what a claim measures.
func (c *claim) wants() string {
	if c.Measure.set() {
		return c.Measure.expression.text
	}
	return c.Measured.text()
}

// measure measures a claim: a number, with its interval if it has one, or words.
func (s *scope) measure(c *claim) (m experiments.Measure, err error) {
	var v any
	if c.Measure.set() {
		if v, err = s.value(c.Measure.expression); err != nil {
			return m, err
		}
	}
	unit, err := s.text(c.Unit.template)
	if err != nil {
		return m, err
	}
	if c.Measured.text() != "" {
		words, err := s.text(c.Measured.template)
		m = experiments.MeasuredText("%s", words)
		if x, ok := number(v); ok {
			m = m.Judging(x)
		}
		return m, err
	}
	if in, ok := interval(v); ok {
		return experiments.MeasuredWithin(in, unit), nil
	}
	switch v := plain(v).(type) {
	case float64:
		return experiments.Measured(v, unit), nil
	case time.Duration:
		return experiments.MeasuredSpan(v), nil
	}
	return m, fmt.Errorf("measure: %s, want a number or a duration", kind(v))
}

// band returns the band of a claim.
func (s *scope) band(b *band) (experiments.Band, error) {
	var x []float64
	_, all := b.rules()
	unit, err := s.text(b.Unit.template)
	if err != nil {
		return experiments.Band{}, err
	}
	if b.Holds.set() {
		text, err := s.text(b.Text.template)
		if err != nil {
			return experiments.Band{}, err
		}
		ok, err := s.yes(b.Holds.tree)
		return experiments.Whether(ok, "%s", text), err
	}
	for _, f := range all {
		v, err := s.floatOf(f.tree)
		if err != nil {
			return experiments.Band{}, err
		}
		x = append(x, v)
	}
	var made experiments.Band
	switch {
	case b.Exactly.set():
		made = experiments.Exactly(x[0], unit)
	case b.AtLeast.set():
		made = experiments.AtLeast(x[0], unit)
	case b.AtMost.set():
		made = experiments.AtMost(x[0], unit)
	case b.Above.set():
		made = experiments.Above(x[0], unit)
	case b.Below.set():
		made = experiments.Below(x[0], unit)
	case b.Between != nil:
		made = experiments.Between(x[0], x[1], unit)
	case b.Within != nil:
		made = experiments.Within(x[0], x[1], unit)
	case b.WithinPercent != nil:
		made = experiments.WithinPercent(x[0], x[1], unit)
	case b.Printed.set():
		made = experiments.Printed(x[0], unit)
	default:
		made = experiments.PrintedRange(x[0], x[1], unit)
	}
	if b.AsPrinted {
		made = experiments.PrintedBound(made)
	}
	if b.Text.text() != "" {
		text, err := s.text(b.Text.template)
		return made.Saying("%s", text), err
	}
	return made, nil
}

// rowsWhere returns s with the rows that meet a condition of the file.
func (s *scope) rowsWhere(where formula) (*scope, error) {
	which, err := s.chosen(where.tree)
	if err != nil {
		return nil, atLine(where.line, err)
	}
	return s.within(nil, which), nil
}

func (s *scope) addTable(out *experiments.Outcome, name string, t *table) error {
	if ok, err := s.applies(t.When); err != nil || !ok {
		return err
	}
	title, err := s.text(t.Title.template)
	if err != nil {
		return err
	}
	made := experiments.Table{Name: name, Title: title, Data: t.Data}
	columns, err := s.columns(t)
	if err != nil {
		return err
	}
	for _, c := range columns {
		heading, err := c.in(s).text(c.heading.template)
		if err != nil {
			return atLine(c.heading.line, err)
		}
		made.Columns = append(made.Columns, heading)
	}
	in, err := s.rowsWhere(t.Where)
	if err != nil {
		return err
	}
	groups, err := in.groups(t.Each, nil)
	if err != nil {
		return err
	}
	for _, g := range groups {
		var row []any
		for _, c := range columns {
			v, err := c.in(g.scope).value(c.Value.expression)
			if errors.Is(err, errNoRows) {
				v, err = "", nil
			}
			if err != nil {
				return atLine(c.Value.line, err)
			}
			row = append(row, cell(v))
		}
		made.Add(row...)
	}
	if len(groups) > 0 {
		out.Tables = append(out.Tables, made)
	}
	return nil
}

// cell returns a value as a table shows it.
func cell(v any) any {
	if x, ok := number(v); ok {
		return x
	}
	if l, ok := plain(v).([]any); ok {
		return show(l)
	}
	return plain(v)
}

// oneColumn is a column, and for one of a list the item.
type oneColumn struct {
	*column
	fixed map[string]any
}

func (c *oneColumn) in(s *scope) *scope {
	if c.fixed == nil {
		return s
	}
	return s.within(c.fixed, s.which)
}

func (s *scope) columns(t *table) (all []oneColumn, err error) {
	for i := range t.Columns {
		c := &t.Columns[i].of
		if !c.For.set() {
			all = append(all, oneColumn{c, nil})
			continue
		}
		list, err := s.listOf(c.For.tree)
		if err != nil {
			return nil, atLine(c.For.line, err)
		}
		for k, v := range list {
			all = append(all, oneColumn{c, map[string]any{"item": v, "index": float64(k)}})
		}
	}
	return all, nil
}

func (s *scope) addFigure(out *experiments.Outcome, name string, g *graph) error {
	if ok, err := s.applies(g.When); err != nil || !ok {
		return err
	}
	made := figure.Figure{Name: name, X: figure.Axis{Log: g.X.Log}, Y: figure.Axis{Log: g.Y.Log}}
	for _, t := range []struct {
		from *prose
		to   *string
	}{{&g.Title, &made.Title}, {&g.Caption, &made.Caption}, {&g.X.Label, &made.X.Label}, {&g.Y.Label, &made.Y.Label}} {
		var err error
		if *t.to, err = s.text(t.from.template); err != nil {
			return atLine(t.from.line, err)
		}
	}
	for _, e := range []struct {
		from formula
		to   *float64
	}{{g.X.From, &made.X.Lo}, {g.X.To, &made.X.Hi}, {g.Y.From, &made.Y.Lo}, {g.Y.To, &made.Y.Hi}} {
		if !e.from.set() {
			continue
		}
		var err error
		if *e.to, err = s.floatOf(e.from.tree); err != nil {
			return atLine(e.from.line, err)
		}
	}
	for _, m := range g.Marks {
		label, err := s.text(m.Label.template)
		at := m.Y
		if m.X.set() {
			at = m.X
		}
		var x float64
		if err == nil {
			x, err = s.floatOf(at.tree)
		}
		if err != nil {
			return atLine(m.Label.line, err)
		}
		made.Marks = append(made.Marks, figure.Mark{Label: label, At: x, Vertical: m.X.set()})
	}
	for i := range g.Series {
		if err := s.addSeries(&made, &g.Series[i]); err != nil {
			return atLine(g.Series[i].Y.line, err)
		}
	}
	out.Figures = append(out.Figures, made)
	return nil
}

// addSeries adds the lines of a series.
func (s *scope) addSeries(f *figure.Figure, from *series) error {
	kind := from.Kind
	if kind == "" {
		kind = figure.Line
	}
	if from.Step.set() {
		return s.addFunction(f, from, kind)
	}
	in, err := s.rowsWhere(from.Where)
	if err != nil {
		return err
	}
	lines := []group{{scope: in}}
	if len(from.Lines) > 0 {
		if lines, err = in.groups(from.Lines, nil); err != nil {
			return err
		}
	}
	for _, line := range lines {
		name, err := line.scope.text(from.Name.template)
		if err != nil {
			return err
		}
		made := figure.Series{Name: name, Kind: kind, Dashed: from.Dashed}
		points, err := line.scope.groups([]string{from.Over}, nil)
		if err != nil {
			return err
		}
		if kind != figure.Points {
			rising(points)
		}
		for _, p := range points {
			if err := p.scope.addPoint(&made, from); err != nil {
				return err
			}
		}
		f.Series = append(f.Series, made)
	}
	return nil
}

func (s *scope) addPoint(made *figure.Series, from *series) error {
	x, err := s.floatOf(from.X.tree)
	if err != nil {
		return err
	}
	y, err := s.eval(from.Y.tree)
	if err != nil {
		return err
	}
	if in, ok := interval(y); ok {
		made.AddInterval(x, in)
		return nil
	}
	value, ok := number(y)
	if !ok {
		return fmt.Errorf("y: %s, want a number", kind(y))
	}
	made.Add(x, value)
	return nil
}

// mostPoints bounds the points of a function's line.
const mostPoints = 100_000

// addFunction adds the line of a function: y for the values of a variable from one to another.
func (s *scope) addFunction(f *figure.Figure, from *series, kind figure.Kind) error {
	name, err := s.text(from.Name.template)
	if err != nil {
		return err
	}
	var ends [3]any
	for i, e := range []formula{from.From, from.To, from.Step} {
		if ends[i], err = s.eval(e.tree); err != nil {
			return err
		}
	}
	made := figure.Series{Name: name, Kind: kind, Dashed: from.Dashed}
	at := plain(ends[0])
	for range mostPoints {
		sign, err := compare(at, ends[1])
		if err != nil {
			return err
		}
		if sign > 0 {
			break
		}
		if err := s.within(map[string]any{from.Over: at}, slices.Clone(s.which)).addPoint(&made, from); err != nil {
			return err
		}
		if at, err = arithmetic("+", at, ends[2]); err != nil {
			return err
		}
	}
	f.Series = append(f.Series, made)
	return nil
}
