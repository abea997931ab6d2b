package declared

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tcpwheel/wheel/stat"
)

// The operators on axes.

func count(s *scope, c *call) (any, error) {
	switch {
	case len(c.args) == 1 && c.where == nil && c.over == nil:
		list, err := argument[[]any](s, c.args[0])
		return float64(len(list)), err
	case len(c.args) > 0:
		return nil, fmt.Errorf("want a list, or over and where")
	case c.over != nil:
		all, err := s.groups(c.over, c.where)
		return float64(len(all)), err
	}
	which, err := s.chosen(c.where)
	return float64(len(which)), err
}

func less(v, best any) (bool, error) {
	sign, err := compare(v, best)
	return sign < 0, err
}

func more(v, best any) (bool, error) {
	sign, err := compare(v, best)
	return sign > 0, err
}

// extreme returns the best value over rows, or of a measure over axes; the first one of equals.
func extreme(better func(v, best any) (bool, error)) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		var best *pick
		take := func(v any, at any, place *scope) error {
			if best != nil {
				if ok, err := better(v, best.value); err != nil || !ok {
					return err
				}
			}
			best = &pick{plain(v), at, place}
			return nil
		}
		if c.over != nil {
			if err := s.over(c, func(g group, v any) error { return take(v, g.at(), g.scope) }); err != nil {
				return nil, err
			}
			return *best, nil
		}
		which, err := s.chosen(c.where)
		if err != nil {
			return nil, err
		}
		for _, row := range which {
			in := *s
			in.row = row
			v, err := in.inRow(c.args[0])
			if err == nil {
				err = take(v, nil, &in)
			}
			if err != nil {
				return nil, err
			}
		}
		if best == nil {
			return nil, errNoRows
		}
		return *best, nil
	}
}

// at is the place of a group on its axis, or its places on several.
func (g *group) at() any {
	if len(g.key) == 1 {
		return g.key[0]
	}
	return slices.Clone(g.key)
}

// over calls f with the first argument of c in each group. The groups of one axis rise.
func (s *scope) over(c *call, f func(g group, v any) error) error {
	if c.over == nil {
		return fmt.Errorf("want over and a column")
	}
	all, err := s.groups(c.over, c.where)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errNoRows
	}
	if len(c.over) == 1 {
		rising(all)
	}
	for _, g := range all {
		v, err := g.scope.eval(c.args[0])
		if err != nil {
			return err
		}
		if err := f(g, v); err != nil {
			return err
		}
	}
	return nil
}

func crossing(s *scope, c *call) (any, error) {
	level, err := s.eval(c.args[1])
	if err != nil {
		return nil, err
	}
	var found any
	err = s.over(c, func(g group, v any) error {
		sign, err := compare(v, level)
		if found == nil && sign >= 0 {
			found = g.at()
		}
		return err
	})
	if err == nil && found == nil {
		if len(c.args) == 3 {
			return s.eval(c.args[2])
		}
		err = errNoRows
	}
	return found, err
}

func falls(s *scope, c *call) (any, error) {
	level, err := s.floatOf(c.args[1])
	if err != nil {
		return nil, err
	}
	var at any
	lastX, last, first := 0.0, 0.0, true
	err = s.over(c, func(g group, v any) error {
		y, ok := number(v)
		if !ok {
			return fmt.Errorf("%s, want a number", kind(v))
		}
		x, err := g.scope.floatOf(c.args[2])
		if err != nil {
			return err
		}
		if !first && last >= level && y < level {
			at = lastX + float64((last-level)/(last-y)*(x-lastX))
		}
		lastX, last, first = x, y, false
		return nil
	})
	if err == nil && at == nil {
		err = errNoRows
	}
	return at, err
}

func those(s *scope, c *call) (any, error) {
	list := []any{}
	err := s.over(c, func(g group, v any) error {
		yes, err := as[bool](v)
		if yes {
			list = append(list, g.at())
		}
		return err
	})
	return list, err
}

func all(s *scope, c *call) (any, error) {
	conditions, err := firstAs[bool](s, c)
	return !slices.Contains(conditions, false), err
}

func listing(s *scope, c *call) (any, error) {
	list := []any{}
	if c.over == nil {
		all, err := s.each(c.args[0], c.where)
		for _, v := range all {
			list = append(list, show(v))
		}
		return list, err
	}
	err := s.over(c, func(_ group, v any) error {
		list = append(list, show(v))
		return nil
	})
	return list, err
}

// resampled draws the values of the axis with their rows. A draw without rows to measure does not
// count.
func resampled(s *scope, c *call) (any, error) {
	if c.over == nil {
		return nil, fmt.Errorf("want over and a column, such as seed")
	}
	groups, err := s.groups(c.over, c.where)
	if err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		return nil, errNoRows
	}
	draws := 1.0
	if len(c.args) == 2 {
		if draws, err = s.floatOf(c.args[1]); err == nil && (draws < 1 || draws != math.Floor(draws)) {
			err = fmt.Errorf("draws %v, want a whole number from 1", draws)
		}
		if err != nil {
			return nil, err
		}
	}
	drawn := make([][]int, len(groups))
	for i, g := range groups {
		drawn[i] = g.scope.which
	}
	in := s.within(nil, nil)
	in.memo = newMemo()
	first := true
	var failed error
	interval := stat.Bootstrap(drawn, uint64(draws), func(which []int) float64 {
		in.which = which
		x, err := in.floatOf(c.args[0])
		if err != nil {
			if first || !errors.Is(err, errNoRows) {
				failed = err
			}
			x = math.NaN()
		}
		first = false
		return x
	})
	return interval, failed
}
