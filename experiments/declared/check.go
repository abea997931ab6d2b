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
	tags    = []string{string(experiments.FromSource), string(experiments.FromPrint), string(experiments.Computed), string(experiments.Standard)}
)

// fill copies fields of from that to does not have.
func fill(to, from *claim) {
	a, b := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for i := range a.NumField() {
		if a.Field(i).IsZero() {
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
		err := n.formula(e.of.When)
		if err == nil {
			err = n.prose(e.of.Text)
		}
		if err != nil {
			return within("notes: "+e.name, err)
		}
	}
	return nil
}

func (n *names) claim(line int, c *claim) error {
	for _, f := range []formula{c.When, c.Measure} {
		if err := n.formula(f); err != nil {
			return err
		}
	}
	for _, p := range []prose{c.Text, c.Else, c.Published, c.Unit, c.Measured, c.Why} {
		if err := n.prose(p); err != nil {
			return err
		}
	}
	for _, word := range []struct {
		key  string
		have located
		want []string
	}{{"class", c.Class, classes}, {"tag", c.Tag, tags}} {
		if !slices.Contains(word.want, word.have.text) {
			return lineError(max(word.have.line, line), fmt.Sprintf("%s: %q, want one of %s", word.key, word.have.text, strings.Join(word.want, ", ")))
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
	for key, b := range map[string]*band{"expect": c.Expect, "differs": c.Differs} {
		if b == nil {
			continue
		}
		if err := n.band(line, b); err != nil {
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

func (n *names) band(line int, b *band) error {
	count, all := b.rules()
	if count != 1 {
		return lineError(line, fmt.Sprintf("%d rules, want one of exactly, at_least, at_most, above, below, between, within, within_percent, printed, printed_range, holds", count))
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
		if err := n.formula(f); err != nil {
			return err
		}
	}
	for _, p := range []prose{b.Unit, b.Text} {
		if err := n.prose(p); err != nil {
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
			return fmt.Errorf("%s: %s: no such column%s, want one of %s", key, name, nearest(name, n.columns), strings.Join(n.columns, ", "))
		}
	}
	return nil
}

func (n *names) table(t *table) error {
	if err := n.columnsExist("each", t.Each); err != nil {
		return atLine(t.Title.line, err)
	}
	if err := n.prose(t.Title); err != nil {
		return err
	}
	for _, f := range []formula{t.When, t.Where} {
		if err := n.formula(f); err != nil {
			return err
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i].of
		if err := n.formula(c.For); err != nil {
			return err
		}
		if err := n.prose(c.heading, "item", "index"); err != nil {
			return err
		}
		if err := n.formula(c.Value, "item", "index"); err != nil {
			return err
		}
	}
	return nil
}

func (n *names) graph(g *graph) error {
	for _, p := range []prose{g.Title, g.Caption, g.X.Label, g.Y.Label} {
		if err := n.prose(p); err != nil {
			return err
		}
	}
	for _, f := range []formula{g.When, g.X.From, g.X.To, g.Y.From, g.Y.To} {
		if err := n.formula(f); err != nil {
			return err
		}
	}
	for _, m := range g.Marks {
		if err := n.prose(m.Label); err != nil {
			return err
		}
		for _, f := range []formula{m.X, m.Y} {
			if err := n.formula(f); err != nil {
				return err
			}
		}
	}
	for _, s := range g.Series {
		if err := n.series(&s); err != nil {
			return err
		}
	}
	return nil
}

func (n *names) series(s *series) error {
	columns := append(slices.Clone([]string(s.Lines)), s.Over)
	if s.Step.set() {
		columns = s.Lines
	}
	if err := n.columnsExist("series", columns); err != nil {
		return atLine(s.Y.line, err)
	}
	if err := n.prose(s.Name); err != nil {
		return err
	}
	for _, f := range []formula{s.Where, s.From, s.To, s.Step} {
		if err := n.formula(f); err != nil {
			return err
		}
	}
	for _, f := range []formula{s.X, s.Y} {
		if err := n.formula(f, s.Over); err != nil {
			return err
		}
	}
	return nil
}
