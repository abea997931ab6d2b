package declared

import (
	"fmt"
	"go/ast"
	"slices"
	"time"

	"tcpwheel/wheel/stat"
)

// The operators on rows.

// floatsOf returns a number of each row; errNoRows without rows.
func (s *scope) floatsOf(n, where ast.Expr) (all []float64, err error) {
	if known := s.memo.floats(s, n, where); known != nil {
		all, err = known.of(s)
	} else {
		var values []any
		values, err = s.each(n, where)
		all = make([]float64, len(values))
		for i := 0; i < len(values) && err == nil; i++ {
			all[i], err = wantNumber(values[i])
		}
	}
	if err == nil && len(all) == 0 {
		err = errNoRows
	}
	return all, err
}

// eachAs returns an expression in each row; errNoRows without rows.
func eachAs[T any](s *scope, n, where ast.Expr) (all []T, err error) {
	values, err := s.each(n, where)
	if err == nil && len(values) == 0 {
		err = errNoRows
	}
	all = make([]T, len(values))
	for i := 0; i < len(values) && err == nil; i++ {
		all[i], err = as[T](values[i])
	}
	return all, err
}

// firstAs returns the first argument of a call in each row, or over its axes.
func firstAs[T any](s *scope, c *call) (all []T, err error) {
	if c.over == nil {
		return eachAs[T](s, c.args[0], c.where)
	}
	err = s.over(c, func(_ group, v any) error {
		x, err := as[T](v)
		all = append(all, x)
		return err
	})
	return all, err
}

func wantNumber(v any) (float64, error) {
	x, ok := number(v)
	if !ok {
		return 0, fmt.Errorf("%s, want a number; ms(…) makes one of a duration", kind(v))
	}
	return x, nil
}

func sum(all []float64) (total float64) {
	for _, x := range all {
		total += x
	}
	return total
}

// total sums durations, without rounding.
func total(s *scope, c *call) (any, error) {
	values, err := eachAs[time.Duration](s, c.args[0], c.where)
	var all time.Duration
	for _, d := range values {
		all += d
	}
	return all, err
}

// ranked returns the value of a rank among those of all lists.
func ranked(s *scope, c *call) (any, error) {
	lists, err := eachAs[[]any](s, c.args[0], c.where)
	if err != nil {
		return nil, err
	}
	var values []float64
	for _, v := range slices.Concat(lists...) {
		x, ok := number(v)
		if !ok {
			return nil, fmt.Errorf("a list with %s, want numbers", kind(v))
		}
		values = append(values, x)
	}
	rank, err := s.floatOf(c.args[1])
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, errNoRows
	}
	if i := int(rank); float64(i) != rank || i < 1 || i > len(values) {
		return nil, fmt.Errorf("rank %v, want 1 to %d", rank, len(values))
	}
	slices.Sort(values)
	return values[len(values)-int(rank)], nil
}

func numbers[T float64 | stat.Interval](of func([]float64) T) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		var all []float64
		var err error
		if c.over == nil {
			all, err = s.floatsOf(c.args[0], c.where)
		} else {
			all, err = firstAs[float64](s, c)
		}
		if err != nil {
			return nil, err
		}
		return of(all), nil
	}
}

func quantile(s *scope, c *call) (any, error) {
	all, err := s.floatsOf(c.args[0], c.where)
	if err != nil {
		return nil, err
	}
	share, err := s.shareOf(c.args[1])
	if err != nil {
		return nil, err
	}
	return stat.Quantile(all, share), nil
}

func (s *scope) shareOf(n ast.Expr) (float64, error) {
	share, err := s.floatOf(n)
	if err == nil && !(share >= 0 && share <= 1) {
		err = fmt.Errorf("share %v, want 0 to 1", share)
	}
	return share, err
}

// pairs makes an operator of a function of two numbers of each row.
func pairs(of func(a, b []float64) any) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		a, err := s.floatsOf(c.args[0], c.where)
		if err != nil {
			return nil, err
		}
		b, err := s.floatsOf(c.args[1], c.where)
		if err != nil {
			return nil, err
		}
		return of(a, b), nil
	}
}

func bootstrapMean(all []float64) stat.Interval { return stat.BootstrapMean(all, 1) }

func bootstrapRatio(above, below []float64) any {
	rows := make([][][2]float64, len(above))
	for i := range above {
		rows[i] = [][2]float64{{above[i], below[i]}}
	}
	return stat.Bootstrap(rows, 1, func(all [][2]float64) float64 {
		up, down := 0.0, 0.0
		for _, x := range all {
			up, down = up+x[0], down+x[1]
		}
		return up / down
	})
}

func values(s *scope, c *call) (any, error) {
	all, err := s.each(c.args[0], c.where)
	if err != nil {
		return nil, err
	}
	return once(all)
}

// once returns the values without repetitions.
func once(all []any) (any, error) {
	list := []any{}
	for _, v := range all {
		if found, err := has(list, v); err != nil {
			return nil, err
		} else if !found {
			list = append(list, v)
		}
	}
	return list, nil
}

// lineOf returns a figure of the line through the points of the rows.
func lineOf(of func(slope, intercept, r2 float64) float64) func(*scope, *call) (any, error) {
	return pairs(func(y, x []float64) any { return of(stat.Line(x, y)) })
}
