package declared

import (
	"fmt"
	"go/ast"
	"math"
	"slices"
	"strings"

	"tcpwheel/wheel/stat"
)

// operator is a function that expressions can call.
type operator struct {
	name  string
	usage string // such as "mean(NUMBER where CONDITION)"
	help  string // one line
	apply func(s *scope, c *call) (any, error)

	args    int  // arguments before over and where; -1 is any number
	over    bool // it wants axes
	perRows bool // it may take a condition on rows
}

// operatorsByName are the operators, with the aggregates of rows first.
var operatorList []operator

func init() {
	operatorList = []operator{
		{name: "mean", usage: "mean(NUMBER where CONDITION)", help: "mean of a number over the rows", args: 1, perRows: true, apply: numbers(stat.Mean[float64])},
		{name: "sum", usage: "sum(NUMBER where CONDITION)", help: "sum over the rows", args: 1, perRows: true, apply: numbers(sum)},
		{name: "median", usage: "median(NUMBER where CONDITION)", help: "median over the rows", args: 1, perRows: true, apply: numbers(stat.Median[float64])},
		{name: "quantile", usage: "quantile(NUMBER, SHARE where CONDITION)", help: "quantile over the rows (Hyndman and Fan's type 1), SHARE from 0 to 1", args: 2, perRows: true, apply: quantile},
		{name: "interval", usage: "interval(NUMBER where CONDITION)", help: "mean with its 95 % bootstrap interval over the rows, which are independent: .value, .lo, .hi", args: 1, perRows: true, apply: bootstrapMean},
		{name: "ratio", usage: "ratio(NUMBER, NUMBER where CONDITION)", help: "sum of the first divided by the sum of the second, with the 95 % bootstrap interval over the rows", args: 2, perRows: true, apply: bootstrapRatio},
		{name: "count", usage: "count(where CONDITION) or count(LIST)", help: "how many rows, or values of a list", args: -1, perRows: true, apply: count},

		{name: "least", usage: "least(NUMBER where CONDITION) or least(MEASURE over AXIS where CONDITION)", help: "least over the rows; or least of a measure over an axis: .value, and .at for where", args: 1, over: true, perRows: true, apply: extreme(-1)},
		{name: "greatest", usage: "greatest(NUMBER where CONDITION) or greatest(MEASURE over AXIS where CONDITION)", help: "greatest, as least", args: 1, over: true, perRows: true, apply: extreme(1)},
		{name: "crossing", usage: "crossing(MEASURE, LEVEL over AXIS where CONDITION)", help: "first value of a rising axis at which the measure reaches the level", args: 2, over: true, perRows: true, apply: crossing},
		{name: "those", usage: "those(CONDITION over AXIS where CONDITION)", help: "list of the values of an axis at which the first condition holds", args: 1, over: true, perRows: true, apply: those},
		{name: "all", usage: "all(CONDITION over AXIS where CONDITION)", help: "whether the first condition holds at each value of an axis", args: 1, over: true, perRows: true, apply: all},
		{name: "listing", usage: "listing(TEXT over AXIS where CONDITION)", help: "list of a text for each value of an axis, which rises", args: 1, over: true, perRows: true, apply: listing},
		{name: "paired", usage: "paired(MEASURE - MEASURE over AXIS where CONDITION)", help: "mean of a measure over the values of an axis, such as the seed, with its 95 % bootstrap interval", args: 1, over: true, perRows: true, apply: paired},

		{name: "among", usage: "among(VALUE, VALUE, …)", help: "whether the first value is one of the others", args: -1, apply: among},
		{name: "contains", usage: "contains(LIST, VALUE)", help: "whether a list has a value", args: 2, apply: contains},
		{name: "starts", usage: "starts(TEXT, TEXT)", help: "whether the first text begins with the second", args: 2, apply: starts},
		{name: "first", usage: "first(LIST)", help: "first value of a list", args: 1, apply: element(func(n int) int { return 0 })},
		{name: "last", usage: "last(LIST)", help: "last value of a list", args: 1, apply: element(func(n int) int { return n - 1 })},
		{name: "item", usage: "item(LIST, INDEX)", help: "a value of a list, from 0", args: 2, apply: item},
		{name: "listed", usage: "listed(TEXT, LIST)", help: "the text and the list; nothing for an empty list", args: 2, apply: listed},
		{name: "min", usage: "min(NUMBER, …)", help: "least of its arguments", args: -1, apply: pickBy(-1)},
		{name: "max", usage: "max(NUMBER, …)", help: "greatest of its arguments", args: -1, apply: pickBy(1)},
		{name: "ceil", usage: "ceil(NUMBER)", help: "least whole number not below", args: 1, apply: rounding(math.Ceil)},
		{name: "abs", usage: "abs(NUMBER)", help: "absolute value", args: 1, apply: rounding(math.Abs)},
		{name: "ms", usage: "ms(DURATION)", help: "a duration as a number of milliseconds", args: 1, apply: milliseconds},
		{name: "round", usage: "round(DURATION, DURATION)", help: "a duration to the nearest multiple of another", args: 2, apply: round},
		{name: "bytes_time", usage: "bytes_time(BYTES, RATE)", help: "how long a link of so many bit/s takes to send so many bytes", args: 2, apply: bytesTime},
	}
}

// spanName is the operator that respell puts around a duration.
const spanName = "__span"

func operatorNamed(name string) (operator, bool) {
	if name == spanName {
		return operator{name: name, args: 1, apply: func(_ *scope, c *call) (any, error) {
			return span(strings.Trim(c.args[0].(*ast.BasicLit).Value, `"`))
		}}, true
	}
	i := slices.IndexFunc(operatorList, func(o operator) bool { return o.name == name })
	if i < 0 {
		return operator{}, false
	}
	return operatorList[i], true
}

// Operator is an operator of expressions, for documents and errors.
type Operator struct{ Usage, Help string }

// Operators returns all operators.
func Operators() (all []Operator) {
	for _, o := range operatorList {
		all = append(all, Operator{o.usage, o.help})
	}
	return all
}

// floatsOf returns a number of each row; errNoRows without rows.
func (s *scope) floatsOf(n, where ast.Expr) ([]float64, error) {
	values, err := s.each(n, where)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, errNoRows
	}
	all := make([]float64, len(values))
	for i, v := range values {
		x, ok := number(v)
		if !ok {
			return nil, fmt.Errorf("%s, want a number; ms(…) makes one of a duration", kind(v))
		}
		all[i] = x
	}
	return all, nil
}

func sum(all []float64) (total float64) {
	for _, x := range all {
		total += x
	}
	return total
}

func numbers(of func([]float64) float64) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		all, err := s.floatsOf(c.args[0], c.where)
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
	share, err := s.floatOf(c.args[1])
	if err == nil && !(share >= 0 && share <= 1) {
		err = fmt.Errorf("share %v, want 0 to 1", share)
	}
	if err != nil {
		return nil, err
	}
	return stat.Quantile(all, share), nil
}

func bootstrapMean(s *scope, c *call) (any, error) {
	all, err := s.floatsOf(c.args[0], c.where)
	if err != nil {
		return nil, err
	}
	return stat.BootstrapMean(all, 1), nil
}

func bootstrapRatio(s *scope, c *call) (any, error) {
	above, err := s.floatsOf(c.args[0], c.where)
	if err != nil {
		return nil, err
	}
	below, err := s.floatsOf(c.args[1], c.where)
	if err != nil {
		return nil, err
	}
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
	}), nil
}

func count(s *scope, c *call) (any, error) {
	if len(c.args) == 1 && c.where == nil {
		list, err := s.listOf(c.args[0])
		return float64(len(list)), err
	}
	if len(c.args) > 0 {
		return nil, fmt.Errorf("want a list, or where and a condition")
	}
	which, err := s.chosen(c.where)
	return float64(len(which)), err
}

// extreme returns the least (-1) or greatest (1) value over rows, or of a measure over axes.
func extreme(want int) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		var best *pick
		take := func(v, at any) error {
			if best != nil {
				if c, err := compare(v, best.value); err != nil || c != want {
					return err
				}
			}
			best = &pick{plain(v), at}
			return nil
		}
		if c.over == nil {
			values, err := s.each(c.args[0], c.where)
			if err != nil {
				return nil, err
			}
			for _, v := range values {
				if err := take(v, nil); err != nil {
					return nil, err
				}
			}
		} else if err := s.over(c, func(g group, v any) error { return take(v, g.at()) }); err != nil {
			return nil, err
		}
		switch {
		case best == nil:
			return nil, errNoRows
		case c.over == nil:
			return best.value, nil
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
		err = errNoRows
	}
	return found, err
}

func those(s *scope, c *call) (any, error) {
	list := []any{}
	return list, s.overConditions(c, &list, nil)
}

func all(s *scope, c *call) (any, error) {
	holds := true
	err := s.overConditions(c, nil, &holds)
	return holds, err
}

func (s *scope) overConditions(c *call, list *[]any, holds *bool) error {
	return s.over(c, func(g group, v any) error {
		yes, ok := v.(bool)
		switch {
		case !ok:
			return fmt.Errorf("%s in the place of a condition", kind(v))
		case list != nil && yes:
			*list = append(*list, g.at())
		case holds != nil && !yes:
			*holds = false
		}
		return nil
	})
}

func listing(s *scope, c *call) (any, error) {
	list := []any{}
	err := s.over(c, func(_ group, v any) error {
		list = append(list, show(v))
		return nil
	})
	return list, err
}

func paired(s *scope, c *call) (any, error) {
	var values []float64
	err := s.over(c, func(_ group, v any) error {
		x, ok := number(v)
		if !ok {
			return fmt.Errorf("%s, want a number", kind(v))
		}
		values = append(values, x)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return stat.BootstrapMean(values, 1), nil
}
