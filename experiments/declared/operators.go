package declared

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"math"
	"slices"
	"strings"
	"time"

	"tcpwheel/wheel/stat"
)

// operator is a function that expressions can call.
type operator struct {
	usage string // its name and arguments, such as "mean(NUMBER where CONDITION)"
	help  string // one line
	apply func(s *scope, c *call) (any, error)

	args    int  // arguments before in, over and where; -1 is any number
	more    int  // arguments that may follow
	over    bool // it wants axes
	perRows bool // it may take groups, and a condition on rows
}

// name returns the name of the operator.
func (o *operator) name() string {
	name, _, _ := strings.Cut(o.usage, "(")
	return name
}

// operatorList are the operators: first those of rows, then those of axes, then those of values.
var operatorList []operator

func init() {
	operatorList = slices.Concat(rowOperators(), axisOperators(), valueOperators())
}

func rowOperators() []operator {
	of := func(args int, usage, help string, apply func(*scope, *call) (any, error)) operator {
		return operator{usage: usage, help: help, apply: apply, args: args, perRows: true}
	}
	return []operator{
		of(1, "median(NUMBER where CONDITION)", "median over the rows", numbers(stat.Median[float64])),
		of(2, "quantile(NUMBER, SHARE where CONDITION)",
			"quantile over the rows (Hyndman and Fan's type 1), SHARE from 0 to 1", quantile),
		of(2, "pooled(SAMPLE, SHARE where CONDITION)",
			"quantile of the rows' samples together, in ms, with its 95 % bootstrap interval over the rows", pooled),
		of(1, "total(DURATION where CONDITION)", "sum of a duration over the rows", total),
		of(2, "ranked(LIST, RANK where CONDITION)",
			"a value of the lists of all rows together: 1 is the greatest, 2 the next", ranked),
		of(1, "interval(NUMBER where CONDITION)",
			"mean with its 95 % bootstrap interval over the rows, which are independent: .value, .lo, .hi",
			numbers(bootstrapMean)),
		of(2, "ratio(NUMBER, NUMBER where CONDITION)",
			"sum of the first divided by the sum of the second, with the 95 % bootstrap interval over the rows",
			pairs(bootstrapRatio)),
		of(2, "slope(NUMBER, NUMBER where CONDITION)",
			"slope of the least-squares line of the first number over the second",
			lineOf(func(slope, _, _ float64) float64 { return slope })),
		of(2, "intercept(NUMBER, NUMBER where CONDITION)",
			"the first number where this line has 0 of the second",
			lineOf(func(_, at0, _ float64) float64 { return at0 })),
		of(2, "r_squared(NUMBER, NUMBER where CONDITION)",
			"share of the variance of the first number that this line explains",
			lineOf(func(_, _, r2 float64) float64 { return r2 })),
		of(2, "rank_correlation(NUMBER, NUMBER where CONDITION)",
			"rank correlation of two numbers of the rows (Spearman), ties in the middle; 0 of a constant",
			pairs(rankCorrelation)),
		of(3, "evenness(NUMBER, LEAST, MOST where CONDITION)",
			"probability of numbers so far from even between two bounds, if they are (Kolmogorov-Smirnov)", evenness),
		of(1, "lower(MEASURE)", "in steps: the measure at the value that a step begins at", ofStep(0)),
		of(1, "upper(MEASURE)", "in steps: the measure at the value that it leads to", ofStep(1)),
		of(1, "values(COLUMN where CONDITION)", "list of the values of a column, each once, in order of the rows",
			values),
	}
}

func axisOperators() []operator {
	of := func(args, more int, usage, help string, apply func(*scope, *call) (any, error)) operator {
		return operator{usage: usage, help: help, apply: apply, args: args, more: more, over: true, perRows: true}
	}
	return []operator{
		of(-1, 0, "count(where CONDITION), count(over AXIS, … where CONDITION) or count(LIST)",
			"how many rows, groups of rows, or values of a list", count),
		of(1, 0, "mean(NUMBER where CONDITION) or mean(MEASURE over AXIS, … where CONDITION)",
			"mean of a number over the rows, or of a measure over axes", numbers(stat.Mean[float64])),
		of(1, 0, "geometric_mean(NUMBER where CONDITION) or geometric_mean(MEASURE over AXIS, … where CONDITION)",
			"mean of ratios, as mean", numbers(geometricMean)),
		of(1, 0, "sum(NUMBER where CONDITION) or sum(MEASURE over AXIS, … where CONDITION)",
			"sum, as mean", numbers(sum)),
		of(1, 0, "steps(CONDITION over AXIS where CONDITION)",
			"how many steps from one value of a rising axis to the next meet the first condition; it compares "+
				"lower(MEASURE) with upper(MEASURE)", steps),
		of(1, 0, "least(NUMBER where CONDITION) or least(MEASURE over AXIS, … where CONDITION)",
			"least over the rows, or of a measure over axes: .value, .at, and .COLUMN of the row or group",
			extreme(less)),
		of(1, 0, "greatest(NUMBER where CONDITION) or greatest(MEASURE over AXIS, … where CONDITION)",
			"greatest, as least", extreme(more)),
		of(1, 0, "farthest(NUMBER where CONDITION) or farthest(MEASURE over AXIS, … where CONDITION)",
			"value that is farthest from 1, as least: of ratios to a law", extreme(farther)),
		of(2, 1, "crossing(MEASURE, LEVEL over AXIS where CONDITION) or crossing(MEASURE, LEVEL, ELSE over …)",
			"first value of a rising axis at which the measure reaches the level; ELSE if it does nowhere", crossing),
		of(3, 0, "falls(MEASURE, LEVEL, NUMBER over AXIS where CONDITION)",
			"the number at which the measure last falls below the level, on straight lines between the values of a "+
				"rising axis", falls),
		of(1, 0, "those(CONDITION over AXIS where CONDITION)",
			"list of the values of an axis at which the first condition holds", those),
		of(1, 0, "all(CONDITION where CONDITION) or all(CONDITION over AXIS, … where CONDITION)",
			"whether the first condition holds in each row, or at each value of an axis", all),
		of(1, 0, "listing(TEXT where CONDITION) or listing(TEXT over AXIS, … where CONDITION)",
			"list of a text for each row, or for each value of an axis, which rises", listing),
		of(1, 0, "paired(MEASURE - MEASURE over AXIS where CONDITION)",
			"mean of a measure over the values of an axis, such as the seed, with its 95 % bootstrap interval",
			numbers(bootstrapMean)),
		of(1, 1, "resampled(MEASURE over AXIS where CONDITION) or resampled(MEASURE, DRAWS over …)",
			"measure of all rows, with its 95 % bootstrap interval over the values of an axis, such as the seed; DRAWS "+
				"is the number of a random sequence, 1 without", resampled),
	}
}

func valueOperators() []operator {
	of := func(args int, usage, help string, apply func(*scope, *call) (any, error)) operator {
		return operator{usage: usage, help: help, apply: apply, args: args}
	}
	return []operator{
		of(3, "if(CONDITION, VALUE, VALUE)", "the first value where the condition holds, else the second", choose),
		of(-1, "lookup(VALUE, CASE, RESULT, …)", "the result behind the first case that the value equals; none without",
			lookup),
		of(2, "otherwise(MEASURE, VALUE)", "the measure; the value where it has no rows", otherwise),
		of(-1, "among(VALUE, VALUE, …)", "whether the first value is one of the others", among),
		of(2, "contains(LIST, VALUE)", "whether a list has a value", two(contains)),
		of(2, "place(LIST, VALUE)", "place of a value in a list, from 0", two(place)),
		of(2, "starts(TEXT, TEXT)", "whether the first text begins with the second", two(starts)),

		of(-1, "list(VALUE, …)", "list of the arguments and of the values of lists, each once", listOfValues),
		of(1, "first(LIST)", "first value of a list", element(func(n int) int { return 0 })),
		of(1, "last(LIST)", "last value of a list", element(func(n int) int { return n - 1 })),
		of(2, "head(LIST, COUNT)", "a list's first values, at most so many", two(head)),
		of(2, "item(LIST, INDEX)", "a value of a list, from 0", two(item)),
		of(2, "next(LIST, VALUE)", "first value of a rising list that is not below the other one; the last one "+
			"without", two(next)),
		of(2, "nearest(LIST, NUMBER)", "value of a list that is nearest to a number", two(nearestOf)),
		of(2, "listed(TEXT, LIST)", "the text and the list; nothing for an empty list", two(listed)),
		of(2, "join(LIST, TEXT)", "the values of a list with a text between them", two(join)),

		of(-1, "min(NUMBER, …)", "least of its arguments", pickBy(-1)),
		of(-1, "max(NUMBER, …)", "greatest of its arguments", pickBy(1)),
		of(3, "bounds(NUMBER, LEAST, GREATEST)", "a number with bounds of its own: .value, .lo, .hi", bounds),
		of(1, "ceil(NUMBER)", "least whole number not below", rounding(math.Ceil)),
		of(1, "floor(NUMBER)", "greatest whole number not above", rounding(math.Floor)),
		of(1, "sqrt(NUMBER)", "square root", rounding(math.Sqrt)),
		of(1, "abs(NUMBER)", "absolute value, also of a duration", one(absolute)),
		of(1, "digits(NUMBER)", "text of a whole number, without commas", one(digits)),
		of(2, "fixed(NUMBER, DIGITS)", "text of a number with so many digits behind the point", two(fixed)),

		of(2, "power(NUMBER, COUNT)", "a number to the power of a whole number", two(power)),

		of(1, "ms(DURATION)", "a duration as a number of milliseconds", one(milliseconds)),
		of(1, "seconds(DURATION)", "a duration as a number of seconds", one(seconds)),
		of(2, "round(DURATION, DURATION)", "a duration to the nearest multiple of another", two(round)),
		of(2, "bytes_time(BYTES, RATE)", "how long a link of so many bit/s takes to send so many bytes", two(bytesTime)),
	}
}

// spanName is the operator that respell puts around a duration.
const spanName = "__span"

func operatorNamed(name string) (operator, bool) {
	if name == spanName {
		return operator{usage: name, args: 1, apply: func(_ *scope, c *call) (any, error) {
			return span(strings.Trim(c.args[0].(*ast.BasicLit).Value, `"`))
		}}, true
	}
	i := slices.IndexFunc(operatorList, func(o operator) bool { return o.name() == name })
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

func wantNumber(v any) (float64, error) {
	x, ok := number(v)
	if !ok {
		return 0, fmt.Errorf("%s, want a number; ms(…) makes one of a duration", kind(v))
	}
	return x, nil
}

// evenness takes the numbers as drawn evenly from between the bounds.
func evenness(s *scope, c *call) (any, error) {
	all, err := s.floatsOf(c.args[0], c.where)
	if err != nil {
		return nil, err
	}
	lo, err := s.floatOf(c.args[1])
	if err != nil {
		return nil, err
	}
	hi, err := s.floatOf(c.args[2])
	if err == nil && !(lo < hi) {
		err = fmt.Errorf("bounds %v and %v, want the first below the second", lo, hi)
	}
	if err != nil {
		return nil, err
	}
	_, p := stat.KolmogorovSmirnov(all, func(x float64) float64 { return min(max((x-lo)/(hi-lo), 0), 1) })
	return p, nil
}

func geometricMean(all []float64) float64 {
	logs := 0.0
	for _, x := range all {
		logs += stat.Log(x)
	}
	return stat.Exp(logs / float64(len(all)))
}

func sum(all []float64) (total float64) {
	for _, x := range all {
		total += x
	}
	return total
}

// total sums durations, without rounding.
func total(s *scope, c *call) (any, error) {
	values, err := s.each(c.args[0], c.where)
	if err != nil || len(values) == 0 {
		return nil, cmp.Or(err, errNoRows)
	}
	var all time.Duration
	for _, v := range values {
		d, ok := v.(time.Duration)
		if !ok {
			return nil, fmt.Errorf("%s, want a duration", kind(v))
		}
		all += d
	}
	return all, nil
}

// ranked returns the value of a rank among those of all lists.
func ranked(s *scope, c *call) (any, error) {
	lists, err := s.each(c.args[0], c.where)
	if err != nil {
		return nil, err
	}
	var values []float64
	for _, v := range lists {
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("%s, want a list", kind(v))
		}
		for _, v := range list {
			x, ok := number(v)
			if !ok {
				return nil, fmt.Errorf("a list with %s, want numbers", kind(v))
			}
			values = append(values, x)
		}
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
		if c.over == nil {
			all, err := s.floatsOf(c.args[0], c.where)
			if err != nil {
				return nil, err
			}
			return of(all), nil
		}
		var all []float64
		err := s.over(c, func(_ group, v any) error {
			x, ok := number(v)
			if !ok {
				return fmt.Errorf("%s, want a number", kind(v))
			}
			all = append(all, x)
			return nil
		})
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

func pooled(s *scope, c *call) (any, error) {
	rows, err := s.each(c.args[0], c.where)
	if err != nil {
		return nil, err
	}
	share, err := s.shareOf(c.args[1])
	if err != nil {
		return nil, err
	}
	var samples [][]time.Duration
	for _, v := range rows {
		sample, ok := v.(Sample)
		if !ok {
			return nil, fmt.Errorf("%s, want a sample", kind(v))
		}
		samples = append(samples, sample)
	}
	in := stat.BootstrapQuantile(samples, 3, share)
	if in.Value != in.Value {
		return nil, errNoRows
	}
	return arithmetic("/", in, 1e6)
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

func rankCorrelation(x, y []float64) any {
	a, b := ranks(x), ranks(y)
	ma, mb := stat.Mean(a), stat.Mean(b)
	var ab, aa, bb float64
	for i := range a {
		da, db := a[i]-ma, b[i]-mb
		ab, aa, bb = ab+float64(da*db), aa+float64(da*da), bb+float64(db*db)
	}
	if aa == 0 || bb == 0 {
		return 0.0
	}
	return ab / math.Sqrt(aa*bb)
}

// ranks returns the place of each number among all in order; equal ones share the middle.
func ranks(all []float64) []float64 {
	sorted := slices.Sorted(slices.Values(all))
	out := make([]float64, len(all))
	for i, x := range all {
		lo, _ := slices.BinarySearch(sorted, x)
		hi := lo
		for hi+1 < len(sorted) && sorted[hi+1] == x {
			hi++
		}
		out[i] = float64(lo+hi) / 2
	}
	return out
}

func less(v, best any) (bool, error) {
	sign, err := compare(v, best)
	return sign < 0, err
}

func more(v, best any) (bool, error) {
	sign, err := compare(v, best)
	return sign > 0, err
}

// farther reports whether a number is farther from 1.
func farther(v, best any) (bool, error) {
	x, ok := number(v)
	if !ok {
		return false, fmt.Errorf("%s, want a number", kind(v))
	}
	y, _ := number(best)
	return math.Abs(x-1) > math.Abs(y-1), nil
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

// steps counts the neighbours on an axis that meet a condition.
func steps(s *scope, c *call) (any, error) {
	if len(c.over) != 1 {
		return nil, fmt.Errorf("want over and a column")
	}
	all, err := s.groups(c.over, c.where)
	if err != nil {
		return nil, err
	}
	rising(all)
	n := 0.0
	for i := 1; i < len(all); i++ {
		in := s.within(nil, nil)
		in.step = [2]*scope{all[i-1].scope, all[i].scope}
		yes, err := in.yes(c.args[0])
		if err != nil {
			return nil, err
		}
		if yes {
			n++
		}
	}
	return n, nil
}

// ofStep evaluates a measure at an end of a step.
func ofStep(end int) func(*scope, *call) (any, error) {
	return func(s *scope, c *call) (any, error) {
		if s.step[end] == nil {
			return nil, errors.New("want it inside of steps(…)")
		}
		return s.step[end].eval(c.args[0])
	}
}

func those(s *scope, c *call) (any, error) {
	list := []any{}
	return list, s.overConditions(c, &list, nil)
}

func all(s *scope, c *call) (any, error) {
	holds := true
	if c.over != nil {
		err := s.overConditions(c, nil, &holds)
		return holds, err
	}
	values, err := s.each(c.args[0], c.where)
	if err == nil && len(values) == 0 {
		err = errNoRows
	}
	for _, v := range values {
		yes, ok := v.(bool)
		if !ok {
			return nil, notCondition(v)
		}
		holds = holds && yes
	}
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
