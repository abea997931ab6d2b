package script

import (
	"strconv"
	"strings"
)

const supportedCode = "assert condition, value… and print(value, …)"

// codeBlock reads %{ }%.
func (p *parser) codeBlock() *Code {
	start := p.off
	p.expect("%{", "to begin code")
	n := strings.Index(p.src[p.off:], "}%")
	if n < 0 {
		p.fail(start, "code is not closed: want }%%")
	}
	p.limit = p.off + n
	p.safe = p.limit + 2
	p.code, p.newlines = true, false
	c := &Code{}
	for {
		for p.peek() == ';' || p.peek() == '\n' {
			p.off++
		}
		if p.off == p.limit {
			break
		}
		p.nodes = 0
		c.Stmts = append(c.Stmts, p.stmt())
		if b := p.peek(); b != 0 && b != ';' && b != '\n' {
			p.want("an operator, \",\" or the end of the statement")
		}
	}
	if len(c.Stmts) == 0 {
		p.fail(start, "code is empty, want %s", supportedCode)
	}
	p.code, p.newlines, p.limit = false, true, len(p.src)
	p.off = p.safe
	p.end = p.off
	return c
}

func (p *parser) stmt() Stmt {
	w := p.peekWord()
	start := p.off
	pos := p.pos(start)
	p.accept(w)
	switch w {
	case "assert":
		a := &Assert{Pos: pos, Cond: p.codeExpr(bindOr)}
		for p.accept(",") {
			a.Values = append(a.Values, p.codeExpr(bindOr))
		}
		return a
	case "print":
		p.expect("(", "after print")
		p.newlines = true
		s := &Print{Pos: pos}
		for !p.accept(")") {
			if len(s.Values) > 0 && !p.accept(",") {
				p.want("\",\" or \")\"")
			}
			s.Values = append(s.Values, p.codeExpr(bindOr))
		}
		p.newlines = false
		return s
	case "":
		p.want(supportedCode)
	}
	p.unsupported(start, "statement "+strconv.Quote(abridged(w)), supportedCode)
	return nil
}

// operators are those of code. A longer one comes before its prefixes.
var operators = []string{"or", "and", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "//", "%"}

// operator returns the next binary operator, or "".
func (p *parser) operator() string {
	p.skipSpace()
	if w := p.peekWord(); w != "" {
		if w == "or" || w == "and" {
			return w
		}
		return ""
	}
	rest := p.src[p.off:p.limit]
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			if strings.HasPrefix(rest, "**") {
				p.unsupported(p.off, "operator \"**\"", strings.Join(operators, " "))
			}
			return op
		}
	}
	if rest != "" && strings.IndexByte("/&|^=!?", rest[0]) >= 0 {
		p.unsupported(p.off, "operator "+strconv.Quote(rest[:1]), strings.Join(operators, " "))
	}
	return ""
}

// codeExpr reads an expression whose operators have at least the precedence min.
func (p *parser) codeExpr(min int) Expr {
	var x Expr
	ceiling := bindAtom // no operator of a higher precedence may follow
	p.skipSpace()
	start := p.off
	switch c := p.peek(); {
	case p.peekWord() == "not":
		if min > bindNot {
			p.fail(start, "not after an operator of higher precedence: put it in brackets")
		}
		p.node(start)
		p.accept("not")
		x = &Unary{p.pos(start), "not", p.codeExpr(bindNot)}
		ceiling = bindNot
	case c == '-':
		p.node(start)
		p.accept("-")
		x = &Unary{p.pos(start), "-", p.codeExpr(bindUnary)}
	default:
		x = p.codePrimary(c)
	}
	for compared := false; ; {
		op := p.operator()
		b, ok := binding[op]
		if !ok || b < min || b > ceiling {
			return x
		}
		at := p.off
		if b == bindCompare {
			if compared {
				p.unsupported(at, "a chain of comparisons", "a < b and b < c")
			}
			compared = true
		}
		p.node(at)
		p.accept(op)
		x = &Binary{p.pos(at), op, x, p.codeExpr(b + 1)}
		ceiling = b
	}
}

func (p *parser) codePrimary(c byte) Expr {
	start := p.off
	pos := p.pos(start)
	switch {
	case isDigit(c):
		return p.integer()
	case c == '"':
		return &String{pos, p.quoted()}
	case c == '(':
		p.node(start)
		p.accept("(")
		outer := p.newlines
		p.newlines = true
		x := p.codeExpr(bindOr)
		p.expect(")", "to close the bracket")
		p.newlines = outer
		return x
	case isLetter(c):
		w := p.peekWord()
		if !isVariable(w) {
			p.unsupported(start, "name "+strconv.Quote(abridged(w)), "tcpi_…, names in capitals such as TCP_CA_Open or TCPTimeouts, True, False")
		}
		p.accept(w)
		if p.peek() == '(' {
			p.unsupported(start, "function "+strconv.Quote(abridged(w)), "operators only")
		}
		return &Name{pos, w}
	}
	p.want("an expression (integer, tcpi_…, \"string\", not, -, brackets)")
	return nil
}

// isVariable reports whether w may be a name in code: a field of tcp_info, a constant or a counter.
// Run checks that it exists.
func isVariable(w string) bool {
	return strings.HasPrefix(w, "tcpi_") && len(w) > len("tcpi_") || 'A' <= w[0] && w[0] <= 'Z'
}
