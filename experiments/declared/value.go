package declared

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/wheel/stat"
)

// A value of an expression is a float64, a time.Duration, a string, a bool, a stat.Interval, a
// Sample, a pick, or a list of values ([]any).

// Sample is a column of many durations in each row, such as the times of a run's objects: a value
// of its own, for the operator pooled.
type Sample []time.Duration

// pick is the least or greatest value over rows or axes, and its place. In arithmetic it is its
// value.
type pick struct {
	value, at any
	place     *scope // names the columns of the row, or of the group
}

// Valued is a type of a plan or row with values of its own: NAME.floor is the floor of timers.
type Valued interface {
	fmt.Stringer
	// Value returns the value of that name: a float64, time.Duration, string or bool.
	Value(name string) (any, bool)
}

// show formats a value for a text.
func show(v any) string {
	switch v := v.(type) {
	case float64:
		return experiments.Number(v)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case stat.Interval:
		return experiments.Number(v.Value)
	case pick:
		return show(v.value)
	case []any:
		var all []string
		for _, x := range v {
			all = append(all, show(x))
		}
		return strings.Join(all, ", ")
	}
	return fmt.Sprint(v)
}

// kind names the type of a value for an error.
func kind(v any) string {
	switch v := v.(type) {
	case float64:
		return "a number"
	case time.Duration:
		return "a duration"
	case string:
		return "a text"
	case bool:
		return "yes or no"
	case stat.Interval:
		return "an interval"
	case pick:
		return kind(v.value)
	case []any:
		return "a list"
	case Sample:
		return "a sample"
	}
	return fmt.Sprintf("a value of type %T", v)
}

// number returns the value as a number: that of an interval or pick is its value.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case stat.Interval:
		return v.Value, true
	case pick:
		return number(v.value)
	}
	return 0, false
}

// plain takes a pick, and a plan's type with a text, for what they are in arithmetic.
func plain(v any) any {
	switch v := v.(type) {
	case pick:
		return plain(v.value)
	case Valued:
		return v.String()
	}
	return v
}

// equal compares two values of one kind.
func equal(a, b any) (bool, error) {
	a, b = plain(a), plain(b)
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			return x == y, nil
		}
	}
	if k := kind(a); k != kind(b) || k == "a list" || k == "a sample" {
		return false, fmt.Errorf("compares %s with %s", kind(a), kind(b))
	}
	return a == b, nil
}

// compare returns the sign of a-b for numbers, durations and texts.
func compare(a, b any) (int, error) {
	a, b = plain(a), plain(b)
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			if x != x || y != y {
				return 0, errNoRows // nothing was measured
			}
			return sign(x, y), nil
		}
	}
	switch x := a.(type) {
	case time.Duration:
		if y, ok := b.(time.Duration); ok {
			return sign(x, y), nil
		}
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil
		}
	}
	return 0, fmt.Errorf("compares %s with %s", kind(a), kind(b))
}

func sign[T float64 | time.Duration](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// arithmetic applies + - * / to numbers, durations and intervals. A duration divided by a duration
// is a number. An interval takes numbers only, by * and /.
func arithmetic(op string, a, b any) (any, error) {
	a, b = plain(a), plain(b)
	switch x := a.(type) {
	case float64:
		switch y := b.(type) {
		case float64:
			if op == "/" && x == 0 && y == 0 {
				return nil, errNoRows // such as a share of nothing
			}
			return floats(op, x, y), nil
		case time.Duration:
			if op == "*" {
				return time.Duration(float64(x * float64(y))), nil
			}
		case stat.Interval:
			if op == "*" {
				return y.Times(x), nil
			}
		}
	case time.Duration:
		switch y := b.(type) {
		case float64:
			switch op {
			case "*":
				return time.Duration(float64(float64(x) * y)), nil
			case "/":
				if y == 0 {
					return nil, fmt.Errorf("divides a duration by 0")
				}
				return time.Duration(float64(x) / y), nil
			}
		case time.Duration:
			switch op {
			case "+":
				return x + y, nil
			case "-":
				return x - y, nil
			case "/":
				return arithmetic(op, float64(x), float64(y))
			}
		}
	case stat.Interval:
		if y, ok := b.(float64); ok && (op == "*" || op == "/") {
			if op == "/" {
				return stat.Interval{Value: x.Value / y, Lo: x.Lo / y, Hi: x.Hi / y}, nil
			}
			return x.Times(y), nil
		}
		return arithmetic(op, x.Value, b)
	case string:
		if y, ok := b.(string); ok && op == "+" {
			return x + y, nil
		}
	}
	if y, ok := b.(stat.Interval); ok {
		return arithmetic(op, a, y.Value)
	}
	return nil, fmt.Errorf("%s %s %s: no such arithmetic", kind(a), op, kind(b))
}

// floats keeps each operation alone: a processor that fuses two of them changes the last digit.
func floats(op string, x, y float64) float64 {
	switch op {
	case "+":
		return float64(x) + float64(y)
	case "-":
		return float64(x) - float64(y)
	case "*":
		return float64(x * y)
	}
	return x / y
}
