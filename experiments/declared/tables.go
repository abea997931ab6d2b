package declared

import (
	"errors"
	"fmt"

	"tcpwheel/experiments"
)

// rowsWhere returns s with the study's rows, or those of groups, that meet a condition of the file.
func (s *scope) rowsWhere(groups string, where formula) (*scope, error) {
	in, err := s, error(nil)
	if groups != "" {
		in, err = s.inGroups(groups)
	}
	if err != nil {
		return nil, err
	}
	which, err := in.chosen(where.tree)
	if err != nil {
		return nil, atLine(where.line, err)
	}
	return in.within(nil, which), nil
}

// forEach calls f in the scope of each value of a list, or in s without one.
func (s *scope) forEach(list formula, f func(s *scope) error) error {
	if !list.set() {
		return f(s)
	}
	all, err := argument[[]any](s, list.tree)
	if errors.Is(err, errNoRows) {
		return nil
	}
	if err != nil {
		return atLine(list.line, err)
	}
	for i, v := range all {
		if err := f(s.within(map[string]any{"item": v, "index": float64(i)}, s.which)); err != nil {
			return err
		}
	}
	return nil
}

// single returns each row as a group of its own, whose columns are in sight without an operator.
func (s *scope) single() (all []group) {
	for _, row := range s.which {
		in := s.within(nil, []int{row})
		in.row = row
		all = append(all, group{scope: in})
	}
	return all
}

func (s *scope) addTable(out *experiments.Outcome, t *table) error {
	if ok, err := s.applies(t.When); err != nil || !ok {
		return err
	}
	name, err := s.text(t.Name.template)
	if err != nil {
		return err
	}
	title, err := s.text(t.Title.template)
	if err != nil {
		return atLine(t.Title.line, err)
	}
	made := experiments.Table{Name: name, Title: title}
	if t.Data.set() {
		if made.Data, err = s.yes(t.Data.tree); err != nil {
			return atLine(t.Data.line, err)
		}
	}
	columns, err := s.columns(t.Columns)
	if err != nil {
		return err
	}
	for _, c := range columns {
		made.Columns = append(made.Columns, c.headings...)
	}
	in, err := s.rowsWhere(t.Rows, t.Where)
	if err != nil {
		return err
	}
	groups, err := in.groups(t.Each, nil)
	if err != nil {
		return err
	}
	if t.Rows != "" && t.Each == nil {
		groups = in.single()
	}
	if t.Rising && t.Each != nil {
		rising(groups)
	}
	for _, line := range t.Above {
		if err := s.addConstants(&made, line); err != nil {
			return within("above", err)
		}
	}
	for _, g := range groups {
		var row []any
		for _, c := range columns {
			cells, err := c.cells(g.scope)
			if err != nil {
				return atLine(c.line(), err)
			}
			row = append(row, cells...)
		}
		made.Add(row...)
	}
	if len(groups) > 0 {
		out.Tables = append(out.Tables, made)
	}
	return nil
}

// addConstants adds a line that shows no rows.
func (s *scope) addConstants(to *experiments.Table, line constants) error {
	if len(line) != len(to.Columns) {
		return fmt.Errorf("%d values, want one for each of %d columns", len(line), len(to.Columns))
	}
	var made []any
	for _, f := range line {
		v, err := s.value(f.expression)
		if err != nil {
			return atLine(f.line, err)
		}
		made = append(made, cell(v))
	}
	to.Add(made...)
	return nil
}

// oneColumn is a column, or one of a value and its interval, with the items of its lists.
type oneColumn struct {
	*column
	headings []string
	fixed    map[string]any
}

func (c *oneColumn) line() int { return max(c.Value.line, c.Interval.line) }

// cells returns what the column shows of a group; nothing where it has no rows to measure.
func (c *oneColumn) cells(s *scope) ([]any, error) {
	f := c.Value
	if c.Interval.set() {
		f = c.Interval
	}
	in := s.within(c.fixed, s.which)
	in.row = s.row
	v, err := in.value(f.expression)
	empty := errors.Is(err, errNoRows)
	switch {
	case err != nil && !empty:
		return nil, err
	case c.Interval.set() && empty:
		return []any{"", "", ""}, nil
	case c.Interval.set():
		if in, ok := interval(v); ok {
			return []any{in.Value, in.Lo, in.Hi}, nil
		}
		return nil, fmt.Errorf("%q: %s, want an interval", f.expression.text, kind(v))
	case empty:
		return []any{""}, nil
	}
	return []any{cell(v)}, nil
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

func (s *scope) columns(list ordered[column]) (all []oneColumn, err error) {
	for i := range list {
		c := &list[i].of
		if ok, err := s.applies(c.When); err != nil {
			return nil, atLine(c.When.line, err)
		} else if !ok {
			continue
		}
		err := s.forEach(c.For, func(s *scope) error {
			if c.Columns != nil {
				inside, err := s.columns(c.Columns)
				all = append(all, inside...)
				return err
			}
			heading, err := s.text(c.Shown.template)
			if err != nil {
				return atLine(c.Shown.line, err)
			}
			one := oneColumn{c, []string{heading}, s.fixed}
			if c.Interval.set() {
				one.headings = append(one.headings, "95 % from", "to")
			}
			all = append(all, one)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
