package script

// Expr is a node of an expression: *Int, *Name, *String, *Wildcard, *List, *Apply, *Binary or
// *Unary.
//
// Arguments of calls have integers, names, strings, "...", lists, a|b, a = b inside braces, and
// functions such as htons. Code has integers, names, strings and Python's operators.
type Expr interface {
	// Position returns where the expression starts; a binary one at its operator.
	Position() Pos
}

// Position returns p. All nodes embed a Pos.
func (p Pos) Position() Pos { return p }

// Int is an integer.
type Int struct {
	Pos
	Value int64
	Hex   bool // written 0x…; not negative
}

// Name is a constant, a field or a variable.
type Name struct {
	Pos
	Name string
}

// String is text in double quotes.
type String struct {
	Pos
	Value string // the text between the quotes, with its backslashes
}

// Wildcard is "...".
type Wildcard struct {
	Pos
}

// List is [a, b], or {a, b} if Braced.
type List struct {
	Pos
	Elems  []Expr
	Braced bool
}

// Apply is f(a, b), such as htons(8080).
type Apply struct {
	Pos
	Func string
	Args []Expr
}

// Binary joins two expressions by | or = in calls, and in code by Python's or, and, ==, !=, <, <=,
// >, >=, +, -, *, // or %.
type Binary struct {
	Pos
	Op   string
	X, Y Expr
}

// Unary is "not" or "-" before an expression of code.
type Unary struct {
	Pos
	Op string
	X  Expr
}

// Precedences, lowest first. Comparisons do not chain.
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

// binding is the precedence of the binary operators.
var binding = map[string]int{
	"=":  bindAssign,
	"or": bindOr, "and": bindAnd,
	"==": bindCompare, "!=": bindCompare, "<": bindCompare, "<=": bindCompare, ">": bindCompare, ">=": bindCompare,
	"|": bindBar,
	"+": bindSum, "-": bindSum,
	"*": bindProduct, "//": bindProduct, "%": bindProduct,
}

// level returns the precedence of the outermost operator of e.
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
			return bindUnary // a leading minus
		}
	}
	return bindAtom
}
