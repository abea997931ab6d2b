package script

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
)

// code runs assert and print.
func (r *runner) code(c *Code) {
	for _, stmt := range c.Stmts {
		switch stmt := stmt.(type) {
		case *Assert:
			r.pos = stmt.Pos
			if r.eval(stmt.Cond).n == 0 {
				r.failWith("assert does not hold", expression(stmt.Cond), r.values(stmt))
			}
		case *Print:
			var words []string
			for _, v := range stmt.Values {
				words = append(words, r.eval(v).String())
			}
			line := strings.Join(words, " ")
			r.report.Output = append(r.report.Output, line)
			r.note("print %s", line)
		}
	}
}

// values lists the values of the names in an assert, and the values that it asks for.
func (r *runner) values(a *Assert) string {
	var all []string
	for _, name := range names(a.Cond) {
		if v := r.eval(&Name{Name: name}); constantsOfCode[name] == 0 && v.text == "" {
			all = append(all, name+" = "+v.String())
		}
	}
	for _, e := range a.Values {
		all = append(all, expression(e)+" = "+r.eval(e).String())
	}
	return strings.Join(slices.Compact(all), ", ")
}

// value is a text, or a number if text is "".
type value struct {
	n    int64
	text string
}

func (v value) String() string {
	if v.text != "" {
		return v.text
	}
	return strconv.FormatInt(v.n, 10)
}

func (r *runner) eval(e Expr) value {
	switch e := e.(type) {
	case *Int:
		return value{n: e.Value}
	case *String:
		return value{text: e.Value}
	case *Name:
		return value{n: r.lookup(e.Name)}
	case *Unary:
		x := r.eval(e.X).n
		if e.Op == "not" {
			return value{n: truth(x == 0)}
		}
		return value{n: -x}
	case *Binary:
		x := r.eval(e.X).n
		switch {
		case e.Op == "and" && x == 0, e.Op == "or" && x != 0:
			return value{n: x}
		}
		return value{n: r.operate(e, x, r.eval(e.Y).n)}
	}
	r.fail("an expression of this kind has no value")
	return value{}
}

func (r *runner) operate(e *Binary, x, y int64) int64 {
	switch e.Op {
	case "and", "or":
		return y
	case "==":
		return truth(x == y)
	case "!=":
		return truth(x != y)
	case "<":
		return truth(x < y)
	case "<=":
		return truth(x <= y)
	case ">":
		return truth(x > y)
	case ">=":
		return truth(x >= y)
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	}
	if y == 0 {
		r.pos = e.Pos
		r.fail("division by zero")
	}
	q, m := x/y, x%y
	if m != 0 && (m < 0) != (y < 0) { // Python rounds down
		q, m = q-1, m+y
	}
	if e.Op == "//" {
		return q
	}
	return m
}

// lookup returns the value of a name, which checkNames has checked.
func (r *runner) lookup(name string) int64 {
	if v, ok := constantsOfCode[name]; ok {
		return v
	}
	if f, ok := counterNames()[name]; ok {
		c := r.host.Counters()
		return f(&c)
	}
	switch name {
	case "tcpi_sockets":
		return int64(r.host.Connections())
	case "tcpi_now":
		return int64(r.elapsed() / time.Microsecond)
	}
	i := r.info(r.current)
	if i == nil {
		r.fail("%s: there is no connection yet", name)
	}
	if name == "tcpi_state" {
		r.current.asked = i.State == tcp.StateClosed
	}
	return infoFields[name](i)
}

// counterNames returns the engine's counters by name.
func counterNames() map[string]func(*tcp.Counters) int64 {
	all := map[string]func(*tcp.Counters) int64{}
	new(tcp.Counters).Each(func(name string, _ uint64) {
		all[name] = func(c *tcp.Counters) (v int64) {
			c.Each(func(n string, x uint64) {
				if n == name {
					v = int64(x)
				}
			})
			return v
		}
	})
	return all
}

// names returns the names in an expression, in order.
func names(e Expr) []string {
	switch e := e.(type) {
	case *Name:
		return []string{e.Name}
	case *Unary:
		return names(e.X)
	case *Binary:
		return append(names(e.X), names(e.Y)...)
	}
	return nil
}

// checkNames reports unknown names in code.
func checkNames(stmt Stmt, fault func(Pos, error)) {
	var pos Pos
	var exprs []Expr
	switch stmt := stmt.(type) {
	case *Assert:
		pos, exprs = stmt.Pos, append([]Expr{stmt.Cond}, stmt.Values...)
	case *Print:
		pos, exprs = stmt.Pos, stmt.Values
	}
	for _, e := range exprs {
		for _, name := range names(e) {
			_, field := infoFields[name]
			_, constant := constantsOfCode[name]
			_, counter := counterNames()[name]
			if field || constant || counter || name == "tcpi_sockets" || name == "tcpi_now" {
				continue
			}
			known := append(slices.Collect(maps.Keys(infoFields)), "tcpi_sockets", "tcpi_now")
			what := "tcpi_ names"
			if !strings.HasPrefix(name, "tcpi_") {
				known, what = append(slices.Collect(maps.Keys(counterNames())), slices.Collect(maps.Keys(constantsOfCode))...), "counters and constants"
			}
			slices.Sort(known)
			fault(pos, fmt.Errorf("unknown name %s; %s: %s", name, what, strings.Join(known, ", ")))
		}
	}
}

// expression formats an expression of code, with brackets around joined parts.
func expression(e Expr) string {
	switch e := e.(type) {
	case *Int:
		return strconv.FormatInt(e.Value, 10)
	case *Name:
		return e.Name
	case *String:
		return strconv.Quote(e.Value)
	case *Unary:
		return e.Op + " " + bracketed(e.X)
	case *Binary:
		return bracketed(e.X) + " " + e.Op + " " + bracketed(e.Y)
	}
	return "?"
}

func bracketed(e Expr) string {
	if b, ok := e.(*Binary); ok && (b.Op == "and" || b.Op == "or") {
		return "(" + expression(e) + ")"
	}
	return expression(e)
}
