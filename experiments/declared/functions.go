package declared

import (
	"errors"
	"fmt"
	"go/ast"
	"math"
	"strconv"
	"strings"
	"time"

	"tcpwheel/experiments/spelling"
	"tcpwheel/wheel/stat"
)

// The operators on values, which need no rows.

func (s *scope) floatOf(n ast.Expr) (float64, error) {
	v, err := s.eval(n)
	if err != nil {
		return 0, err
	}
	x, ok := number(v)
	if !ok {
		return 0, fmt.Errorf("%s, want a number", kind(v))
	}
	return x, nil
}

func (s *scope) listOf(n ast.Expr) ([]any, error) {
	v, err := s.eval(n)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s, want a list", kind(v))
	}
	return list, nil
}

func (s *scope) textOf(n ast.Expr) (string, error) {
	v, err := s.eval(n)
	if err != nil {
		return "", err
	}
	text, ok := plain(v).(string)
	if !ok {
		return "", fmt.Errorf("%s, want a text", kind(v))
	}
	return text, nil
}

func (s *scope) spanOf(n ast.Expr) (time.Duration, error) {
	v, err := s.eval(n)
	if err != nil {
		return 0, err
	}
	d, ok := plain(v).(time.Duration)
	if !ok {
		return 0, fmt.Errorf("%s, want a duration", kind(v))
	}
	return d, nil
}

func interval(v any) (stat.Interval, bool) {
	if p, ok := v.(pick); ok {
		return interval(p.value)
	}
	in, ok := v.(stat.Interval)
	return in, ok
}

// values evaluates all arguments.
func (s *scope) values(args []ast.Expr) (all []any, err error) {
	for _, arg := range args {
		v, err := s.eval(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func among(s *scope, c *call) (any, error) {
	all, err := s.values(c.args)
	if err == nil && len(all) < 2 {
		err = fmt.Errorf("want a value and those it may be")
	}
	if err != nil {
		return nil, err
	}
	return has(all[1:], all[0])
}

func contains(s *scope, c *call) (any, error) {
	list, err := s.listOf(c.args[0])
	if err != nil {
		return nil, err
	}
	v, err := s.eval(c.args[1])
	if err != nil {
		return nil, err
	}
	return has(list, v)
}

func place(s *scope, c *call) (any, error) {
	list, err := s.listOf(c.args[0])
	if err != nil {
		return nil, err
	}
	v, err := s.eval(c.args[1])
	for i, x := range list {
		same := false
		if err == nil {
			same, err = equal(x, v)
		}
		if same {
			return float64(i), nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%s is not in the list %s", show(v), show(list))
	}
	return nil, err
}

func has(list []any, v any) (bool, error) {
	for _, x := range list {
		if same, err := equal(x, v); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

func starts(s *scope, c *call) (any, error) {
	text, err := s.textOf(c.args[0])
	if err != nil {
		return nil, err
	}
	prefix, err := s.textOf(c.args[1])
	return strings.HasPrefix(text, prefix), err
}

func element(at func(n int) int) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		list, err := s.listOf(c.args[0])
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, errNoRows
		}
		return list[at(len(list))], nil
	}
}

func item(s *scope, c *call) (any, error) {
	list, err := s.listOf(c.args[0])
	if err != nil {
		return nil, err
	}
	x, err := s.floatOf(c.args[1])
	if err != nil {
		return nil, err
	}
	if i := int(x); float64(i) != x || i < 0 || i >= len(list) {
		return nil, fmt.Errorf("index %v, want 0 to %d", x, len(list)-1)
	}
	return list[int(x)], nil
}

// choose evaluates only the value that the condition wants.
func choose(s *scope, c *call) (any, error) {
	ok, err := s.yes(c.args[0])
	if err != nil {
		return nil, err
	}
	if ok {
		return s.eval(c.args[1])
	}
	return s.eval(c.args[2])
}

// lookup evaluates only the result of the case.
func lookup(s *scope, c *call) (any, error) {
	if len(c.args) < 3 || len(c.args)%2 == 0 {
		return nil, fmt.Errorf("want a value, and a result behind each case")
	}
	v, err := s.eval(c.args[0])
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(c.args); i += 2 {
		of, err := s.eval(c.args[i])
		if err != nil {
			return nil, err
		}
		if same, err := equal(v, of); err != nil {
			return nil, err
		} else if same {
			return s.eval(c.args[i+1])
		}
	}
	return nil, errNoRows
}

func otherwise(s *scope, c *call) (any, error) {
	v, err := s.eval(c.args[0])
	if errors.Is(err, errNoRows) {
		return s.eval(c.args[1])
	}
	return v, err
}

func listOfValues(s *scope, c *call) (any, error) {
	args, err := s.values(c.args)
	if err != nil {
		return nil, err
	}
	var all []any
	for _, v := range args {
		if list, ok := v.([]any); ok {
			all = append(all, list...)
		} else {
			all = append(all, v)
		}
	}
	return once(all)
}

func power(s *scope, c *call) (any, error) {
	x, err := s.floatOf(c.args[0])
	if err != nil {
		return nil, err
	}
	n, err := s.floatOf(c.args[1])
	if err == nil && (n < 0 || n > math.MaxInt32 || n != math.Floor(n)) {
		err = fmt.Errorf("power %v, want a whole number, 0 or more", n)
	}
	if err != nil {
		return nil, err
	}
	return stat.Power(x, int(n)), nil
}

func next(s *scope, c *call) (any, error) {
	list, err := s.listOf(c.args[0])
	if err != nil {
		return nil, err
	}
	than, err := s.eval(c.args[1])
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		if sign, err := compare(v, than); err != nil || sign >= 0 {
			return v, err
		}
	}
	if len(list) == 0 {
		return nil, errNoRows
	}
	return list[len(list)-1], nil
}

func nearestOf(s *scope, c *call) (any, error) {
	list, err := s.listOf(c.args[0])
	if err != nil {
		return nil, err
	}
	to, err := s.floatOf(c.args[1])
	if err != nil {
		return nil, err
	}
	best, far := any(nil), 0.0
	for _, v := range list {
		x, ok := number(v)
		if !ok {
			return nil, fmt.Errorf("%s, want a list of numbers", kind(v))
		}
		if d := math.Abs(x - to); best == nil || d < far {
			best, far = v, d
		}
	}
	if best == nil {
		return nil, errNoRows
	}
	return best, nil
}

func join(s *scope, c *call) (any, error) {
	list, err := s.listOf(c.args[0])
	if err != nil {
		return nil, err
	}
	between, err := s.textOf(c.args[1])
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = show(v)
	}
	return strings.Join(all, between), err
}

func digits(s *scope, c *call) (any, error) {
	x, err := s.floatOf(c.args[0])
	return strconv.FormatFloat(x, 'f', 0, 64), err
}

func fixed(s *scope, c *call) (any, error) {
	x, err := s.floatOf(c.args[0])
	if err != nil {
		return nil, err
	}
	behind, err := s.floatOf(c.args[1])
	if err == nil && !(behind >= 0 && behind <= 12) {
		err = fmt.Errorf("%v digits, want 0 to 12", behind)
	}
	if err != nil {
		return nil, err
	}
	return strconv.FormatFloat(x, 'f', int(behind), 64), nil
}

func seconds(s *scope, c *call) (any, error) {
	d, err := s.spanOf(c.args[0])
	return d.Seconds(), err
}

func listed(s *scope, c *call) (any, error) {
	text, err := s.textOf(c.args[0])
	if err != nil {
		return nil, err
	}
	list, err := s.listOf(c.args[1])
	if err != nil || len(list) == 0 {
		return "", err
	}
	return text + show(list), nil
}

// pickBy returns the least (-1) or greatest (1) of the arguments; lists count by their values.
func pickBy(want int) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		args, err := s.values(c.args)
		if err != nil {
			return nil, err
		}
		var all []any
		for _, v := range args {
			if list, ok := v.([]any); ok {
				all = append(all, list...)
			} else {
				all = append(all, plain(v))
			}
		}
		if len(all) == 0 {
			return nil, errNoRows
		}
		best := all[0]
		for _, v := range all[1:] {
			sign, err := compare(v, best)
			if err != nil {
				return nil, err
			}
			if sign == want {
				best = v
			}
		}
		if x, ok := number(best); ok {
			return x, nil
		}
		return best, nil
	}
}

func bounds(s *scope, c *call) (any, error) {
	var x [3]float64
	for i, arg := range c.args {
		var err error
		if x[i], err = s.floatOf(arg); err != nil {
			return nil, err
		}
	}
	return stat.Interval{Value: x[0], Lo: x[1], Hi: x[2]}, nil
}

func rounding(of func(float64) float64) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		x, err := s.floatOf(c.args[0])
		if err != nil {
			return nil, err
		}
		return of(x), nil
	}
}

func absolute(s *scope, c *call) (any, error) {
	v, err := s.eval(c.args[0])
	if err != nil {
		return nil, err
	}
	if d, ok := plain(v).(time.Duration); ok {
		return d.Abs(), nil
	}
	x, ok := number(v)
	if !ok {
		return nil, fmt.Errorf("%s, want a number or a duration", kind(v))
	}
	return math.Abs(x), nil
}

func milliseconds(s *scope, c *call) (any, error) {
	d, err := s.spanOf(c.args[0])
	return float64(d) / 1e6, err
}

func round(s *scope, c *call) (any, error) {
	d, err := s.spanOf(c.args[0])
	if err != nil {
		return nil, err
	}
	to, err := s.spanOf(c.args[1])
	return d.Round(to), err
}

func bytesTime(s *scope, c *call) (any, error) {
	bytes, err := s.floatOf(c.args[0])
	if err != nil {
		return nil, err
	}
	rate, err := s.floatOf(c.args[1])
	if err == nil && !(rate > 0) {
		err = fmt.Errorf("a rate of %v bit/s, want more than 0", rate)
	}
	if err != nil {
		return nil, err
	}
	return time.Duration(8e9 * bytes / rate), nil
}

// nearest returns ", did you mean NAME" for a name within a third of its letters, "" without one.
func nearest(name string, all []string) string {
	if best, ok := spelling.Nearest(name, all); ok {
		return ", did you mean " + best + "?"
	}
	return ""
}
