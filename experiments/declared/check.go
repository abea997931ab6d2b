package declared

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tcpwheel/experiments"
)

var (
	classes = []string{string(experiments.OfOthers), string(experiments.Law), string(experiments.Check)}
	tags    = []string{string(experiments.FromSource), string(experiments.FromPrint), string(experiments.Computed),
		string(experiments.Standard)}
	readings = []string{"", string(experiments.ReadPaper), string(experiments.ReadAbstract),
		string(experiments.ReadSummary), string(experiments.ReadCode), string(experiments.ReadNothing)}
)

// fill copies fields of from that to does not have, but not its list of values.
func fill[T any](to, from *T) {
	a, b := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for i := range a.NumField() {
		if a.Field(i).IsZero() && a.Field(i).CanSet() && a.Type().Field(i).Name != "For" {
			a.Field(i).Set(b.Field(i))
		}
	}
}

// claims checks the claims and notes.
func (n *names) claims() error {
	for _, e := range n.sheet.claims {
		if err := n.claim(e.line, &e.of); err != nil {
			return within("claims: "+e.name, err)
		}
	}
	for _, e := range n.sheet.notes {
		locals := n.locals(e.of.For)
		err := n.formula(e.of.For)
		if err == nil {
			err = n.formula(e.of.When, locals...)
		}
		if err == nil {
			err = n.prose(e.of.Text, locals...)
		}
		if err != nil {
			return within("notes: "+e.name, err)
		}
	}
	return nil
}

func (n *names) claim(line int, c *claim) error {
	locals := n.locals(c.For)
	for _, f := range []formula{c.For, c.When, c.Seeds, c.Measure} {
		if err := n.formula(f, locals...); err != nil {
			return err
		}
	}
	for _, p := range []prose{{template: c.name}, c.Text, c.Else, c.Published, c.Unit, c.Measured, c.Why} {
		if err := n.prose(p, locals...); err != nil {
			return err
		}
	}
	for _, word := range []struct {
		key  string
		have located
		want []string
	}{{"class", c.Class, classes}, {"tag", c.Tag, tags}, {"look: read", c.Look.Read, readings}} {
		if !slices.Contains(word.want, word.have.text) {
			return lineError(max(word.have.line, line), fmt.Sprintf("%s: %q, want one of %s", word.key,
				word.have.text, strings.TrimPrefix(strings.Join(word.want, ", "), ", ")))
		}
	}
	switch {
	case c.Expect == nil:
		return lineError(line, "want expect")
	case !c.Measure.set() && c.Measured.text() == "":
		return lineError(line, "want measure or measured")
	case c.When.set() && c.Else.text() == "":
		return lineError(line, "when needs else: why the claim does not apply")
	}
	if a := c.Also; a != nil {
		if err := n.formula(a.Holds, locals...); err != nil {
			return within("also", err)
		}
		if err := n.prose(a.Text, locals...); err != nil {
			return within("also", err)
		}
		if !a.Holds.set() || a.Text.text() == "" {
			return lineError(line, "also: want holds and text")
		}
	}
	for key, b := range map[string]*band{"expect": c.Expect, "differs": c.Differs} {
		if b == nil {
			continue
		}
		if err := n.band(line, b, locals...); err != nil {
			return within(key, err)
		}
	}
	return nil
}

// text returns the text of a template, "" if the file has none.
func (p *prose) text() string { return p.located.text }

// rules returns how many rules a band has, and its formulas.
func (b *band) rules() (count int, all []formula) {
	for _, f := range []formula{b.Exactly, b.AtLeast, b.AtMost, b.Above, b.Below, b.Printed, b.Holds} {
		if f.set() {
			count, all = count+1, append(all, f)
		}
	}
	for _, l := range []list[formula]{b.Between, b.Within, b.WithinPercent, b.PrintedRange} {
		if l != nil {
			count, all = count+1, append(all, l...)
		}
	}
	return count, all
}

// locals are the names that are known for each value of a list.
func (n *names) locals(of formula) []string {
	if !of.set() {
		return nil
	}
	return []string{"item", "index"}
}

func (n *names) band(line int, b *band, locals ...string) error {
	count, all := b.rules()
	if count != 1 {
		return lineError(line, fmt.Sprintf("%d rules, want one of exactly, at_least, at_most, above, below, "+
			"between, within, within_percent, printed, printed_range, holds", count))
	}
	for _, l := range []list[formula]{b.Between, b.Within, b.WithinPercent, b.PrintedRange} {
		if l != nil && len(l) != 2 {
			return lineError(line, fmt.Sprintf("%d numbers, want two", len(l)))
		}
	}
	if b.Holds.set() && b.Text.text() == "" {
		return lineError(line, "holds needs a text that says what was expected")
	}
	for _, f := range all {
		if err := n.formula(f, locals...); err != nil {
			return err
		}
	}
	for _, p := range []prose{b.Unit, b.Text} {
		if err := n.prose(p, locals...); err != nil {
			return err
		}
	}
	return nil
}

// shown checks tables and figures.
func (n *names) shown() error {
	for _, e := range n.sheet.tables {
		if err := n.table(&e.of); err != nil {
			return within("tables: "+e.name, err)
		}
	}
	for _, e := range n.sheet.figures {
		if err := n.graph(&e.of); err != nil {
			return within("figures: "+e.name, err)
		}
	}
	return nil
}

func (n *names) columnsExist(key string, all []string) error {
	for _, name := range all {
		if !slices.Contains(n.columns, name) {
			return fmt.Errorf("%s: %s: no such column%s, want one of %s", key, name, nearest(name, n.columns),
				strings.Join(n.columns, ", "))
		}
	}
	return nil
}

func (n *names) table(t *table) error {
	locals := n.locals(t.For)
	if err := n.formula(t.For); err != nil {
		return err
	}
	for _, text := range []prose{{template: t.name, located: located{line: t.Title.line}}, t.Title} {
		if err := n.prose(text, locals...); err != nil {
			return err
		}
	}
	if err := n.formula(t.When, locals...); err != nil {
		return err
	}
	in, err := n.in(t.Rows)
	if err == nil {
		err = in.columnsExist("each", t.Each)
	}
	if err != nil {
		return atLine(t.Title.line, err)
	}
	if err := in.formula(t.Where, locals...); err != nil {
		return err
	}
	for _, line := range t.Above {
		if most, sure := width(t.Columns); sure && len(line) != most {
			return atLine(t.Title.line, fmt.Errorf("above: %d values, want one for each of %d columns", len(line), most))
		}
		for _, f := range line {
			if err := n.formula(f); err != nil {
				return within("above", err)
			}
		}
	}
	return in.tableColumns(t.Columns, locals...)
}

// width returns how many columns a table has; !sure if a list decides.
func width(all ordered[column]) (n int, sure bool) {
	for i := range all {
		c := &all[i].of
		if c.For.set() {
			return 0, false
		}
		switch {
		case c.Interval.set():
			n += 3
		case c.Columns == nil:
			n++
		default:
			inside, ok := width(c.Columns)
			if !ok {
				return 0, false
			}
			n += inside
		}
	}
	return n, true
}

func (n *names) tableColumns(all ordered[column], locals ...string) error {
	for i := range all {
		c := &all[i].of
		if err := n.formula(c.For, locals...); err != nil {
			return err
		}
		inside := append(n.locals(c.For), locals...)
		if err := n.prose(c.heading, inside...); err != nil && c.Columns == nil {
			return err
		}
		for _, f := range []formula{c.Value, c.Interval} {
			if err := n.formula(f, inside...); err != nil {
				return err
			}
		}
		if c.Columns == nil && !c.Value.set() && !c.Interval.set() {
			return lineError(c.heading.line, "want value or interval, or for with value or columns")
		}
		if err := n.tableColumns(c.Columns, inside...); err != nil {
			return err
		}
	}
	return nil
}

func (n *names) graph(g *graph) error {
	if err := n.formula(g.For); err != nil {
		return err
	}
	locals := n.locals(g.For)
	for _, p := range []prose{{template: g.name}, g.Title, g.Caption, g.X.Label, g.Y.Label} {
		if err := n.prose(p, locals...); err != nil {
			return err
		}
	}
	if err := n.prose(g.X.Ticks, append(locals, n.columns...)...); err != nil {
		return within("ticks", err)
	}
	formulas := []formula{g.When, g.X.From, g.X.To, g.Y.From, g.Y.To}
	marks := slices.Clone(g.Marks)
	for _, p := range g.Panels {
		for _, t := range []prose{p.of.Title, p.of.Caption, p.of.Y.Label} {
			if err := n.prose(t, locals...); err != nil {
				return within(p.name, err)
			}
		}
		formulas, marks = append(formulas, p.of.Y.From, p.of.Y.To), append(marks, p.of.Marks...)
	}
	for _, m := range marks {
		if err := n.formula(m.For, locals...); err != nil {
			return err
		}
		inside := append(n.locals(m.For), locals...)
		if err := n.prose(m.Label, inside...); err != nil {
			return err
		}
		for _, f := range []formula{m.X, m.Y} {
			if err := n.formula(f, inside...); err != nil {
				return err
			}
		}
	}
	if g.Grid != nil {
		if err := n.grid(g.Grid, locals); err != nil {
			return within("grid", err)
		}
	}
	for _, f := range formulas {
		if err := n.formula(f, locals...); err != nil {
			return err
		}
	}
	for _, s := range g.Series {
		if err := n.series(&s, g.Panels, locals); err != nil {
			return err
		}
	}
	return nil
}

func (n *names) grid(g *grid, locals []string) error {
	n, err := n.in(g.Rows)
	if err == nil {
		err = n.columnsExist("across and up", []string{g.Across, g.Up})
	}
	if err != nil {
		return atLine(max(g.Value.line, g.Class.line), err)
	}
	if g.Value.set() == g.Class.set() || g.Class.set() != g.Classes.set() {
		return lineError(max(g.Value.line, g.Class.line), "want value, or class and classes")
	}
	for _, f := range []formula{g.Where, g.Value, g.Class, g.Classes} {
		if err := n.formula(f, locals...); err != nil {
			return err
		}
	}
	for _, p := range []prose{g.Text, g.Labels.Across, g.Labels.Up} {
		if err := n.prose(p, locals...); err != nil {
			return err
		}
	}
	return nil
}

func (n *names) series(s *series, panels ordered[panel], locals []string) error {
	if s.Series != nil {
		if err := n.formula(s.For, locals...); err != nil {
			return err
		}
		for i := range s.Series {
			if err := n.series(&s.Series[i], panels, append(n.locals(s.For), locals...)); err != nil {
				return err
			}
		}
		return nil
	}
	n, err := n.in(s.Rows)
	columns := append(slices.Clone([]string(s.Lines)), s.Over)
	if s.function() || s.Share.set() {
		columns = s.Lines
	}
	if err == nil {
		err = n.columnsExist("series", columns)
	}
	if err != nil {
		return atLine(s.X.line, err)
	}
	if err := n.prose(s.Name, locals...); err != nil {
		return err
	}
	for _, f := range []formula{s.Dashed, s.Group, s.Marker, s.Where, s.From, s.To, s.Step, s.At} {
		if err := n.formula(f, locals...); err != nil {
			return err
		}
	}
	values := []formula{s.X, s.Y, s.Law, s.Tail, s.Share}
	for _, p := range panels {
		values = append(values, p.of.Value)
	}
	for _, f := range values {
		if err := n.formula(f, append([]string{s.Over}, locals...)...); err != nil {
			return err
		}
	}
	return nil
}
