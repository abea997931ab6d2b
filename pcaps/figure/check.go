package figure

import (
	"fmt"
	"math"
	"regexp"
	"slices"
)

var fileName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Check returns an error if a part of the figure is missing or inconsistent.
func (f *Figure) Check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("figure %q: %w", f.Name, fmt.Errorf(format, args...))
	}
	switch {
	case !fileName.MatchString(f.Name):
		return fail("want a name of lower case letters, digits and hyphens")
	case f.Title == "" || f.X.Label == "" || f.Y.Label == "":
		return fail("want a title and the labels of both axes")
	case f.Draw == nil && (f.Map == nil) == (len(f.Series) == 0):
		return fail("want series or a map")
	}
	for i := range f.Series {
		if err := f.checkSeries(&f.Series[i]); err != nil {
			return fail("series %q: %w", f.Series[i].Name, err)
		}
	}
	for _, m := range f.Marks {
		if m.Label == "" || bad(m.At) {
			return fail("mark %q at %v: want a label and a place", m.Label, m.At)
		}
	}
	for _, a := range []Axis{f.X, f.Y} {
		if bad(a.Lo) || bad(a.Hi) {
			return fail("axis %q: ends %v and %v", a.Label, a.Lo, a.Hi)
		}
	}
	if f.Map != nil {
		if err := f.Map.check(); err != nil {
			return fail("%w", err)
		}
	}
	return nil
}

func bad(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// checkSeries returns an error if a series cannot be drawn on the axes.
func (f *Figure) checkSeries(s *Series) error {
	if !slices.Contains(Kinds, s.Kind) {
		return fmt.Errorf("kind %q", s.Kind)
	}
	if s.Colour != "" && !slices.Contains(colours, s.Colour) {
		return fmt.Errorf("colour %q, want one of %q", s.Colour, colours)
	}
	if s.Kind == Links && len(s.X)%2 != 0 || s.Kind == Spans && s.Lo == nil || s.Titles != nil && len(s.Titles) != len(s.X) {
		return fmt.Errorf("%d points, %d intervals, %d titles", len(s.X), len(s.Lo), len(s.Titles))
	}
	if len(s.X) == 0 || len(s.X) != len(s.Y) || len(s.Lo) != len(s.Hi) || s.Lo != nil && len(s.Lo) != len(s.Y) {
		return fmt.Errorf("%d x, %d y, %d lo, %d hi", len(s.X), len(s.Y), len(s.Lo), len(s.Hi))
	}
	for i := range s.X {
		if bad(s.X[i]) || bad(s.Y[i]) || f.X.Log && s.X[i] <= 0 || f.Y.Log && s.Y[i] <= 0 {
			return fmt.Errorf("point %d at %v, %v cannot be drawn", i, s.X[i], s.Y[i])
		}
		if s.Lo != nil && (bad(s.Lo[i]) || bad(s.Hi[i]) || s.Lo[i] > s.Hi[i] || f.Y.Log && !f.across(s) && s.Hi[i] <= 0) {
			return fmt.Errorf("interval %d from %v to %v cannot be drawn", i, s.Lo[i], s.Hi[i])
		}
		if i > 0 && s.joined() && s.X[i] < s.X[i-1] {
			return fmt.Errorf("x falls from %v to %v", s.X[i-1], s.X[i])
		}
	}
	return nil
}

// check returns an error unless the values or classes fill the grid and can be drawn.
func (m *Map) check() error {
	grid := func(rows int, columns func(i int) int) bool {
		if rows == 0 {
			return true
		}
		for i := range rows {
			if columns(i) != len(m.Columns) {
				return false
			}
		}
		return rows == len(m.Rows)
	}
	if (m.Value == nil) == (m.Class == nil) || !grid(len(m.Value), func(i int) int { return len(m.Value[i]) }) ||
		!grid(len(m.Class), func(i int) int { return len(m.Class[i]) }) || !grid(len(m.Text), func(i int) int { return len(m.Text[i]) }) {
		return fmt.Errorf("want values or classes of %d rows and %d columns", len(m.Rows), len(m.Columns))
	}
	for _, row := range m.Class {
		for _, c := range row {
			if c < 0 || c >= len(m.Classes) {
				return fmt.Errorf("class %d of %d", c, len(m.Classes))
			}
		}
	}
	for _, row := range m.Value {
		for _, v := range row {
			if bad(v) || m.Log && v <= 0 {
				return fmt.Errorf("value %v cannot be drawn", v)
			}
		}
	}
	return nil
}
