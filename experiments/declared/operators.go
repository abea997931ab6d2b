package declared

import (
	"go/ast"
	"math"
	"slices"
	"strings"

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
		of(1, 0, "sum(NUMBER where CONDITION) or sum(MEASURE over AXIS, … where CONDITION)",
			"sum, as mean", numbers(sum)),
		of(1, 0, "least(NUMBER where CONDITION) or least(MEASURE over AXIS, … where CONDITION)",
			"least over the rows, or of a measure over axes: .value, .at, and .COLUMN of the row or group",
			extreme(less)),
		of(1, 0, "greatest(NUMBER where CONDITION) or greatest(MEASURE over AXIS, … where CONDITION)",
			"greatest, as least", extreme(more)),
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
		of(2, "item(LIST, INDEX)", "a value of a list, from 0", two(item)),
		of(2, "next(LIST, VALUE)", "first value of a rising list that is not below the other one; the last one "+
			"without", two(next)),
		of(2, "listed(TEXT, LIST)", "the text and the list; nothing for an empty list", two(listed)),
		of(2, "join(LIST, TEXT)", "the values of a list with a text between them", two(join)),

		of(-1, "min(NUMBER, …)", "least of its arguments", pickBy(-1)),
		of(-1, "max(NUMBER, …)", "greatest of its arguments", pickBy(1)),
		of(3, "bounds(NUMBER, LEAST, GREATEST)", "a number with bounds of its own: .value, .lo, .hi", bounds),
		of(1, "ceil(NUMBER)", "least whole number not below", rounding(math.Ceil)),
		of(1, "floor(NUMBER)", "greatest whole number not above", rounding(math.Floor)),
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
