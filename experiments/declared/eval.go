package declared

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errNoRows says that a measure has no rows to measure. The claim that wants it does not apply.
var errNoRows = errors.New("no such rows")

// absent is a name of let without rows to measure: the text of its measure.
type absent string

// scope is what an expression can see: the values of the plan and sheet, the columns that a group
// has fixed, and the rows. row is the row of a condition or measure, -1 outside of one.
type scope struct {
	sheet *Sheet
	table *rows
	named map[string]any // the plan's values, and those of let so far
	fixed map[string]any // columns of the group, parameters of a function; may be nil
	which []int          // indexes of the rows in sight
	row   int
	memo  *memo // nil outside of resampled
	base  *base
}

// base is what all scopes of an outcome share: the rows of the study, and groups made so far.
type base struct {
	rows   *rows
	groups map[string]*rows
	none   func() string // says why the last condition that no row met may be wrong
}

// memo keeps the values of expressions in each row, for measures that see the same rows many times.
type memo struct {
	values map[ast.Expr][]any // by row, nil if not known yet; a nil slice is not kept
	calls  map[string]*memo   // of functions, by name and arguments
	known  map[[2]ast.Expr]*knownFloats
}

func newMemo() *memo {
	return &memo{map[ast.Expr][]any{}, map[string]*memo{}, map[[2]ast.Expr]*knownFloats{}}
}

// knownFloats is a number in each row where a condition holds, as far as it was asked for.
type knownFloats struct {
	number, where ast.Expr
	state         []rowState
	values        []float64
}

type rowState uint8

const (
	notAsked rowState = iota
	rowCounts
	rowDoesNot
)

// floats returns what is known of a number; nil if it depends on more than its row, or without m.
func (m *memo) floats(s *scope, number, where ast.Expr) *knownFloats {
	if m == nil {
		return nil
	}
	key := [2]ast.Expr{number, where}
	k, ok := m.known[key]
	if !ok {
		if s.ofRow(number) && (where == nil || s.ofRow(where)) {
			n := len(s.table.values)
			k = &knownFloats{number, where, make([]rowState, n), make([]float64, n)}
		}
		m.known[key] = k
	}
	return k
}

// of returns the number in each row in sight where the condition holds.
func (k *knownFloats) of(s *scope) ([]float64, error) {
	all, in := make([]float64, 0, len(s.which)), *s
	for _, in.row = range s.which {
		if k.state[in.row] == notAsked {
			if err := k.ask(&in); err != nil {
				return nil, err
			}
		}
		if k.state[in.row] == rowCounts {
			all = append(all, k.values[in.row])
		}
	}
	return all, nil
}

// ask finds the number of the scope's row.
func (k *knownFloats) ask(s *scope) error {
	if k.where != nil {
		ok, err := s.yes(k.where)
		if err != nil {
			return err
		}
		if !ok {
			k.state[s.row] = rowDoesNot
			return nil
		}
	}
	v, err := s.eval(k.number)
	if err == nil {
		k.values[s.row], err = wantNumber(plain(v))
	}
	k.state[s.row] = rowCounts
	return err
}

// inRow evaluates an expression in the scope's row.
func (s *scope) inRow(n ast.Expr) (any, error) {
	if s.memo == nil {
		return s.eval(n)
	}
	values, ok := s.memo.values[n]
	if !ok {
		if s.ofRow(n) {
			values = make([]any, len(s.table.values))
		}
		s.memo.values[n] = values
	}
	if values == nil {
		return s.eval(n)
	}
	if v := values[s.row]; v != nil {
		return v, nil
	}
	v, err := s.eval(n)
	values[s.row] = v
	return v, err
}

// ofRow reports whether an expression depends on its row alone, not on the rows in sight.
func (s *scope) ofRow(n ast.Expr) bool {
	alone := true
	ast.Inspect(n, func(n ast.Node) bool {
		if x, ok := n.(*ast.CallExpr); ok {
			c, err := splitCall(x)
			op, found := operator{}, false
			if err == nil {
				op, found = operatorNamed(c.name)
			}
			alone = alone && found && !op.perRows
		}
		return alone
	})
	return alone
}

// within returns the scope of a group: rows of s with one value in each column.
func (s *scope) within(fixed map[string]any, which []int) *scope {
	in := *s
	in.fixed, in.which, in.row = make(map[string]any, len(s.fixed)+len(fixed)), which, -1
	for name, v := range s.fixed {
		in.fixed[name] = v
	}
	for name, v := range fixed {
		in.fixed[name] = v
	}
	return &in
}

// value evaluates an expression. Errors show its text.
func (s *scope) value(e expression) (any, error) {
	v, err := s.eval(e.tree)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", e.text, err)
	}
	return v, nil
}

// yes evaluates a condition.
func (s *scope) yes(n ast.Expr) (bool, error) {
	v, err := s.eval(n)
	if err != nil {
		return false, err
	}
	if b, ok := plain(v).(bool); ok {
		return b, nil
	}
	return false, notCondition(v)
}

func notCondition(v any) error { return fmt.Errorf("%s in the place of a condition", kind(v)) }

// text fills in a template.
func (s *scope) text(t template) (string, error) {
	var out strings.Builder
	for _, piece := range t.pieces {
		e, ok := piece.(expression)
		if !ok {
			out.WriteString(piece.(string))
			continue
		}
		v, err := s.value(e)
		if err != nil {
			return "", err
		}
		out.WriteString(show(v))
	}
	return out.String(), nil
}

func (s *scope) eval(n ast.Expr) (any, error) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return s.eval(n.X)
	case *ast.BasicLit:
		return s.literal(n)
	case *ast.Ident:
		return s.name(n.Name)
	case *ast.SelectorExpr:
		of, err := s.eval(n.X)
		if err != nil {
			return nil, err
		}
		return member(of, n.Sel.Name)
	case *ast.UnaryExpr:
		return s.unary(n)
	case *ast.BinaryExpr:
		return s.binary(n)
	case *ast.CallExpr:
		c, err := splitCall(n)
		if err != nil {
			return nil, err
		}
		return s.call(c)
	}
	panic(fmt.Sprintf("BUG: declared: %T passed allowed", n))
}

// literal returns a number, or a text, which may be a template.
func (s *scope) literal(n *ast.BasicLit) (any, error) {
	if n.Kind != token.STRING {
		return strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	}
	text, err := strconv.Unquote(n.Value)
	if err != nil || !strings.Contains(text, "{") {
		return text, err
	}
	t, err := parseTemplate(text)
	if err != nil {
		return nil, err
	}
	return s.text(t)
}

// name looks a name up: true and false, columns of the group, columns of the row, the plan.
func (s *scope) name(name string) (any, error) {
	if name == "true" || name == "false" {
		return name == "true", nil
	}
	if v, ok := s.fixed[name]; ok {
		return v, nil
	}
	if column, ok := s.table.index[name]; ok {
		if s.row >= 0 {
			v := s.table.values[s.row][column]
			if missing, ok := v.(absent); ok {
				return nil, fmt.Errorf("%w: %s", errNoRows, string(missing))
			}
			return v, nil
		}
		return nil, s.outside(name)
	}
	if v, ok := s.named[name]; ok {
		if missing, ok := v.(absent); ok {
			return nil, fmt.Errorf("%w: %s", errNoRows, string(missing))
		}
		return v, nil
	}
	return nil, fmt.Errorf("%s: not known yet: let and plan come first", name)
}

// outside says that a name is that of a column where no row is in sight.
func (s *scope) outside(name string) error {
	var key string
	if all, ok := s.named["plan"].(planNamed); ok && all[name] != nil {
		key = ", or plan." + name
	}
	return fmt.Errorf("%s: a column outside of a measure, want an operator such as mean(%[1]s)%s", name, key)
}

// member returns the value NAME.member.
func member(of any, name string) (any, error) {
	switch v := of.(type) {
	case pick:
		switch {
		case name == "at" && v.at != nil:
			return v.at, nil
		case name == "value":
			return v.value, nil
		}
		if _, ok := v.place.table.index[name]; ok {
			return v.place.name(name)
		}
	case Valued:
		if x, ok := v.Value(name); ok {
			return x, nil
		}
		return nil, fmt.Errorf("%s has no value %s", v, name)
	}
	if in, ok := interval(of); ok {
		switch name {
		case "value":
			return in.Value, nil
		case "lo":
			return in.Lo, nil
		case "hi":
			return in.Hi, nil
		}
	}
	return nil, fmt.Errorf("%s has no .%s", kind(of), name)
}

func (s *scope) unary(n *ast.UnaryExpr) (any, error) {
	if n.Op == token.NOT {
		b, err := s.yes(n.X)
		return !b, err
	}
	v, err := s.eval(n.X)
	if err != nil {
		return nil, err
	}
	return arithmetic("*", -1.0, v)
}

func (s *scope) binary(n *ast.BinaryExpr) (any, error) {
	if n.Op == token.LAND || n.Op == token.LOR {
		b, err := s.yes(n.X)
		if err != nil || b == (n.Op == token.LOR) {
			return b, err
		}
		return s.yes(n.Y)
	}
	x, err := s.eval(n.X)
	if err != nil {
		return nil, err
	}
	y, err := s.eval(n.Y)
	if err != nil {
		return nil, err
	}
	switch n.Op {
	case token.EQL, token.NEQ:
		same, err := equal(x, y)
		return same == (n.Op == token.EQL), err
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		c, err := compare(x, y)
		return holds(n.Op, c), err
	}
	return arithmetic(n.Op.String(), x, y)
}

func holds(op token.Token, sign int) bool {
	switch op {
	case token.LSS:
		return sign < 0
	case token.LEQ:
		return sign <= 0
	case token.GTR:
		return sign > 0
	}
	return sign >= 0
}

// call calls an operator, or a function of the sheet.
func (s *scope) call(c *call) (any, error) {
	if f, ok := s.sheet.functions[c.name]; ok {
		fixed := map[string]any{}
		for i, arg := range c.args {
			v, err := s.eval(arg)
			if err != nil {
				return nil, err
			}
			fixed[f.params[i]] = v
		}
		in := s.within(fixed, s.which)
		in.row = s.row
		if s.memo != nil && len(fixed) > 0 {
			key := fmt.Sprintf("%s %#v", c.name, fixed)
			if in.memo = s.memo.calls[key]; in.memo == nil {
				in.memo = newMemo()
				s.memo.calls[key] = in.memo
			}
		}
		return in.value(f.body)
	}
	if c.in != "" {
		var err error
		if s, err = s.inGroups(c.in); err != nil {
			return nil, err
		}
	}
	op, ok := operatorNamed(c.name)
	if !ok {
		return nil, fmt.Errorf("%s: no such operator", c.name)
	}
	v, err := op.apply(s, c)
	if err != nil && !errors.Is(err, errNoRows) {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return v, err
}

// chosen returns the rows in sight that meet a condition, nil for all.
func (s *scope) chosen(where ast.Expr) ([]int, error) {
	if where == nil {
		return s.which, nil
	}
	in := *s
	var kept []int
	for _, in.row = range s.which {
		v, err := in.inRow(where)
		if err != nil {
			return nil, err
		}
		yes, ok := plain(v).(bool)
		if !ok {
			return nil, notCondition(v)
		}
		if yes {
			kept = append(kept, in.row)
		}
	}
	if kept == nil {
		s.base.none = func() string { return s.stranger(where) }
	}
	return kept, nil
}

// mostNamed is the most values of a column that a message lists.
const mostNamed = 12

// stranger says that a condition compares a column with a text that no row has there, "" if it does
// not.
func (s *scope) stranger(where ast.Expr) (says string) {
	ast.Inspect(where, func(n ast.Node) bool {
		same, ok := n.(*ast.BinaryExpr)
		if !ok || same.Op != token.EQL {
			return says == ""
		}
		id, ok := same.X.(*ast.Ident)
		if !ok {
			return says == ""
		}
		column, ok := s.table.index[id.Name]
		in := *s
		in.row = -1
		v, err := in.eval(same.Y)
		text, isText := v.(string)
		if !ok || err != nil || !isText {
			return says == ""
		}
		var have []string
		for _, row := range s.table.values {
			if v, _ := row[column].(string); !slices.Contains(have, v) {
				have = append(have, v)
			}
		}
		if !slices.Contains(have, text) {
			says = fmt.Sprintf("; no row has %s %q%s: they have %s", id.Name, text, strings.TrimSuffix(nearest(text, have),
				"?"), strings.Join(have[:min(len(have), mostNamed)], ", "))
		}
		return says == ""
	})
	return says
}

// each returns the value of an expression in each row that meets the condition.
func (s *scope) each(n, where ast.Expr) ([]any, error) {
	which, err := s.chosen(where)
	if err != nil {
		return nil, err
	}
	in := *s
	all := make([]any, 0, len(which))
	for _, in.row = range which {
		v, err := in.inRow(n)
		if err != nil {
			return nil, err
		}
		all = append(all, plain(v))
	}
	return all, nil
}

// group is the rows that share their values of some columns.
type group struct {
	key   []any
	scope *scope
}

// groups groups the rows that meet a condition by the values of columns: by those of the first one,
// within these by those of the second, each in order of first occurrence.
func (s *scope) groups(over []string, where ast.Expr) ([]group, error) {
	which, err := s.chosen(where)
	if err != nil {
		return nil, err
	}
	for _, name := range over {
		if _, ok := s.table.index[name]; !ok {
			return nil, fmt.Errorf("%s: no such column, want one of %s", name, strings.Join(s.table.names, ", "))
		}
	}
	var all []group
	s.split(which, over, nil, func(key []any, which []int) {
		fixed := make(map[string]any, len(over))
		for i, name := range over {
			fixed[name] = key[i]
		}
		all = append(all, group{slices.Clone(key), s.within(fixed, which)})
	})
	return all, nil
}

// split calls f with each group of rows.
func (s *scope) split(which []int, over []string, key []any, f func(key []any, which []int)) {
	if len(which) == 0 {
		return
	}
	if len(over) == 0 {
		f(key, which)
		return
	}
	kinds := s.table.kindsOf(over[0])
	var order []int
	byKind := map[int][]int{}
	for _, row := range which {
		k := kinds[row]
		if len(byKind[k]) == 0 {
			order = append(order, k)
		}
		byKind[k] = append(byKind[k], row)
	}
	for _, k := range order {
		rows := byKind[k]
		s.split(rows, over[1:], append(key, s.table.values[rows[0]][s.table.index[over[0]]]), f)
	}
}

// rising sorts groups of one column by its value. Texts keep their order.
func rising(all []group) {
	slices.SortStableFunc(all, func(a, b group) int {
		if _, isText := a.key[0].(string); isText {
			return 0
		}
		c, _ := compare(a.key[0], b.key[0]) // values of one column are of one kind
		return c
	})
}

// span parses the text of a duration that respell found.
func span(text string) (any, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("%q: no duration", text)
	}
	return d, nil
}
