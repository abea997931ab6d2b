package declared

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
)

// addFigures adds a figure, or one for each value of a list and each panel.
func (s *scope) addFigures(out *experiments.Outcome, g *graph) error {
	if ok, err := s.applies(g.When); err != nil || !ok {
		return err
	}
	return s.forEach(g.For, func(s *scope) error {
		made, err := s.figure(g)
		if err != nil {
			return err
		}
		if g.Panels == nil {
			return s.addFigure(out, g, made, formula{})
		}
		for i := range g.Panels {
			p, one := &g.Panels[i], made
			one.Name += "-" + p.name
			title, err := s.text(p.of.Title.template)
			if err == nil {
				one.Title += ": " + title
				if p.of.Caption.text() != "" {
					one.Caption, err = s.text(p.of.Caption.template)
				}
			}
			if err == nil && p.of.Y.Label.text() != "" {
				err = s.axis(&one.Y, &p.of.Y)
			}
			if err == nil {
				one.Marks, err = s.marks(slices.Concat(p.of.Marks, g.Marks))
			}
			if err == nil {
				err = s.addFigure(out, g, one, p.of.Value)
			}
			if err != nil {
				return within(p.name, err)
			}
		}
		return nil
	})
}

// figure returns a figure without its series.
func (s *scope) figure(g *graph) (made figure.Figure, err error) {
	for _, t := range []struct {
		from template
		to   *string
	}{{g.Name.template, &made.Name}, {g.Title.template, &made.Title}, {g.Caption.template, &made.Caption}} {
		if *t.to, err = s.text(t.from); err != nil {
			return made, atLine(g.Title.line, err)
		}
	}
	if err = s.axis(&made.X, &g.X); err == nil {
		err = s.axis(&made.Y, &g.Y)
	}
	if err == nil {
		made.Marks, err = s.marks(g.Marks)
	}
	return made, err
}

func (s *scope) axis(to *figure.Axis, from *axis) (err error) {
	if to.Label, err = s.text(from.Label.template); err != nil {
		return atLine(from.Label.line, err)
	}
	if from.Log.set() {
		if to.Log, err = s.yes(from.Log.tree); err != nil {
			return atLine(from.Log.line, err)
		}
	}
	for _, e := range []struct {
		from formula
		to   *float64
	}{{from.From, &to.Lo}, {from.To, &to.Hi}} {
		if !e.from.set() {
			continue
		}
		if *e.to, err = s.floatOf(e.from.tree); err != nil {
			return atLine(e.from.line, err)
		}
	}
	return nil
}

func (s *scope) marks(all []mark) (made []figure.Mark, err error) {
	for _, m := range all {
		err := s.forEach(m.For, func(s *scope) error {
			label, err := s.text(m.Label.template)
			at := m.Y
			if m.X.set() {
				at = m.X
			}
			var x float64
			if err == nil {
				x, err = s.floatOf(at.tree)
			}
			made = append(made, figure.Mark{Label: label, At: x, Vertical: m.X.set()})
			return err
		})
		if err != nil {
			return nil, atLine(m.Label.line, err)
		}
	}
	return made, nil
}

// addFigure adds a figure with its series or its grid; y, if set, replaces what the series draw. A
// figure without points, or with a hole in its grid, is left out.
func (s *scope) addFigure(out *experiments.Outcome, g *graph, made figure.Figure, y formula) error {
	for i := range g.Series {
		if err := s.addAll(&made, g, g.Series[i], y); err != nil {
			return err
		}
	}
	if g.Grid != nil {
		var err error
		if made.Map, err = s.grid(g.Grid); err != nil {
			return err
		}
	}
	if len(made.Series) > 0 || made.Map != nil {
		out.Figures = append(out.Figures, made)
	}
	return nil
}

// addAll adds the lines of a series, or of those for each value of a list.
func (s *scope) addAll(f *figure.Figure, g *graph, from series, y formula) error {
	if from.Series != nil {
		return s.forEach(from.For, func(s *scope) error {
			for _, of := range from.Series {
				if err := s.addAll(f, g, of, y); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if y.set() {
		from.Y = y
	}
	return atLine(max(from.Y.line, from.Tail.line, from.Share.line), s.addSeries(f, g, &from))
}

// function reports whether a series draws a function of a variable, not rows.
func (s *series) function() bool { return s.Step.set() || s.At.set() }

// addSeries adds the lines of a series. A line without points is left out.
func (s *scope) addSeries(f *figure.Figure, g *graph, from *series) error {
	kind := cmp.Or(from.Kind, figure.Line)
	in, err := s.rowsWhere(from.Rows, from.Where)
	if err != nil {
		return err
	}
	lines, err := in.groups(from.Lines, nil)
	if err != nil {
		return err
	}
	if from.Lines == nil && !from.Where.set() && from.function() {
		lines = []group{{scope: s}} // it may need no rows
	}
	colours, signs := map[any]int{}, map[any]int{}
	for _, line := range lines {
		made, err := line.scope.series(from, kind)
		if err != nil {
			return err
		}
		if made.Group, err = line.scope.shared(from.Group, colours); err == nil {
			made.Marker, err = line.scope.shared(from.Marker, signs)
		}
		if err != nil {
			return err
		}
		law := figure.Series{Name: made.Name + ", law", Kind: kind, Dashed: true, Group: made.Group}
		if err := line.scope.addPoints(f, g, from, &made, &law); err != nil {
			return err
		}
		for _, of := range []figure.Series{made, law} {
			if len(of.X) > 0 {
				f.Series = append(f.Series, of)
			}
		}
	}
	return nil
}

// shared returns the number, from 1, of the value that a line has in a column; or a number that the
// file gives.
func (s *scope) shared(by formula, seen map[any]int) (int, error) {
	if !by.set() {
		return 0, nil
	}
	v, err := s.eval(by.tree)
	if err != nil {
		return 0, err
	}
	if id, ok := by.tree.(*ast.Ident); !ok || s.fixed[id.Name] == nil {
		x, ok := number(v)
		if !ok {
			return 0, fmt.Errorf("%s: %s, want a column of lines or a number", by.located.text, kind(v))
		}
		return int(x), nil
	}
	if seen[v] == 0 {
		seen[v] = len(seen) + 1
	}
	return seen[v], nil
}

// series returns a line without points.
func (s *scope) series(from *series, kind figure.Kind) (made figure.Series, err error) {
	made.Kind = kind
	if made.Name, err = s.text(from.Name.template); err == nil && from.Dashed.set() {
		made.Dashed, err = s.yes(from.Dashed.tree)
	}
	return made, err
}

// addPoints adds the points of a line, and of its law. On a logarithmic axis points at 0 or below
// are left out.
func (s *scope) addPoints(f *figure.Figure, g *graph, from *series, made, law *figure.Series) error {
	if from.Share.set() {
		return s.addShares(from, made)
	}
	points, err := s.places(from, made.Kind)
	if err != nil {
		return err
	}
	total, left := 0.0, 0.0
	if from.Tail.set() {
		all, err := s.floatsOf(from.Tail.tree, nil)
		if err != nil {
			return err
		}
		total = sum(all)
		left = total
	}
	for _, p := range points {
		x, err := p.scope.along(f, g, from)
		if errors.Is(err, errNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		share := left / total
		if from.Tail.set() {
			all, err := p.scope.floatsOf(from.Tail.tree, nil)
			if err != nil {
				return err
			}
			left -= sum(all)
		}
		switch {
		case f.X.Log && x <= 0:
			continue
		case from.Tail.set():
			made.Add(x, share)
			continue
		}
		if n := len(made.X) - 1; from.function() && made.Kind == figure.Steps && n >= 0 && made.X[n] == x {
			made.X, made.Y = made.X[:n], made.Y[:n] // of a function's steps at one x the last counts
		}
		if err := p.scope.addPoint(made, x, from.Y); err != nil {
			return err
		}
		if from.Law.set() {
			if err := p.scope.addPoint(law, x, from.Law); err != nil {
				return err
			}
		}
	}
	return nil
}

// addShares adds the distribution of a number of the rows, or of their samples in ms: a point for
// each, or about as many as the file says.
func (s *scope) addShares(from *series, made *figure.Series) error {
	values, err := s.each(from.Share.tree, nil)
	if err != nil {
		return err
	}
	var all []float64
	for _, v := range values {
		if many, ok := v.(Sample); ok {
			for _, d := range many {
				all = append(all, float64(d)/1e6)
			}
			continue
		}
		x, err := wantNumber(v)
		if err != nil {
			return err
		}
		all = append(all, x)
	}
	slices.Sort(all)
	most := from.Points
	if most == 0 {
		most = len(all)
	}
	for i, last := 0, -1; i <= most && len(all) > 0; i++ {
		if k := i * (len(all) - 1) / most; k != last {
			made.Add(all[k], float64(k+1)/float64(len(all)))
			last = k
		}
	}
	return nil
}

// along returns the place of a point along x: a number, or that of its label among the ticks.
func (s *scope) along(f *figure.Figure, g *graph, from *series) (float64, error) {
	if g.X.Ticks.text() == "" {
		return s.floatOf(from.X.tree)
	}
	label, err := s.text(g.X.Ticks.template)
	at := slices.Index(f.X.Ticks, label)
	if at < 0 {
		at = len(f.X.Ticks)
		f.X.Ticks = append(f.X.Ticks, label)
	}
	return float64(at), err
}

// places returns the groups of a line, one for each value of the column along x, or the values of a
// function's variable.
func (s *scope) places(from *series, kind figure.Kind) (all []group, err error) {
	if from.function() {
		values, err := s.variable(from)
		for _, at := range values {
			all = append(all, group{[]any{at}, s.within(map[string]any{from.Over: at}, s.which)})
		}
		return all, err
	}
	all, err = s.groups([]string{from.Over}, nil)
	if kind != figure.Points {
		rising(all)
	}
	return all, err
}

// addPoint adds a point. There is none where y has no rows to measure.
func (s *scope) addPoint(made *figure.Series, x float64, of formula) error {
	y, err := s.eval(of.tree)
	if errors.Is(err, errNoRows) {
		return nil
	}
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

// variable returns the values of a function's variable: a list, or those from one to another.
func (s *scope) variable(from *series) (all []any, err error) {
	if from.At.set() {
		return argument[[]any](s, from.At.tree)
	}
	var ends [3]any
	for i, e := range []formula{from.From, from.To, from.Step} {
		if ends[i], err = s.eval(e.tree); err != nil {
			return nil, err
		}
	}
	at := plain(ends[0])
	for range mostPoints {
		sign, err := compare(at, ends[1])
		if err != nil || sign > 0 {
			return all, err
		}
		all = append(all, at)
		if at, err = arithmetic("+", at, ends[2]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
