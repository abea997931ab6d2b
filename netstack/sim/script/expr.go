package script

// Expr is a node of an expression: *Int, *Name, *String, *Wildcard, *List, *Apply or *Binary and *Unary.
//
// The arguments of calls know integers, names, strings, "...", lists, a|b, a = b inside braces, and functions such as htons.
// Code knows integers, names, strings and Python's operators.
type Expr interface {
	// Position returns where the expression starts; a binary one at its operator.
	Position() Pos
}

// Position returns p, which gives all nodes their method.
func (p Pos) Position() Pos { return p }

// Int is an integer.
type Int struct {
	Pos
	Value int64
	Hex   bool // it is written 0x…, and not negative
}

// Name is a constant, a field or a variable.
type Name struct {
	Pos
	Name string
}

// String is a text in double quotes.
type String struct {
	Pos
	Value string // as it stands between the quotes, with its backslashes; no line ends
}

// Wildcard is "...".
type Wildcard struct {
	Pos
}

// List is [a, b], or {a, b} if it is Braced.
type List struct {
	Pos
	Elems  []Expr
	Braced bool
}

// Apply is f(a, b), as in htons(8080).
type Apply struct {
	Pos
	Func string
	Args []Expr
}

// Binary joins two by an operator: | and = in calls, and in code those of Python: or and == != < <= > >= + - * // %.
type Binary struct {
	Pos
	Op   string
	X, Y Expr
}

// Unary is not or - before an expression of code.
type Unary struct {
	Pos
	Op string
	X  Expr
}

// Levels of binding, the loosest first. Comparisons do not chain, and stand alone on theirs.
const (
	bindAssign = iota
	bindOr
	bindAnd
	bindNot
	bindCompare
	bindBar
	bindSum
	bindProduct
	bindUnary
	bindAtom
)

// binding is how tightly the binary operators bind.
var binding = map[string]int{
	"=":  bindAssign,
	"or": bindOr, "and": bindAnd,
	"==": bindCompare, "!=": bindCompare, "<": bindCompare, "<=": bindCompare, ">": bindCompare, ">=": bindCompare,
	"|": bindBar,
	"+": bindSum, "-": bindSum,
	"*": bindProduct, "//": bindProduct, "%": bindProduct,
}

// level returns how tightly the outermost operator of e binds.
func level(e Expr) int {
	switch e := e.(type) {
	case *Binary:
		return binding[e.Op]
	case *Unary:
		if e.Op == "not" {
			return bindNot
		}
		return bindUnary
	case *Int:
		if e.Value < 0 {
			return bindUnary // a minus in front of it
		}
	}
	return bindAtom
}
