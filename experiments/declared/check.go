package declared

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"reflect"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
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

// walk checks all formulas and texts in a part of the file. Where a list makes several of a part,
// item and index are known in it. Fields with the tag rows see the rows that the part names, and
// those with the tag series what each series does.
func (n *names) walk(part any, locals []string) error {
	switch part := part.(type) {
	case *formula:
		return n.formula(*part, locals...)
	case *prose:
		return n.prose(*part, locals...)
	case parts:
		return part.each(func(key string, of any) error {
			if err := n.walk(of, locals); err != nil {
				return within(key, err)
			}
			return nil
		})
	}
	v := reflect.ValueOf(part).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return n.walk(v.Interface(), locals)
	case reflect.Slice:
		for i := range v.Len() {
			if err := n.walk(v.Index(i).Addr().Interface(), locals); err != nil {
				return err
			}
		}
	case reflect.Struct:
		if own, ok := part.(checked); ok {
			return own.check(n, locals)
		}
		return n.fields(part, locals)
	}
	return nil
}

// measures finds columns where no row is in sight: outside of the operators over rows.
func (n *names) measures(tree ast.Expr) (err error) {
	ast.Inspect(tree, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); !ok || id.Name != "plan" {
				err = cmp.Or(err, n.measures(x.X))
			}
			return false
		case *ast.CallExpr:
			c, failed := splitCall(x)
			op, ok := operator{}, false
			if failed == nil {
				op, ok = operatorNamed(c.name)
			}
			if ok && op.perRows {
				return false
			}
			for _, arg := range x.Args { // and not the operator's name
				if err == nil {
					err = n.measures(arg)
				}
			}
			return false
		case *ast.Ident:
			if err == nil && slices.Contains(n.columns, x.Name) {
				err = (&scope{named: n.named}).outside(x.Name)
			}
		}
		return err == nil
	})
	return err
}

// parts is an ordered mapping of parts.
type parts interface {
	each(func(key string, of any) error) error
}

// checked is a part with rules of its own.
type checked interface {
	check(n *names, locals []string) error
}

// fields checks the fields of a part.
func (n *names) fields(part any, locals []string) (err error) {
	v := reflect.ValueOf(part).Elem()
	in := n
	if rows := v.FieldByName("Rows"); rows.IsValid() {
		if in, err = n.in(rows.String()); err != nil {
			return err
		}
	}
	inside := locals
	if f := v.FieldByName("For"); f.IsValid() {
		of := f.Addr().Interface().(*formula)
		if err := n.walk(of, locals); err != nil {
			return err
		}
		if of.set() {
			if err := n.measures(of.tree); err != nil {
				return atLine(of.line, err)
			}
			inside = append([]string{"item", "index"}, locals...)
		}
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if _, later := f.Tag.Lookup("series"); later || f.Name == "For" || f.PkgPath != "" {
			continue
		}
		sees := n
		if _, ok := f.Tag.Lookup("rows"); ok {
			sees = in
		}
		if err := sees.walk(v.Field(i).Addr().Interface(), inside); err != nil {
			return err
		}
	}
	return nil
}

// file checks mappings of a file by their names.
func (n *names) file(all map[string]parts) error {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		err := all[key].each(func(name string, of any) error {
			if err := n.walk(of, nil); err != nil {
				return within(key+": "+name, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *claim) check(n *names, locals []string) error {
	if err := n.fields(c, locals); err != nil {
		return err
	}
	line := c.Name.line
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
	case c.Text.text() == "" || c.Source.text == "":
		return lineError(line, "want text, the claim in one line, and source")
	case c.Class.text == string(experiments.OfOthers) && c.Tag.text == string(experiments.Computed):
		return lineError(line, "a computed figure is no published one: want another tag, or class: law")
	case c.Expect == nil:
		return lineError(line, "want expect")
	case !c.Measure.set() && c.Measured.text() == "":
		return lineError(line, "want measure or measured")
	case c.When.set() && c.Else.text() == "":
		return lineError(line, "when needs else: why the claim does not apply")
	case c.Also != nil && (!c.Also.Holds.set() || c.Also.Text.text() == ""):
		return lineError(line, "also: want holds and text")
	}
	for key, b := range map[string]*band{"expect": c.Expect, "differs": c.Differs} {
		if b == nil {
			continue
		}
		if err := b.wellFormed(); err != nil {
			return within(key, atLine(line, err))
		}
	}
	switch {
	case c.needsBasis():
		return lineError(line, "want basis: where the numbers of expect come from")
	case c.Why.text() == "":
		return lineError(line, "want why: the reason that a reader is given if the claim fails")
	}
	return nil
}

// needsBasis reports whether the file does not say where the numbers that decide a claim come from.
func (c *claim) needsBasis() bool {
	switch b := c.Expect; {
	case c.Basis.text != "" || c.Class.text == string(experiments.Check):
	case b.Exactly.set() || b.Printed.set() || b.PrintedRange != nil || b.AsPrinted:
	case c.Class.text == string(experiments.OfOthers):
		return true
	default:
		return !b.Holds.set() || c.Differs != nil && !c.Differs.Holds.set()
	}
	return false
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

// wellFormed finds a band without a rule, or with half of one.
func (b *band) wellFormed() error {
	if count, _ := b.rules(); count != 1 {
		return fmt.Errorf("%d rules, want one of exactly, at_least, at_most, above, below, "+
			"between, within, within_percent, printed, printed_range, holds", count)
	}
	for _, l := range []list[formula]{b.Between, b.Within, b.WithinPercent, b.PrintedRange} {
		if l != nil && len(l) != 2 {
			return fmt.Errorf("%d numbers, want two", len(l))
		}
	}
	if b.Holds.set() && b.Text.text() == "" {
		return fmt.Errorf("holds needs a text that says what was expected")
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

func (t *table) check(n *names, locals []string) error {
	if t.Title.text() == "" {
		return lineError(t.Name.line, "want title")
	}
	in, err := n.in(t.Rows)
	if err == nil {
		err = in.columnsExist("each", t.Each)
	}
	if err != nil {
		return atLine(t.Title.line, err)
	}
	for _, line := range t.Above {
		if most, sure := width(t.Columns); sure && len(line) != most {
			return atLine(t.Title.line, fmt.Errorf("above: %d values, want one for each of %d columns", len(line), most))
		}
	}
	return n.fields(t, locals)
}

// width returns how many columns a table has; !sure if a list or a condition decides.
func width(all ordered[column]) (n int, sure bool) {
	for i := range all {
		c := &all[i].of
		if c.For.set() || c.When.set() {
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

func (c *column) check(n *names, locals []string) error {
	if c.Columns == nil && !c.Value.set() && !c.Interval.set() {
		return lineError(c.Shown.line, "want value or interval, or for with value or columns")
	}
	return n.fields(c, locals)
}

// check checks what panels draw in the place of y for each of the series.
func (g *graph) check(n *names, locals []string) error {
	if err := n.fields(g, locals); err != nil {
		return err
	}
	if g.Title.text() == "" || g.X.Label.text() == "" || g.Y.Label.text() == "" && g.Panels == nil {
		return lineError(g.Name.line, "want title, x: {label: …} and y: {label: …}")
	}
	for _, s := range g.Series {
		for _, p := range g.Panels {
			in, err := n.in(s.Rows)
			if err == nil {
				err = in.formula(p.of.Value, append([]string{s.Over, "item", "index"}, locals...)...)
			}
			if err != nil {
				return within(p.name, err)
			}
		}
	}
	return nil
}

func (g *grid) check(n *names, locals []string) error {
	line := max(g.Value.line, g.Class.line)
	in, err := n.in(g.Rows)
	if err == nil {
		err = in.columnsExist("across and up", []string{g.Across, g.Up})
	}
	if err == nil && (g.Value.set() == g.Class.set() || g.Class.set() != g.Classes.set()) {
		err = fmt.Errorf("want value, or class and classes")
	}
	if err != nil {
		return atLine(line, err)
	}
	return n.fields(g, locals)
}

func (s *series) check(n *names, locals []string) error {
	if s.Series != nil {
		return n.fields(s, locals)
	}
	in, err := n.in(s.Rows)
	columns := append(slices.Clone([]string(s.Lines)), s.Over)
	if s.function() || s.Share.set() {
		columns = s.Lines
	}
	if err == nil {
		err = in.columnsExist("series", columns)
	}
	if err == nil && s.Kind != "" && !slices.Contains(figure.Kinds, s.Kind) {
		err = fmt.Errorf("kind: %q, want one of %s", s.Kind, strings.Trim(fmt.Sprint(figure.Kinds), "[]"))
	}
	if err == nil && (s.Points < 0 || s.Points > mostPoints) {
		err = fmt.Errorf("points: %d, want 1 to %d", s.Points, mostPoints)
	}
	if err != nil {
		return atLine(max(s.X.line, s.Share.line), err)
	}
	return n.fields(s, append([]string{s.Over}, locals...))
}
