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

// argument evaluates an argument that must be of a type that as knows.
func argument[T any](s *scope, n ast.Expr) (x T, err error) {
	v, err := s.eval(n)
	if err != nil {
		return x, err
	}
	return as[T](v)
}

// as returns a value that must be a number, a duration, a text, a list, a condition, a sample, or
// any value.
func as[T any](v any) (x T, err error) {
	ok, want := true, ""
	switch to := any(&x).(type) {
	case *any:
		*to = v
	case *float64:
		*to, ok = number(v)
		want = "a number"
	case *[]any:
		*to, ok = v.([]any)
		want = "a list"
	case *string:
		*to, ok = plain(v).(string)
		want = "a text"
	case *time.Duration:
		*to, ok = plain(v).(time.Duration)
		want = "a duration"
	case *bool:
		if *to, ok = v.(bool); !ok {
			return x, notCondition(v)
		}
	case *[]time.Duration:
		var sample Sample
		sample, ok = v.(Sample)
		*to, want = sample, "a sample"
	default:
		panic(fmt.Sprintf("BUG: declared: an argument of type %T", x))
	}
	if !ok {
		err = fmt.Errorf("%s, want %s", kind(v), want)
	}
	return x, err
}

func (s *scope) floatOf(n ast.Expr) (float64, error) { return argument[float64](s, n) }

// one makes an operator of a function of one argument.
func one[A any](of func(a A) (any, error)) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		a, err := argument[A](s, c.args[0])
		if err != nil {
			return nil, err
		}
		return of(a)
	}
}

// two makes an operator of a function of two arguments.
func two[A, B any](of func(a A, b B) (any, error)) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		a, err := argument[A](s, c.args[0])
		if err != nil {
			return nil, err
		}
		b, err := argument[B](s, c.args[1])
		if err != nil {
			return nil, err
		}
		return of(a, b)
	}
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

func contains(list []any, v any) (any, error) { return has(list, v) }

func place(list []any, v any) (any, error) {
	for i, x := range list {
		if same, err := equal(x, v); err != nil || same {
			return float64(i), err
		}
	}
	return nil, fmt.Errorf("%s is not in the list %s", show(v), show(list))
}

func has(list []any, v any) (bool, error) {
	for _, x := range list {
		if same, err := equal(x, v); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

func starts(text, prefix string) (any, error) { return strings.HasPrefix(text, prefix), nil }

func element(at func(n int) int) func(*scope, *call) (any, error) {
	return one(func(list []any) (any, error) {
		if len(list) == 0 {
			return nil, errNoRows
		}
		return list[at(len(list))], nil
	})
}

func item(list []any, at float64) (any, error) {
	if i := int(at); float64(i) != at || i < 0 || i >= len(list) {
		return nil, fmt.Errorf("index %v, want 0 to %d", at, len(list)-1)
	}
	return list[int(at)], nil
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

// flat evaluates all arguments, and takes lists apart.
func (s *scope) flat(args []ast.Expr) (all []any, err error) {
	values, err := s.values(args)
	for _, v := range values {
		if list, ok := v.([]any); ok {
			all = append(all, list...)
		} else {
			all = append(all, v)
		}
	}
	return all, err
}

func listOfValues(s *scope, c *call) (any, error) {
	all, err := s.flat(c.args)
	if err != nil {
		return nil, err
	}
	return once(all)
}

func power(x, n float64) (any, error) {
	if !(n >= 0 && n <= math.MaxInt32 && n == math.Floor(n)) {
		return nil, fmt.Errorf("power %v, want a whole number, 0 or more", n)
	}
	return stat.Power(x, int(n)), nil
}

func next(list []any, than any) (any, error) {
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

func join(list []any, between string) (any, error) {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = show(v)
	}
	return strings.Join(all, between), nil
}

func digits(x float64) (any, error) { return strconv.FormatFloat(x, 'f', 0, 64), nil }

func fixed(x, behind float64) (any, error) {
	if !(behind >= 0 && behind <= 12) {
		return nil, fmt.Errorf("%v digits, want 0 to 12", behind)
	}
	return strconv.FormatFloat(x, 'f', int(behind), 64), nil
}

func listed(text string, list []any) (any, error) {
	if len(list) == 0 {
		return "", nil
	}
	return text + show(list), nil
}

// pickBy returns the least (-1) or greatest (1) of the arguments; lists count by their values.
func pickBy(want int) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		all, err := s.flat(c.args)
		if err == nil && len(all) == 0 {
			err = errNoRows
		}
		if err != nil {
			return nil, err
		}
		best := plain(all[0])
		for _, v := range all[1:] {
			v = plain(v)
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
	return one(func(x float64) (any, error) { return of(x), nil })
}

func absolute(v any) (any, error) {
	if d, ok := plain(v).(time.Duration); ok {
		return d.Abs(), nil
	}
	x, ok := number(v)
	if !ok {
		return nil, fmt.Errorf("%s, want a number or a duration", kind(v))
	}
	return math.Abs(x), nil
}

func milliseconds(d time.Duration) (any, error) { return float64(d) / 1e6, nil }
func seconds(d time.Duration) (any, error)      { return d.Seconds(), nil }
func round(d, to time.Duration) (any, error)    { return d.Round(to), nil }

func bytesTime(bytes, rate float64) (any, error) {
	if !(rate > 0) {
		return nil, fmt.Errorf("a rate of %v bit/s, want more than 0", rate)
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
