package declared

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"tcpwheel/experiments"
)

// Judge returns the judge of a study whose claims, tables and figures are in claims.yaml and
// figures.yaml of a folder. P is its plan, and R a row: the result of a cell. The first call panics
// if the files are wrong: they are part of the program, and a test runs each study.
func Judge[P, R any](files fs.FS, folder string) func(*P, []R) (*experiments.Outcome, error) {
	sheet := mustRead(files, folder, new(P), *new(R))
	return func(p *P, cells []R) (*experiments.Outcome, error) {
		return sheet().outcome(p, tableOf(cells))
	}
}

// mustRead returns the sheet of a folder, for a plan and rows like these. The first call panics if
// its files are wrong.
func mustRead(files fs.FS, folder string, plan, row any) func() *Sheet {
	return sync.OnceValue(func() *Sheet {
		s, err := Read(files, folder)
		if err == nil {
			err = s.Check(plan, Columns(row))
		}
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return s
	})
}

// Define defines a study that is judged by the claims.yaml and figures.yaml of its folder. Its rows
// are the results of its cells.
func Define[P, C any](s experiments.Spec[P, C]) *experiments.Study {
	return DefineRows(s, func(_ *P, cells []C) []C { return cells })
}

// DefineRows is Define for a study whose rows are made from its plan and the results of its cells.
func DefineRows[P, C, R any](s experiments.Spec[P, C], rows func(p *P, cells []C) []R) *experiments.Study {
	sheet := mustRead(s.Files, folderOf(s.Folder), new(P), *new(R))
	s.Judge = func(p *P, cells []C) (*experiments.Outcome, error) {
		if s.Applies != nil {
			if err := s.Applies(p); err != nil {
				return sheet().notApplicable(p, tableOf(rows(p, cells)), err.Error())
			}
		}
		return sheet().outcome(p, tableOf(rows(p, cells)))
	}
	s.Words = sync.OnceValue(func() experiments.Words { return words(s.Files, folderOf(s.Folder)) })
	s.Rows, s.Row = func(p *P, cells []C) any { return rows(p, cells) }, *new(R)
	return experiments.Define(s)
}

// words reads the words of claims.yaml, and nothing else of it: a list of studies needs no more.
func words(files fs.FS, folder string) experiments.Words {
	var says struct{ Question, Found, Rows string }
	text, err := fs.ReadFile(files, path.Join(folder, "claims.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &says)
	}
	if err != nil {
		panic(fmt.Sprintf("BUG: %s: %v", path.Join(folder, "claims.yaml"), err))
	}
	return experiments.Words{Question: strings.TrimSpace(says.Question), Found: strings.TrimSpace(says.Found),
		Rows: strings.TrimSpace(says.Rows)}
}

// folderOf returns where the files of a study are in the files of its package.
func folderOf(folder string) string {
	_, below, _ := strings.Cut(folder, "/")
	return cmp.Or(below, ".")
}

// newScope returns the scope of all rows.
func newScope(sh *Sheet, plan any, table *rows) *scope {
	s := &scope{sheet: sh, named: planValues(plan), base: &base{rows: table, groups: map[string]*rows{}}}
	return s.at(table)
}

// at returns the scope of all rows of a table. Their columns hide those of the groups around.
func (s *scope) at(table *rows) *scope {
	in := s.within(nil, make([]int, len(table.values)))
	in.table, in.memo = table, nil
	for i := range in.which {
		in.which[i] = i
	}
	for name := range in.fixed {
		if _, ok := table.index[name]; ok {
			delete(in.fixed, name)
		}
	}
	return in
}

// inGroups returns the scope of the groups of that name as rows.
func (s *scope) inGroups(name string) (*scope, error) {
	if made, ok := s.base.groups[name]; ok {
		return s.at(made), nil
	}
	i := slices.IndexFunc(s.sheet.groups, func(e entry[groupRows]) bool { return e.name == name })
	if i < 0 {
		return nil, fmt.Errorf("in %s: no such groups", name)
	}
	e := &s.sheet.groups[i].of
	made := &rows{names: e.columns(), index: map[string]int{}}
	for i, column := range made.names {
		made.index[column] = i
	}
	all, err := (&scope{sheet: s.sheet, named: s.named, base: s.base}).at(s.base.rows).groups(e.Each, e.Where.tree)
	if err != nil {
		return nil, within("groups: "+name, atLine(e.Where.line, err))
	}
	for _, g := range all {
		row := slices.Clone(g.key)
		for _, m := range e.Measures {
			v, err := g.scope.value(m.of.expression)
			if errors.Is(err, errNoRows) {
				v, err = absent(m.of.expression.text), nil
			}
			if err != nil {
				return nil, within("groups: "+name+": "+m.name, atLine(m.line, err))
			}
			row = append(row, plain(v))
		}
		made.values = append(made.values, row)
	}
	s.base.groups[name] = made
	return s.at(made), nil
}

// outcome judges rows.
func (sh *Sheet) outcome(plan any, table *rows) (*experiments.Outcome, error) {
	s := newScope(sh, plan, table)
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
		if err := s.forEach(e.of.For, func(s *scope) error { return s.addTable(out, &e.of) }); err != nil {
			return nil, inFile(sh.figuresFile, within("tables: "+e.name, err))
		}
	}
	for _, e := range sh.figures {
		if err := s.addFigures(out, &e.of); err != nil {
			return nil, inFile(sh.figuresFile, within("figures: "+e.name, err))
		}
	}
	for _, e := range sh.claims {
		err := s.forEach(e.of.For, func(s *scope) error { return s.addClaim(out, &e.of) })
		if err != nil {
			return nil, inFile(sh.claimsFile, within("claims: "+e.name, atLine(e.line, err)))
		}
	}
	for _, e := range sh.notes {
		if err := s.forEach(e.of.For, func(s *scope) error { return s.addNote(out, &e.of) }); err != nil {
			return nil, inFile(sh.claimsFile, within("notes: "+e.name, atLine(e.line, err)))
		}
	}
	return out, nil
}

// notApplicable returns all claims as ones that a plan leaves without meaning.
func (sh *Sheet) notApplicable(plan any, table *rows, reason string) (*experiments.Outcome, error) {
	s := newScope(sh, plan, table)
	out := &experiments.Outcome{}
	for _, e := range sh.claims {
		if e.of.For.set() {
			continue // of rows that there are not
		}
		made, err := s.claimText(&e.of)
		if err != nil {
			made.Text = e.of.Text.text() // it shows what is measured
		}
		out.NotApplicable(made, reason)
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
	switch {
	case err != nil:
		return err
	case n.Warning:
		out.Warnings = append(out.Warnings, text)
	default:
		out.Notes = append(out.Notes, text)
	}
	return nil
}

// claimText returns a claim with its texts. A text that shows a measure without rows stays as it is
// in the file.
func (s *scope) claimText(c *claim) (made experiments.Claim, err error) {
	made = experiments.Claim{
		Class: experiments.ClaimClass(c.Class.text), Source: c.Source.text, Tag: experiments.Tag(c.Tag.text),
		Basis: c.Basis.text, Doubted: c.Doubted,
		Look: experiments.Look{Read: experiments.Read(c.Look.Read.text), At: c.Look.At.text, Quote: c.Look.Quote.text,
			Turns: c.Look.Turns.text},
	}
	if made.Name, err = s.text(c.Name.template); err != nil {
		return made, err
	}
	for _, t := range []struct {
		from *prose
		to   *string
	}{{&c.Text, &made.Text}, {&c.Published, &made.Published}, {&c.Why, &made.Otherwise}} {
		if *t.to, err = s.text(t.from.template); errors.Is(err, errNoRows) {
			*t.to, err = t.from.text(), nil // of a claim that does not apply
		}
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

func (s *scope) addClaim(out *experiments.Outcome, c *claim) error {
	s.base.none = nil
	made, err := s.claimText(c)
	if err != nil {
		return err
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
	if err == nil && c.Also != nil {
		made.Expected, err = s.also(made.Expected, c.Also)
	}
	if err == nil {
		made.Measured, err = s.measure(c)
		made.Measured.Exact = c.Exact
	}
	if errors.Is(err, errNoRows) {
		what := c.wants()
		if _, of, ok := strings.Cut(err.Error(), errNoRows.Error()+": "); ok {
			what = of
		}
		if s.base.none != nil {
			what += s.base.none()
		}
		out.NotApplicable(made, "the plan has no such rows: "+what)
		return nil
	}
	if err == nil && c.Seeds.set() {
		made.Needs, err = s.seeds(c.Seeds)
	}
	if err == nil {
		out.Claim(made)
	}
	return err
}

// seeds returns why a verdict needs more seeds than the plan has, "" if it has them.
func (s *scope) seeds(least formula) (string, error) {
	x, err := s.floatOf(least.tree)
	if err != nil {
		return "", err
	}
	have, ok := number(s.named["seeds"])
	if !ok || have >= x {
		return "", nil
	}
	return fmt.Sprintf("%s seeds, and the verdict needs %s", show(have), show(x)), nil
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

// also returns a band with a second condition.
func (s *scope) also(b experiments.Band, a *also) (experiments.Band, error) {
	text, err := s.text(a.Text.template)
	if err != nil {
		return b, err
	}
	ok, err := s.yes(a.Holds.tree)
	return b.Also(ok, "%s", text), err
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
